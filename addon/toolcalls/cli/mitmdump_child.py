"""mitmdump as our child: started as a file, it knows nothing of the rest of the command.

Its standard input is a pipe that ends when the parent does, however that happens; then it ends as well.
Arguments that other users of the machine must not see in the list of processes come in the environment.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

PRIVATE = "TOOLFIX_PRIVATE_ARGUMENTS"


def end_with_the_parent() -> None:
    while os.read(0, 64):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=end_with_the_parent, daemon=True).start()
    sys.argv[1:1] = json.loads(os.environ.pop(PRIVATE, "[]"))
    from mitmproxy.tools.main import mitmdump

    sys.exit(mitmdump())
