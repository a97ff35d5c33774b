"""Decides whose tool it is: tools that the request declares are the client's, all others run upstream."""

from __future__ import annotations

from ...mend.names import mend_name
from ...request.request import Request
from .blocks import CallResult


class Owners:
    __slots__ = ("_known", "_request")

    def __init__(self, request: Request) -> None:
        self._request = request
        self._known: dict[str, bool] = {}

    def is_clients(self, name: str, result: CallResult = CallResult.OPEN) -> bool:
        """Whether a call is the client's.

        A call that the backend ran is not, even if the client declared the tool: it would run a second time.
        """
        if result is CallResult.FILLED or not name:
            return False
        if self._request.choices is None:
            return True
        if name not in self._known:
            self._known[name] = mend_name(name, self._request.tools).status in ("exact", "mended")
        return self._known[name]
