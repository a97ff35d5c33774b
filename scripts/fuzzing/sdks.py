"""The process in which the official SDKs read answers: their pins clash with mitmproxy's."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


class Sdks:
    """One request at a time; the process ends with ours."""

    def __init__(self) -> None:
        python = Path(os.environ.get("TOOLFIX_CLIENTS_PYTHON", ROOT / ".venv-clients/bin/python"))
        if not python.exists():
            raise RuntimeError("the SDKs are not installed: run scripts/test once, which makes .venv-clients")
        script = ROOT / "tests/e2e/sdk_held.py"
        self._process = subprocess.Popen([python, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def held(self, protocol: str, form: str, bodies: list[bytes]) -> list[dict[str, Any]]:
        """What the SDK holds of each body."""
        sent = [base64.b64encode(body).decode("ascii") for body in bodies]
        found: list[dict[str, Any]] = self._ask(op="held", protocol=protocol, form=form, bodies=sent)["held"]
        return found

    def schemas(self, names: tuple[str, ...]) -> dict[str, dict[str, Any]]:
        """The JSON schemas of types of the SDKs."""
        found: dict[str, dict[str, Any]] = self._ask(op="schemas", names=names)["schemas"]
        return found

    def _ask(self, **job: Any) -> dict[str, Any]:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process of the SDKs has ended")
        said: dict[str, Any] = json.loads(line)
        return said


@cache
def sdks() -> Sdks:
    return Sdks()
