"""How the benches measure time: many short samples in turns, without garbage collection while one runs.

The machine is never quiet and its speed drifts, so things that are compared are sampled in turns. Samples of about a
millisecond find a quiet moment even on a busy machine, so the best is compared with the best (five runs at a load of
9 on two cores were 0.02 apart; the median of neighbours was 0.1 apart). Long samples, such as a stream through a real
proxy, find no quiet moment: for these it is the median of the ratios of neighbours.
A row of the table is a dict:

    name    what was measured
    figure  what it cost, in `unit`
    unit    "µs", "µs/event", "ms", …
    ratio   the cost divided by that of what the bench compares with, if it compares
    goal    the most that the ratio (without a ratio: the figure) may be; None or absent for no goal
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

Row = dict[str, Any]
Work = Callable[[], object]


def sample(work: Work) -> float:
    """The seconds of one run."""
    gc.collect(0)
    gc.disable()
    try:
        started = time.perf_counter()
        work()
        return time.perf_counter() - started
    finally:
        gc.enable()


def in_turns(works: Sequence[Work], rounds: int) -> list[list[float]]:
    """The seconds of each work in each round, measured in turns so that a busy moment affects all alike."""
    samples: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for taken, work in zip(samples, works, strict=True):
            taken.append(sample(work))
    return samples


def best_ratio(samples: Sequence[float], against: Sequence[float]) -> float:
    """For short samples: the best divided by the best."""
    return min(samples) / min(against)


def ratio(samples: Sequence[float], against: Sequence[float]) -> float:
    """For long samples: the median over all rounds of a sample divided by its neighbour of the same round."""
    return statistics.median(one / other for one, other in zip(samples, against, strict=True))


def noise(samples: Sequence[float], against: Sequence[float]) -> float:
    """For long samples of equal work: in nine rounds out of ten neighbours differ by at most this factor."""
    ratios = [max(one / other, other / one) for one, other in zip(samples, against, strict=True)]
    return statistics.quantiles(ratios, n=10)[-1] if len(ratios) > 1 else max(ratios)


def growth(work_of: Callable[[int], Work], sizes: Sequence[int], rounds: int) -> tuple[float, list[float]]:
    """The exponent of the growth of time at the steepest step (1.0: linear), and the best seconds of each size."""
    seconds = [min(taken) for taken in in_turns([work_of(size) for size in sizes], rounds)]
    steps = [
        math.log(seconds[at + 1] / seconds[at]) / math.log(sizes[at + 1] / sizes[at]) for at in range(len(sizes) - 1)
    ]
    return max(steps), seconds
