"""`scripts/docs`: writes docs/commands.md."""

from __future__ import annotations

from .commands import TARGET, page

if __name__ == "__main__":
    TARGET.write_text(page())
    print(f"wrote {TARGET}")
