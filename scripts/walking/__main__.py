"""`scripts/walk`: the functions and files that an event passes through, in an earlier version and in this one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from scripts.shared.versions import ROOT, comparing, environment_of, unpacked

from .walks import WALKS


def main() -> int:
    parser = comparing("scripts/walk", __doc__)
    parser.add_argument("--list", choices=tuple(WALKS), help="name the functions of one walk: - gone, + new")
    asked = parser.parse_args()
    with unpacked(asked.tag) as tagged:
        old, new = _measured(tagged / "addon"), _measured(ROOT / "addon")
    if asked.list:
        _list(old["walks"][asked.list], new["walks"][asked.list])
    else:
        _table(asked.tag, old, new)
    return 0


def _measured(addon: Path) -> Any:
    command = [sys.executable, "-P", "-m", "scripts.walking.worker"]
    done = subprocess.run(command, env=environment_of(addon), cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _table(tag: str, old: Any, new: Any) -> None:
    print(f"{'walk':20} {tag:>26} {'working tree':>26}   functions / files / depth")
    for name in WALKS:
        print(f"{name:20} {_figures(old['walks'][name]):>26} {_figures(new['walks'][name]):>26}")
    print(
        f"\n{'room':20} {tag:>30} {'working tree':>30}   lines / files / functions over 40 lines / longest, mean line"
    )
    for room in [*sorted({*old["size"], *new["size"]} - {"all"}), "all"]:
        before, after = (_joined(of["size"].get(room, [])) for of in (old, new))
        print(f"{room:20} {before:>30} {after:>30}")


def _figures(walk: Any) -> str:
    files = {file for file, _ in walk["functions"]}
    return _joined([len(walk["functions"]), len(files), walk["depth"]])


def _joined(figures: list[float]) -> str:
    return " / ".join(f"{figure:,}" for figure in figures)


def _list(old: Any, new: Any) -> None:
    """Print the functions of the working tree in the order in which they are called, then those that are gone."""
    before, after = ([f"{file}: {function}" for file, function in walk["functions"]] for walk in (old, new))
    for name in after:
        print(f"{' ' if name in before else '+'} {name}")
    for name in before:
        if name not in after:
            print(f"- {name}")


sys.exit(main())
