"""`toolfix env` in a real shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .commands import ROOT

VARIABLES = ("HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE", "NODE_USE_ENV_PROXY")


def in_shell(program: str, script: str) -> list[str]:
    """What a script prints in a shell; `SHOW` in it prints the variables."""
    environ = {
        **{name: value for name, value in os.environ.items() if "proxy" not in name.lower() and "CERT" not in name},
        "PYTHONPATH": str(ROOT / "addon"),
        "NO_PROXY": "localhost,it's.corp",
    }
    shown = " ".join(f'"${name}"' for name in VARIABLES)
    run = subprocess.run(
        [program, "-c", script.replace("SHOW", f"printf '%s\\n' {shown}")],
        env=environ, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return run.stdout.splitlines()


def set_up_and_put_back(program: str, folder: Path) -> None:
    """The lines of `toolfix env` set the variables of a shell like sh, and `--unset` restores them."""
    ask = f"{sys.executable} -m toolcalls.cli env --shell {program} --confdir '{folder}/it is'"
    lines = in_shell(program, f'eval "$({ask} --port 9999)"; SHOW; eval "$({ask})"; eval "$({ask} --unset)"; SHOW')
    assert lines[:4] == ["http://127.0.0.1:9999", "", f"{folder}/it is/toolfix-bundle.pem", "1"]
    assert lines[4:] == ["", "localhost,it's.corp", "", ""]
