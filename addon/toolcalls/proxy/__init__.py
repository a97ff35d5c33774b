"""All that meets mitmproxy: open flows, the stream of a body, metrics, hosts, advice about TLS, the content view."""
