"""A client of plain sockets: it knows to the byte what reached it, and whether the transfer was complete."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable

BROKEN = "broken"
COMPLETE = "complete"


class Asked:
    """One request through the proxy and what comes back of it, read in the background.

    `end` is empty while the answer lasts; a transfer is COMPLETE only if its own framing says so. With `keep` false
    the body is counted and hashed, not kept.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, keep: bool) -> None:
        self.reader = reader
        self.writer = writer
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = bytearray()
        self.size = 0
        self.hash = hashlib.sha256()
        self.end = ""
        self._keep = keep
        self._news = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    def listen(self) -> Asked:
        self._task = asyncio.ensure_future(self._read())
        return self

    async def over(self) -> Asked:
        """Wait for the end of the answer."""
        assert self._task
        await self._task
        return self

    async def has(self, size: int) -> bool:
        """Wait until so many bytes of the body are here; False if the answer ended before."""
        return await self._until(lambda: bool(self.status) and self.size >= size)

    async def _until(self, condition: Callable[[], bool]) -> bool:
        async with self._news:
            await self._news.wait_for(lambda: condition() or bool(self.end))
        return condition()

    def hang_up(self) -> None:
        if self._task:
            self._task.cancel()
        self.writer.transport.abort()

    async def _read(self) -> None:
        try:
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.split("\r\n")
            pairs = (line.partition(":") for line in lines if line)
            self.headers = {name.lower(): value.strip() for name, _, value in pairs}
            await self._tell(status=int(first.split(" ")[1]))
            await self._read_body()
            await self._tell(end=COMPLETE)
        except (OSError, ValueError, asyncio.IncompleteReadError) as error:
            if isinstance(error, asyncio.IncompleteReadError) and self.status:
                await self._take(error.partial)
            await self._tell(end=BROKEN)
        finally:
            self.writer.close()

    async def _read_body(self) -> None:
        if self.headers.get("transfer-encoding") == "chunked":
            while size := int(await self.reader.readuntil(b"\r\n"), 16):
                while size:
                    piece = await self.reader.read(min(size, 2**20))
                    if not piece:
                        raise OSError("the body is cut off")
                    size -= len(piece)
                    await self._take(piece)
                if await self.reader.readexactly(2) != b"\r\n":
                    raise ValueError("no chunk")
            await self.reader.readuntil(b"\r\n")
        elif "content-length" in self.headers:
            await self._take(await self.reader.readexactly(int(self.headers["content-length"])))
        else:
            while piece := await self.reader.read(65536):
                await self._take(piece)

    async def _take(self, piece: bytes) -> None:
        async with self._news:
            self.size += len(piece)
            if self._keep:
                self.body += piece
            else:
                self.hash.update(piece)
            self._news.notify_all()

    async def _tell(self, status: int = 0, end: str = "") -> None:
        async with self._news:
            self.status = status or self.status
            self.end = end
            self._news.notify_all()
