"""mitmdump as our child: started as a file, it knows nothing of the rest of the command.

Its standard input is a pipe that ends when the parent does, however that happens; then it ends as well.
Arguments that other users of the machine must not see in the list of processes come in the environment.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import sys
import threading

PRIVATE = "TOOLFIX_PRIVATE_ARGUMENTS"
SELDOM_NEEDED = ("ldap3", "passlib.apache")
"""What mitmproxy loads at its start for `proxyauth` alone: an eighth of the time that the start takes."""


def end_with_the_parent() -> None:
    while os.read(0, 64):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def load_when_used(name: str) -> None:
    """Let `import NAME` give a module that is read when something of it is asked for."""
    try:
        spec = importlib.util.find_spec(name)
    except ImportError:
        return
    if spec is None or spec.loader is None:
        return
    loader = importlib.util.LazyLoader(spec.loader)
    spec.loader = loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    loader.exec_module(module)
    package, _, last = name.rpartition(".")
    if package:
        setattr(sys.modules[package], last, module)


if __name__ == "__main__":
    threading.Thread(target=end_with_the_parent, daemon=True).start()
    sys.argv[1:1] = json.loads(os.environ.pop(PRIVATE, "[]"))
    for seldom in SELDOM_NEEDED:
        load_when_used(seldom)
    from mitmproxy.tools.main import mitmdump

    sys.exit(mitmdump())
