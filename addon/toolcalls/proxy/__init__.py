"""Everything that touches mitmproxy: flows, streams, WebSockets, hosts, metrics, TLS advice, the content view."""
