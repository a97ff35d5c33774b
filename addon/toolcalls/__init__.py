"""The toolfix engine: upstream bytes in, the bytes for the client out. No sockets, no mitmproxy."""

__version__ = "0.1.0"
