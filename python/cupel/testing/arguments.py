"""What tests may say to a tester: each value is looked at where it is given, and one that means nothing is refused with what there is.

A setting that is taken and not understood makes a test pass that tested something else.
"""

from __future__ import annotations

import difflib
import math
import numbers
import operator
from collections.abc import Iterable
from enum import Enum
from typing import Any, TypeVar

Member = TypeVar("Member", bound=Enum)

# The names that tt-torch has for its own; there is one device behind all of them.
BACKENDS = ("tt", "tt-experimental", "tt-legacy", "cupel")


def number(name: str, value: Any, low: float, high: float = math.inf, is_open: bool = False) -> float:
    """A number from `low` (without it where `is_open`) to `high`; never NaN, nor infinity."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ValueError(f"{name} is a number, not {value!r}")
    if not (low < value if is_open else low <= value) or not value <= high or not math.isfinite(value):
        limit = (f"above {low:g}" if is_open else f"at least {low:g}") + ("" if high == math.inf else f" and at most {high:g}")
        raise ValueError(f"{name} is a number, {limit}, not {value!r}")
    return float(value)


def correlation(name: str, value: Any) -> float:
    """A correlation that a result can miss."""
    return number(name, value, -1, 1, is_open=True)


def difference(name: str, value: Any) -> float:
    """How far a result may be off."""
    return number(name, value, 0)


def interval(name: str, value: Any) -> tuple[float, float]:
    """Where numbers are drawn from: two of them, the smaller one first."""
    try:
        low, high = value
    except (TypeError, ValueError):
        raise ValueError(f"{name} is two numbers, not {value!r}") from None
    if not number(f"the first of {name}", low, -math.inf) <= number(f"the second of {name}", high, -math.inf):
        raise ValueError(f"{name} has the smaller number first, and is {value!r}")
    return low, high


def flag(name: str, value: Any) -> bool:
    """True or False (0 and 1 too); the text 'False' is true, and is refused."""
    if isinstance(value, (str, bytes)) or value not in (False, True):
        raise ValueError(f"{name} is True or False, not {value!r}")
    return bool(value)


def member(name: str, value: Any, kind: type[Member]) -> Member:
    """One of an enumeration."""
    if isinstance(value, kind):
        return value
    near = difflib.get_close_matches(str(value).upper(), kind.__members__, 1)
    there = f"did you mean {kind.__name__}.{near[0]}?" if near else f"there are {', '.join(f'{kind.__name__}.{one}' for one in kind.__members__)}"
    raise ValueError(f"{name} is one of {kind.__name__}, not {value!r}; {there}")


def choice(name: str, value: Any, choices: Iterable[str]) -> str:
    known = tuple(choices)
    if value not in known:
        raise ValueError(f"there is no {name} {value!r}; there are {', '.join(known)}")
    return str(value)


def ordinals(name: str, value: Any) -> list[int]:
    """Numbers of devices, from zero."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        found = [operator.index(one) for one in value]
    except TypeError:
        raise ValueError(f"{name} is a list of whole numbers, not {value!r}") from None
    if not found or min(found) < 0 or len(set(found)) != len(found):
        raise ValueError(f"{name} names devices by number, from 0 and each once, not {value!r}")
    return found
