"""The interface by which a protocol describes its blocks, so that calls and results among them can be paired."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

Json = dict[str, Any]


class BlockForm(ABC):
    """How a protocol writes calls and results into the blocks of its messages."""

    blocks: ClassVar[str]
    """The key of the blocks in a message."""
    results_lead: ClassVar[bool]
    """Whether a result behind another block is rejected."""
    ids_are_unique: ClassVar[bool]
    """Whether two calls with one id are rejected; if not, the host only counts the results of each turn."""

    @abstractmethod
    def is_of_model(self, message: Json) -> bool:
        """Whether the model wrote this message."""

    @abstractmethod
    def call_in(self, block: Json) -> Json | None:
        """The call in a block, with its name under `name`."""

    @abstractmethod
    def result_in(self, block: Json) -> Json | None:
        """The result in a block, if the client has to send it."""

    @abstractmethod
    def is_result(self, block: Json) -> bool:
        """Whether this block is a result, whoever has to send it."""

    @abstractmethod
    def can_stand_alone(self, block: Json) -> bool:
        """Whether the host accepts a message with this block alone."""

    @abstractmethod
    def id_of(self, entry: Json) -> str:
        """The id of a call, or the id that a result names; empty if there is none."""

    @abstractmethod
    def words_of(self, result: Json) -> str:
        """The text of a result."""

    @abstractmethod
    def ids(self, calls: Sequence[Json], results: Sequence[Json]) -> tuple[list[str], list[str]]:
        """Keys for the calls of a turn, and for each result the key of the call it answers; "" if unknown."""

    @abstractmethod
    def cancelled(self, identity: str, call: Json) -> str:
        """The block that says that a call has no result."""

    @abstractmethod
    def text(self, words: str) -> Json:
        """A block with words of the user."""

    def of_user(self, blocks: Sequence[str]) -> str:
        """A message of the user with these blocks."""
        return f'{{"role":"user","{self.blocks}":[{",".join(blocks)}]}}'

    def list_of(self, message: Json) -> list[Json]:
        """The blocks of a message."""
        blocks = message.get(self.blocks)
        return blocks if isinstance(blocks, list) else []
