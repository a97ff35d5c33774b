"""Our commands listen on loopback alone: nobody else on the network can use the proxy."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

from .running import client_environment, command
from .stage import outside_address

LOOK = """
import os, socket, sys, urllib.parse
port = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"]).port
socket.create_connection(("127.0.0.1", port), 5).close()
for address in sys.argv[1:]:
    try:
        socket.create_connection((address, port), 2).close()
        print("open at", address)
    except OSError:
        print("closed at", address)
print(port)
"""


def test_the_proxy_of_a_session_cannot_be_reached_from_outside(confdir: Path, certificate: Path) -> None:
    outside = [address for address in (outside_address(),) if address]
    words = command(confdir, cmd=(sys.executable, "-c", LOOK, *outside))
    done = subprocess.run(
        words, env=client_environment(certificate), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "open at" not in done.stdout
    assert done.stdout.count("closed at") == len(outside)
    port = int(done.stdout.split()[-1])
    with socket.socket() as gone:
        assert gone.connect_ex(("127.0.0.1", port)) != 0, "the proxy outlived its session"
