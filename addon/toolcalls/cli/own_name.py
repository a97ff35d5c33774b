"""How the user calls this command: in a clone it is `scripts/toolfix`, and lines to paste have to say that."""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
from pathlib import Path

_COMMAND = re.compile(r"\btoolfix(?= (?:run|env|proxy|demo|doctor)\b)")


def spelled(line: str) -> str:
    """The line with commands of ours as they can be pasted here."""
    name = own_name()
    return _COMMAND.sub(lambda _: name, line)


@functools.cache
def own_name() -> str:
    """`toolfix` where it is on the PATH or installed; the script of the clone where that was started."""
    environment = Path(sys.prefix)
    script = environment.parent / "scripts" / "toolfix"
    started = str(environment / "bin" / "toolfix") in sys.orig_argv[:3]
    if not started or not script.is_file() or shutil.which("toolfix"):
        return "toolfix"
    near = os.path.relpath(script)
    return str(script) if near.startswith("..") else near
