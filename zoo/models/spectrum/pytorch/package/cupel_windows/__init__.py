"""Windows for spectra: what the loader beside this package asks for."""

from __future__ import annotations

import math


def hann(length: int) -> list[float]:
    """The raised cosine, periodic."""
    return [0.5 - 0.5 * math.cos(2 * math.pi * i / length) for i in range(length)]
