"""The exception that ends mending without a result, with the reason in one plain sentence."""

from __future__ import annotations

from typing import Final

CUT_BEFORE: Final = "the answer was cut off before the arguments"


class Refusal(Exception):
    """Raised anywhere below `mend_arguments`, which turns it into an outcome; also by `strict.read` itself."""

    @property
    def reason(self) -> str:
        return str(self.args[0])


def cut_inside(key: str | None, characters: int) -> Refusal:
    """The refusal of a text that ends inside a value: `{"command": "rm -rf /` could be closed, but must not run."""
    where = f"inside `{key}` " if key else ""
    return Refusal(f"the arguments were cut off {where}after {characters:,} characters")
