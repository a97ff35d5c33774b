"""The mixture of cases that the clients of the soak ask for."""

from __future__ import annotations

import random
from collections.abc import Iterator

from toolcalls.recording.store import Recording

from .case import PATHS, Case
from .made_up import BROKEN, document, made, prose
from .scenarios import Scenarios


def cases(chance: random.Random, scenarios: Scenarios, tokens: Iterator[str]) -> Iterator[Case]:
    """An endless sequence of cases. Half are committed scenarios; each is repeated only after all the others."""
    waiting: list[Recording] = []
    for token in tokens:
        kind = chance.random()
        protocol = chance.choice(list(PATHS))
        if kind < 0.5:
            if not waiting:
                waiting = scenarios.recordings.copy()
                chance.shuffle(waiting)
            yield scenarios.case(waiting.pop(), token)
        elif kind < 0.75:
            yield made(chance.choice(BROKEN), protocol, token)
        elif kind < 0.77:
            yield made(chance.choice(BROKEN[:4]), protocol, token, size=chance.randrange(20_000, 60_000))
        elif kind < 0.9:
            yield document(chance.choice([one for one in BROKEN if not one.as_text]), protocol, token)
        else:
            yield prose(protocol, token, chance.choice([5, 50, 300]))
