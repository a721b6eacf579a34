"""Every generator that a model may draw from, set to one seed: torch's, Python's own and numpy's.

torch's draws inside a graph are inputs of it (cupel.torch.captured). What Python draws while a model runs is a number by the time torch sees it, and so a part of the graph:
the run that is captured has to draw what the golden one drew.
"""

from __future__ import annotations

import contextlib
import functools
import random
import sys
from collections.abc import Iterator

import torch


def seed_python(seed: int) -> None:
    """Those that torch knows nothing of."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def seed_all(seed: int) -> None:
    torch.manual_seed(seed)
    seed_python(seed)


@contextlib.contextmanager
def seeds_drawn_alike() -> Iterator[None]:
    """Inside, `torch.seed()`, which takes a new seed from the system's entropy (Reformer does, for every layer in training), takes it from Python's generator, which every run has seeded alike."""
    original = torch.seed

    @functools.wraps(original)
    def seed() -> int:
        drawn = random.getrandbits(63)
        torch.manual_seed(drawn)
        return drawn

    torch.seed = torch.random.seed = seed
    try:
        yield
    finally:
        torch.seed = torch.random.seed = original
