"""What a test asks of a device's result: Cupel's own verdict, or the comparators that the test configures.

`check` is the one function to call. The numbers are those of cupel/compare, which every other part of Cupel goes by.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cupel._native import Array, Noise, comparator_default, compare
from cupel.testing.arguments import correlation, difference, flag
from cupel.testing.pieces import complaint


def _default(name: str) -> Any:
    return field(default_factory=lambda: comparator_default(name))


@dataclass
class PccConfig:
    """Pearson correlation of at least `required_pcc`."""

    enabled: bool = True
    required_pcc: float = _default("required_pcc")


@dataclass
class AtolConfig:
    """No element differs by more than `required_atol`."""

    enabled: bool = False
    required_atol: float = _default("required_atol")


@dataclass
class AllcloseConfig:
    """|actual - expected| <= atol + rtol * |expected| for every element."""

    enabled: bool = False
    rtol: float = _default("allclose_rtol")
    atol: float = _default("allclose_atol")


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


@dataclass
class Policy:
    """What holds for every test of a process; the pytest plugin sets it from `--cupel-strict`, `--cupel-precision` and `--cupel-device`."""

    strict: bool = False
    """The strict rule decides also where comparators are configured."""
    precision: str = "f32"
    """What the device computes in."""
    device: str = "cupel"
    """Where model testers run: our own plugin, or a vendor's .so; options of its client behind a question mark."""

    def device_options(self) -> dict[str, Any]:
        """The plugin, and what its client is created with, as options of torch.compile's backend."""
        plugin, _, options = self.device.partition("?")
        client = dict(one.partition("=")[::2] for one in options.split("&") if one)
        return {"device": plugin, "client_options": {name: int(value) if value.isdigit() else value for name, value in client.items()}}

    def precision_with(self, options: Mapping[str, Any]) -> str:
        """What the device computes in if its compiler is given these options: ours multiplies in bf16 where `precision` asks for it."""
        if self.precision != "f32":
            return self.precision
        asked = (str(options.get("precision", "")), str(self.device_options()["client_options"].get("precision", "")))
        if "bf16/bf16" in asked:
            return "bf16"
        return "bf16/f32" if {"bf16", "bf16/f32"}.intersection(asked) else "f32"


POLICY = Policy()


class PassesOnlyAsConfigured(UserWarning):
    """A result that its test's comparators let pass and the strict rule would not."""


class ComparisonError(AssertionError):
    """A result that is not what was expected."""


@dataclass(frozen=True)
class Comparison:
    """What was found of one result."""

    output: int
    passed: bool
    rule: str
    """`strict` (nobody configured a comparator) or `configured`."""
    sentence: str
    strict_passed: bool
    """What the strict rule says, whichever decided,"""
    strict_sentence: str
    """and its words."""

    @property
    def passes_only_as_configured(self) -> bool:
        return self.passed and not self.strict_passed


def checked(config: ComparisonConfig | None) -> ComparisonConfig | None:
    """The configuration, where every part of it is one that can be gone by."""
    if config is None:
        return None
    if not isinstance(config, ComparisonConfig):
        raise ValueError(f"comparison_config is a ComparisonConfig, not {config!r}")
    for name, kind in (("equal", EqualConfig), ("pcc", PccConfig), ("atol", AtolConfig), ("allclose", AllcloseConfig)):
        part = getattr(config, name)
        if not isinstance(part, kind):
            raise ValueError(f"ComparisonConfig.{name} is a {kind.__name__}, not {part!r}")
        flag(f"{kind.__name__}.enabled", part.enabled)
    correlation("PccConfig.required_pcc", config.pcc.required_pcc)
    difference("AtolConfig.required_atol", config.atol.required_atol)
    difference("AllcloseConfig.rtol", config.allclose.rtol)
    difference("AllcloseConfig.atol", config.allclose.atol)
    return config


def _bounds(config: ComparisonConfig) -> list[dict[str, float]]:
    checked(config)
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
    return bounds


def judge(actual: Sequence[Array], expected: Sequence[Array], config: ComparisonConfig | None = None, noise: Noise | None = None) -> list[Comparison]:
    """One for each result. Without a configuration the strict rule decides, with limits from the noise of the program (without `noise`: from the precision alone);
    comparators that are configured decide by their own meaning, and what the strict rule says stands beside it."""
    bounds = _bounds(config) if config else []
    config = None if POLICY.strict else config
    noise = noise or Noise(POLICY.precision)
    if len(actual) != len(expected):
        raise ComparisonError(f"the device gave {len(actual)} results, the reference {len(expected)}")
    rule, found = "configured" if config else "strict", []
    for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
        if a.type != e.type:
            sentence = f"is of {a.type}, expected {e.type}"
            found.append(Comparison(i, False, rule, sentence, False, sentence))
            continue
        strict_passed, strict_sentence = noise.judge(a, e, i)
        if not config:
            found.append(Comparison(i, strict_passed, rule, strict_sentence, strict_passed, strict_sentence))
            continue
        verdicts = [compare(a, e, **bound) for bound in bounds]
        passed = all(held for held, _ in verdicts)
        words = "; ".join(sentence for held, sentence in verdicts if held == passed)
        found.append(Comparison(i, passed, rule, words, strict_passed, strict_sentence))
    return found if config or not all(one.passed for one in found) else _by_pieces(found, noise)


def _by_pieces(found: list[Comparison], noise: Noise) -> list[Comparison]:
    """What was found of results that are right as a whole, after pieces were asked where the whole tells too little."""
    wrong = complaint(noise)
    if not wrong:
        return found
    told = noise.decided or {one.output for one in found}
    return [replace(one, passed=False, sentence=wrong, strict_passed=False, strict_sentence=wrong) if one.output in told else one for one in found]


def check(actual: Sequence[Array], expected: Sequence[Array], config: ComparisonConfig | None = None, noise: Noise | None = None) -> list[Comparison]:
    """What `judge` finds; raises ComparisonError with one line for each result that is wrong, and warns of each that only its own comparators let pass."""
    found = judge(actual, expected, config, noise)
    complaints = [f"result {one.output}: {one.sentence}" for one in found if not one.passed]
    if complaints:
        raise ComparisonError("\n".join(complaints))
    for one in found:
        if one.passes_only_as_configured:
            warnings.warn(PassesOnlyAsConfigured(f"result {one.output} passes as configured ({one.sentence}); strict: {one.strict_sentence}"), stacklevel=2)
    return found
