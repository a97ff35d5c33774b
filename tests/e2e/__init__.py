"""Real parts: a mitmdump process, TLS with mitmproxy's CA, the SDKs, a loopback upstream."""
