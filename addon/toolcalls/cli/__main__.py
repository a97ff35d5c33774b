"""`python -m toolcalls.cli`."""

from . import main

main(prog_name="toolfix")
