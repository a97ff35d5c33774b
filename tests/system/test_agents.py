"""Real agents with a call that is held for ten times as long as they wait for the next word: each session ends well.

AGENTS=1 scripts/test-system installs them from npm and runs this.
"""

from __future__ import annotations

import pytest

from scripts.running_agents.broken_calls import long_call
from scripts.running_agents.candidates import CANDIDATES, Candidate
from scripts.running_agents.sessions import play

IDLE = {"claude": 10.0, "codex": 3.0, "opencode": 3.0, "qwen": 3.0, "pi": 0.0}
"""Seconds that an agent is told to wait: Claude Code takes nothing below ten, and pi has no such limit."""
HELD = {name: 10 * (seconds or 3.0) for name, seconds in IDLE.items()}
AGENTS = [known for known in CANDIDATES if known.agent.binary in IDLE]


@pytest.mark.parametrize("candidate", AGENTS, ids=lambda candidate: candidate.agent.binary)
def test_a_call_that_is_held_for_ten_times_the_idle_limit_runs_once(candidate: Candidate) -> None:
    name = candidate.agent.binary
    ended = play(candidate, long_call(HELD[name]), toolfix=True, keep=None, idle=IDLE[name])
    assert ended.well, f"{ended.how}: {ended.output[-2000:]}"
    assert ended.seconds > HELD[name] * 0.9, "the call was held"
