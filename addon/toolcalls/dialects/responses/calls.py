"""Function calls of the Responses protocol: gathered from four carriers, written back to all four.

The deltas, `function_call_arguments.done`, `output_item.done` and `response.completed` each carry the
arguments, and servers forget or contradict some of them. One text is settled on; every carrier gets it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...mend.arguments import Finish, mend_arguments
from ...turn import payload
from ...turn.fragments import MIXED, full_arguments, may_begin, mixed
from ...turn.live import LiveArguments
from ...turn.resent import ToldCall
from ...wire.escaper import IncrementalEscaper
from ...wire.events import Hold
from .events import IncomingEvent, Json
from .items import CALL, FREEFORM, Item

_WRAPPERS = ("input", "patch", "content")
_NO_HOLD = Hold("")
_PATCH = "*** Begin Patch"
_MOST_IDS = 64
"""A server whose ids change with every delta says no id twice: a few of them are enough to see that."""


@dataclass(slots=True, frozen=True)
class ItemKind:
    """How a call is written: as a function call, or as the call of a freeform tool."""

    type: str
    field: str
    events: str


FUNCTION = ItemKind(CALL, "arguments", "response.function_call_arguments")
CUSTOM = ItemKind(FREEFORM, "input", "response.custom_tool_call_input")


@dataclass(slots=True)
class FunctionCall(Item):
    """A function call on its way. Its events are held under a key of its own."""

    hold: Hold = _NO_HOLD
    call_id: str = ""
    """The id that the client gets, once it is chosen."""
    added: IncomingEvent | None = None
    delta: IncomingEvent | None = None
    """The first delta."""
    fragments: list[str] = field(default_factory=list)
    """What the deltas said so far."""
    arguments_done: IncomingEvent | None = None
    """`function_call_arguments.done`"""
    item_done: IncomingEvent | None = None
    """`output_item.done`"""
    final_item: Json | None = None
    """The item in the terminal event."""
    name: str = ""
    namespace: str = ""
    form: ItemKind = FUNCTION
    """How it is written."""
    live: LiveArguments | None = None
    """Where aggregation is off: the arguments that go on as they come."""
    quoted: IncrementalEscaper = field(default_factory=IncrementalEscaper)
    """Long arguments on their way into an event."""
    joined: tuple[int, str, tuple[str, ...]] = (0, "", ())
    """How many deltas were joined last, to what, and what had to be done for that."""
    looked: tuple[str, Any, Json | None] | None = None
    """The arguments that were looked at last: what they are, and what they are for those who mend them."""
    wire_id: str = ""
    wire_index: int | None = None
    """The first that the upstream said of it."""
    ids: list[str] = field(default_factory=list)
    """The ids under which its deltas came, each when it took the place of another."""
    doubt: str = ""
    """Why its deltas may be those of another call."""
    contradiction: bool = False
    """Its events tell two different objects."""

    @property
    def open(self) -> bool:
        return self.done is None and not self.dropped and self.item_done is None

    def add(self, fragment: str) -> None:
        self.fragments.append(fragment)
        if self.live is None:
            self.quoted.grew(self.fragments, len(fragment))

    def said(self) -> tuple[str, tuple[str, ...]]:
        """The arguments that the deltas say, joined once: several events ask for them."""
        if self.joined[0] != len(self.fragments):
            self.joined = (len(self.fragments), *full_arguments(self.fragments))
        return self.joined[1:]

    def expected(self) -> tuple[str, str] | None:
        """Long arguments as JSON writes them and as they are, as far as the deltas have told."""
        text, steps = self.said()
        pieces = self.pieces(text)
        return (self.quoted.literal(), text) if pieces and not steps else None

    def pieces(self, text: str) -> list[str]:
        """What is to be written, where the text is long and that of the deltas; else nothing."""
        if not self.quoted.pieces or text is not self.said()[0] or self.joined[2]:
            return []
        self.quoted.take(self.fragments)
        return self.quoted.pieces

    def is_whole(self) -> bool:
        """Is it settled what the arguments are, whatever follows?"""
        value = self._look()
        return isinstance(value, dict) if self.doubt else is_object(value)

    @property
    def uncertain(self) -> bool:
        """May the arguments be those of another call? Not where another carrier than the deltas tells all of them."""
        value = self._look()
        if self.contradiction:
            return True
        return bool(self.doubt) and not (isinstance(value, dict) and value)

    def _look(self) -> Any:
        text, _ = self.settle()
        if self.looked is None or self.looked[0] is not text:
            value, known = payload.read_twice(text)
            self.looked = (text, value, known)
            from_deltas = not self.doubt and text is self.said()[0] and not isinstance(value, dict)
            # The raw input of a freeform tool begins otherwise, and may say anything.
            if from_deltas and may_begin(text) and mixed(self.fragments):
                self.doubt = MIXED
                return self._look()
        return self.looked[1]

    def began_as(self, wire_id: str) -> bool:
        """Is this the id that it was announced or first heard of with? Others were taken for its own later."""
        announced = self.added.item.get("id") if self.added else None
        return bool(wire_id) and wire_id in (self.wire_id, announced)

    def heard(self, wire_id: str) -> None:
        """A delta came under this id: one that comes back after another took its place is that of another call."""
        if wire_id and wire_id != (self.ids[-1] if self.ids else self.wire_id):
            if wire_id in self.ids or wire_id == self.wire_id:
                self.doubt = MIXED
            elif len(self.ids) < _MOST_IDS:
                self.ids.append(wire_id)

    @property
    def told_once(self) -> ToldCall:
        """What the answer says about it, for those who look whether it was sent before."""
        certain = not self.uncertain
        return ToldCall(self.wanted_id(), self.wanted_name(), self.settle()[0], certain=certain)

    def take_value(self, text: str) -> Json | None:
        """What these arguments are, if they are those that were looked at. It is given once: it may be large."""
        looked, self.looked = self.looked, None
        return looked[2] if looked is not None and looked[0] is text else None

    @property
    def bodies(self) -> list[Json]:
        """What was said about the item, the best word first."""
        said = [
            self.item_done.item if self.item_done else None,
            self.final_item,
            self.added.item if self.added else None,
        ]
        return [body for body in said if body]

    @property
    def cut(self) -> bool:
        """Did the upstream say of this item that it was cut off, whatever became of the answer?"""
        return any(body.get("status") == "incomplete" for body in self.bodies)

    def wanted_id(self) -> str:
        """The call id that came; the id of the item where there is none."""
        for body in self.bodies:
            call_id = body.get("call_id")
            if isinstance(call_id, str) and call_id:
                return call_id
        return self.wire_id or self.id

    def wanted_name(self) -> str:
        for body in [*self.bodies, self.arguments_done.message if self.arguments_done else {}]:
            name = body.get("name")
            if isinstance(name, str) and name:
                return name
        return ""

    def wanted_namespace(self) -> str | None:
        for body in self.bodies:
            namespace = body.get("namespace")
            if isinstance(namespace, str) and namespace:
                return namespace
        return None

    def settle(self) -> tuple[str, tuple[str, ...]]:
        """The arguments that all carriers will have, and what had to be done to find them."""
        deltas, steps = ("", ()) if self.doubt else self.said()
        said: list[tuple[str, str]] = []
        if self.arguments_done:
            said.append(("done", payload.text_of(self.arguments_done.message.get("arguments"))))
        if self.item_done:
            said.append(("the item", payload.text_of(self.item_done.item.get("arguments"))))
        if self.added and self.added.item.get("arguments"):
            said.append(("the announced item", payload.text_of(self.added.item.get("arguments"))))
        if self.final_item:
            said.append(("the response", payload.text_of(self.final_item.get("arguments"))))
        text, more = settle(deltas, said)
        self.contradiction = bool(more) and _contradict([_with_pairs(deltas), *(told for _, told in said)])
        return text, steps + more


def _with_pairs(text: str) -> str:
    """The text with the halves of characters joined that came in two fragments."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def settle(deltas: str, said: list[tuple[str, str]]) -> tuple[str, tuple[str, ...]]:
    """One text out of several. Deltas win unless they are no object and another carrier's text is one."""
    if all(text == deltas for _, text in said):
        return deltas, ()
    candidates = [("", deltas), *said] if deltas else [entry for entry in said if entry[1]]
    if not candidates:
        return "", ()
    objects = [(entry, value) for entry in candidates if (value := _object(entry[1])) is not None]
    if objects:
        # An empty object is what some servers say before, or instead of, the real one.
        label, text = next((entry for entry, value in objects if value), objects[0][0])
    else:
        label, text = candidates[0]
        for other, longer in candidates[1:]:
            if len(longer) > len(text) and text in longer:
                label, text = other, longer
    if not label:
        return text, ("carriers made to agree",)
    return text, (f"arguments taken from {label}" if deltas else f"arguments only in {label}",)


def _contradict(texts: list[str]) -> bool:
    """Are there two different objects among these? An empty one is what some servers say before the real one."""
    values = [value for text in dict.fromkeys(texts) if (value := _object(text))]
    return any(value != values[0] for value in values[1:])


def _object(text: str) -> Json | None:
    value = payload.read_strict(text)
    return value if isinstance(value, dict) else None


def whole(text: str) -> bool:
    """Is this an object that no cut can have damaged? Then the end of the response need not be known."""
    return is_object(payload.read_strict(text))


def is_object(value: object) -> bool:
    """An object, or one in a string: what encodes twice closes the string, wherever the model was cut off."""
    if isinstance(value, str):
        value = payload.read_strict(value)
    return isinstance(value, dict)


def unwrapped(arguments: str) -> str | None:
    """The raw input of a freeform tool out of the JSON that a server wrapped around it."""
    value = _object(arguments)
    if value is None or len(value) != 1:
        return None
    key, inner = next(iter(value.items()))
    if isinstance(inner, str) and key in _WRAPPERS:
        return inner
    if key == "command" and isinstance(inner, list) and len(inner) == 2 and isinstance(inner[1], str):
        return inner[1] if inner[1].startswith(_PATCH) else None
    return None


def freeform_input(arguments: str, finish: Finish) -> str | None:
    """The raw input of a freeform tool that was answered as a function call; None where that cannot be told."""
    text = unwrapped(arguments)
    if text is not None:
        return text
    if arguments.lstrip().startswith(("{", '"')):
        mended = mend_arguments(arguments, finish)
        return unwrapped(mended.text) if mended.text is not None else None
    # The input itself, without any JSON around it: a cut in it would not show.
    return arguments if arguments.strip() and finish is Finish.COMPLETE else None


def finished_item(call: FunctionCall, form: ItemKind, name: str, text: str, *, cut: bool) -> Json:
    """The item of `output_item.done` and of the terminal event, in the order of keys in which it came."""
    body = dict(call.bodies[0]) if call.bodies else {}
    if form is CUSTOM:
        body.pop("arguments", None)
    fields: Json = {"id": call.id, "type": form.type, "call_id": call.call_id, "name": name, form.field: text}
    if call.namespace:
        fields["namespace"] = call.namespace
    elif form is FUNCTION and not call.live:
        # A call that was sent to the client's tool for invalid ones.
        body.pop("namespace", None)
    if not call.item_done or body.get("status") == "in_progress" or (cut and call.live):
        fields["status"] = "incomplete" if cut else "completed"
    return {**body, **fields}


def announced_item(call: FunctionCall, form: ItemKind, item: Json) -> Json:
    """The item of `output_item.added`: without its arguments."""
    incoming = call.added.item if call.added else None
    body = incoming if incoming else {**item, "status": "in_progress"}
    gone = {"arguments" if form is CUSTOM else "input", *({"namespace"} - item.keys())}
    body = {key: value for key, value in body.items() if key not in gone}
    shared: Json = {key: item[key] for key in ("id", "type", "call_id", "name", "namespace") if key in item}
    return {**body, **shared, form.field: ""}
