"""How the user starts this command: in a clone it is `scripts/toolfix`, and lines to paste must say so."""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
from pathlib import Path

_COMMAND = re.compile(r"\btoolfix(?= (?:run|env|proxy|demo|doctor)\b)")


def spelled(line: str) -> str:
    """The line, with `toolfix` replaced by the name that works when it is pasted."""
    name = own_name()
    return _COMMAND.sub(lambda _: name, line)


@functools.cache
def own_name() -> str:
    """`toolfix` if it is installed or on the PATH; the script of the clone if that was started."""
    environment = Path(sys.prefix)
    script = environment.parent / "scripts" / "toolfix"
    started = str(environment / "bin" / "toolfix") in sys.orig_argv[:3]
    if not started or not script.is_file() or shutil.which("toolfix"):
        return "toolfix"
    near = os.path.relpath(script)
    return str(script) if near.startswith("..") else near
