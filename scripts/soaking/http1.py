"""A client for HTTP/1.1, plain or over TLS."""

from __future__ import annotations

import asyncio
import contextlib
import ssl

from .client import PATIENCE, SLOW_BYTES, SLOW_SECONDS, TROUBLE, Got, Left, Manner, leave, tunnel


class Http1:
    """A connection to the proxy that is kept for several requests, one after the other."""

    multiplexed = False

    def __init__(self, proxy: int, upstream: str, context: ssl.SSLContext | None) -> None:
        self._proxy = proxy
        self._context = context
        self._host = upstream.partition("//")[2]
        self._base = "" if context else upstream
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, path: str, request: bytes, manner: Manner) -> Got:
        got = Got()
        try:
            async with asyncio.timeout(PATIENCE):
                await self._ask(got, path, request, manner)
        except Left:
            got.left = True
            await self.close(resets=manner.resets)
        except TROUBLE as trouble:
            got.error = repr(trouble)
            await self.close()
        return got

    async def _ask(self, got: Got, path: str, request: bytes, manner: Manner) -> None:
        reader, writer = self._streams = self._streams or await self._connect()
        head = f"POST {self._base}{path} HTTP/1.1\r\nhost: {self._host}\r\ncontent-type: application/json\r\n"
        writer.write(f"{head}content-length: {len(request)}\r\n\r\n".encode() + request)
        await writer.drain()
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        got.status = int(first.split()[1])
        got.headers = {name.lower(): text.strip() for name, _, text in (line.partition(":") for line in lines)}
        await self._body(reader, got, manner)
        if got.headers.get("connection") == "close":
            await self.close()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._proxy, limit=2**24)
        if self._context is not None:
            await tunnel(reader, writer, self._host, self._context)
        return reader, writer

    async def _body(self, reader: asyncio.StreamReader, got: Got, manner: Manner) -> None:
        if "content-length" in got.headers:
            await self._take(reader, got, int(got.headers["content-length"]), manner)
            return
        while size := int(await reader.readuntil(b"\r\n"), 16):
            await self._take(reader, got, size, manner)
            await reader.readexactly(2)
        await reader.readexactly(2)

    async def _take(self, reader: asyncio.StreamReader, got: Got, size: int, manner: Manner) -> None:
        while size:
            piece = await reader.read(min(size, SLOW_BYTES) if manner.slow else size)
            if not piece:
                raise EOFError("the answer broke off")
            size -= len(piece)
            got.body += piece
            if manner.leaves_after is not None and len(got.body) >= manner.leaves_after:
                raise Left
            if manner.slow:
                await asyncio.sleep(SLOW_SECONDS)

    async def close(self, *, resets: bool = False) -> None:
        if self._streams is None:
            return
        _, writer = self._streams
        self._streams = None
        leave(writer, resets=resets)
        if not resets:
            with contextlib.suppress(*TROUBLE):
                await asyncio.wait_for(writer.wait_closed(), 5)
