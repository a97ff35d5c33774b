"""`scripts/docs`: writes docs/commands.md and the index of recordings/."""

from __future__ import annotations

from toolcalls.recording.index import write_index

from .commands import TARGET, page

if __name__ == "__main__":
    TARGET.write_text(page())
    print(f"wrote {TARGET}")
    print(f"wrote {write_index(TARGET.parents[1] / 'recordings')}")
