"""Fuzzes one part with atheris, which chooses inputs by the code that they reach."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from .part import Part
from .run import tried


def instrumented_parts() -> dict[str, Part]:
    """All parts, with the engine imported so that atheris sees each branch that is taken."""
    try:
        import atheris
    except ImportError:
        sys.exit("atheris is not installed: pip install atheris (Linux, Python 3.11 to 3.13).")
    with atheris.instrument_imports(include=["toolcalls"]):
        from .parts import PARTS

        return PARTS


def guided(part: Part, minutes: float, seed: int) -> int:
    """Check inputs that reach new code until the time is over; libFuzzer stops at a finding and saves it."""
    import atheris

    def one(data: bytes) -> None:
        problem, _ = tried(part, data)
        if problem:
            raise AssertionError(problem)

    folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{part.name}-"))
    for number, seed_input in enumerate(part.seeds()):
        (folder / str(number)).write_bytes(seed_input)
    limits = [f"-max_total_time={int(60 * minutes)}", f"-seed={seed + 1}", "-max_len=16384", "-print_final_stats=1"]
    atheris.Setup([sys.argv[0], f"-artifact_prefix={folder}{os.sep}finding-", *limits, str(folder)], one)
    atheris.Fuzz()
    return 0
