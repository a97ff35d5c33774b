"""Runs a command as if it had been started directly: with the terminal, the signals and its own exit status."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType

NOT_FOUND = 127
NOT_EXECUTABLE = 126

_FROM_THE_KEYBOARD = tuple(getattr(signal, name) for name in ("SIGINT", "SIGQUIT") if hasattr(signal, name))
_PASSED_ON = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2") if hasattr(signal, name)
)


class CannotStart(Exception):
    """The command could not be started. `status` is the exit status that a shell would have."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


class Child:
    """`with Child() as child: status = child.run(command, environ)`; inside the block no signal ends this process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._early: list[int] = []
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Child:
        for number in (*_FROM_THE_KEYBOARD, *_PASSED_ON):
            # A signal that is ignored, as under nohup, stays ignored in the command. Handlers are not inherited.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._stack.enter_context(_handled(number, self))
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, command: Sequence[str], environ: Mapping[str, str]) -> int:
        """Run the command and return its exit status; 128+n if signal n ended it."""
        try:
            self._process = subprocess.Popen(command, env=dict(environ))
        except FileNotFoundError:
            raise CannotStart(
                f"there is no command {command[0]!r}: is it installed and on the PATH?", NOT_FOUND
            ) from None
        except OSError as error:
            raise CannotStart(f"{command[0]!r} cannot be started ({error.strerror}).", NOT_EXECUTABLE) from None
        for number in self._early:
            self._process.send_signal(number)
        status = self._process.wait()
        return status if status >= 0 else 128 - status

    def forward_signal(self, number: int, _frame: FrameType | None) -> None:
        if self._process is None:
            self._early.append(number)
        elif number not in _FROM_THE_KEYBOARD or not _terminal_is_ours():
            self._process.send_signal(number)


@contextlib.contextmanager
def _handled(number: int, child: Child) -> Iterator[None]:
    before = signal.signal(number, child.forward_signal)
    try:
        yield
    finally:
        signal.signal(number, before)


def _terminal_is_ours() -> bool:
    """Whether this process group is in the foreground: then the command gets Ctrl-C from the terminal itself."""
    if os.name != "posix":
        return True  # A Windows console sends it to all its processes.
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
