"""`scripts/docs`: writes docs/commands.md, the table of docs/options.md and the index of recordings/."""

from __future__ import annotations

from . import options
from .commands import TARGET, page
from .index import write_index

if __name__ == "__main__":
    TARGET.write_text(page())
    print(f"wrote {TARGET}")
    options.TARGET.write_text(options.page(), encoding="utf-8")
    print(f"wrote {options.TARGET}")
    print(f"wrote {write_index(TARGET.parents[1] / 'recordings')}")
