"""What a protocol has to say about its blocks, so that calls and results among them are paired."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

Json = dict[str, Any]


class BlockForm(ABC):
    """How a protocol writes calls and results into the blocks of its messages."""

    blocks: ClassVar[str]
    """The key of a message under which its blocks stand."""
    results_lead: ClassVar[bool]
    """A result behind another block is rejected."""
    ids_are_unique: ClassVar[bool]
    """Two calls of one id are rejected; where not, the host only counts the results of each turn."""

    @abstractmethod
    def is_of_model(self, message: Json) -> bool: ...

    @abstractmethod
    def call_in(self, block: Json) -> Json | None:
        """The call that a block is, with its name under `name`."""

    @abstractmethod
    def result_in(self, block: Json) -> Json | None:
        """The result that a block is, where the client has to send it."""

    @abstractmethod
    def is_result(self, block: Json) -> bool:
        """Is this block a result, whoever has to send it?"""

    @abstractmethod
    def says_something(self, block: Json) -> bool:
        """Is a message with this block alone one that the host takes?"""

    @abstractmethod
    def id_of(self, entry: Json) -> str:
        """The id that a call has, or the one that a result names; empty where there is none."""

    @abstractmethod
    def words_of(self, result: Json) -> str: ...

    @abstractmethod
    def ids(self, calls: Sequence[Json], results: Sequence[Json]) -> tuple[list[str], list[str]]:
        """What tells the calls of a turn apart, and which of them each result answers; empty where nobody knows."""

    @abstractmethod
    def cancelled(self, identity: str, call: Json) -> str:
        """The block that says that a call has no result."""

    @abstractmethod
    def text(self, words: str) -> Json:
        """A block with words of a user."""

    def of_user(self, blocks: Sequence[str]) -> str:
        return f'{{"role":"user","{self.blocks}":[{",".join(blocks)}]}}'

    def list_of(self, message: Json) -> list[Json]:
        blocks = message.get(self.blocks)
        return blocks if isinstance(blocks, list) else []
