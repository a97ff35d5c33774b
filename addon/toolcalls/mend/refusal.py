"""The one way out of mending without an object: a refusal that says why, in one plain sentence."""

from __future__ import annotations


class Refusal(Exception):
    """Raised anywhere below `mend_arguments`, which turns it into an outcome. Never leaves this folder."""

    @property
    def reason(self) -> str:
        return str(self.args[0])


def cut_inside(key: str | None, characters: int) -> Refusal:
    """The text ends inside a value: `{"command": "rm -rf /` would close cleanly, and is why we do not."""
    where = f"inside `{key}` " if key else ""
    return Refusal(f"the arguments were cut off {where}after {characters:,} characters")
