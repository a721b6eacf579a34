"""What a test asks of a device's result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cupel._native import Array, compare


@dataclass
class PccConfig:
    """Pearson correlation of at least `required_pcc`."""

    enabled: bool = True
    required_pcc: float = 0.99


@dataclass
class AtolConfig:
    """No element differs by more than `required_atol`."""

    enabled: bool = False
    required_atol: float = 1.6e-1


@dataclass
class AllcloseConfig:
    """|actual - expected| <= atol + rtol * |expected| for every element."""

    enabled: bool = False
    rtol: float = 1e-2
    atol: float = 1e-2


@dataclass
class EqualConfig:
    """The same numbers."""

    enabled: bool = False


@dataclass
class ComparisonConfig:
    """Every part that is enabled must hold."""

    equal: EqualConfig = field(default_factory=EqualConfig)
    pcc: PccConfig = field(default_factory=PccConfig)
    atol: AtolConfig = field(default_factory=AtolConfig)
    allclose: AllcloseConfig = field(default_factory=AllcloseConfig)

    def enable_all(self) -> None:
        for part in (self.equal, self.pcc, self.atol, self.allclose):
            part.enabled = True

    def disable_all(self) -> None:
        for part in (self.equal, self.pcc, self.atol, self.allclose):
            part.enabled = False


class ComparisonError(AssertionError):
    """A result that is not what was expected."""


def check(actual: Sequence[Array], expected: Sequence[Array], config: ComparisonConfig) -> None:
    """Raises ComparisonError with one line for each result and bound that does not hold."""
    bounds: list[dict[str, float]] = []
    if config.equal.enabled:
        bounds.append({})
    if config.pcc.enabled:
        bounds.append({"pcc": config.pcc.required_pcc})
    if config.atol.enabled:
        bounds.append({"atol": config.atol.required_atol})
    if config.allclose.enabled:
        bounds.append({"atol": config.allclose.atol, "rtol": config.allclose.rtol})
    if not bounds:
        raise ValueError("the comparison has every part disabled: it could not fail")
    if len(actual) != len(expected):
        raise ComparisonError(f"the device gave {len(actual)} results, the reference {len(expected)}")
    complaints = []
    for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
        if a.type != e.type:
            complaints.append(f"result {i} is of {a.type}, expected {e.type}")
            continue
        for bound in bounds:
            held, sentence = compare(a, e, **bound)
            if not held:
                complaints.append(f"result {i}: {sentence}")
    if complaints:
        raise ComparisonError("\n".join(complaints))
