"""Whether what Cupel computed is what the judge expects, and how a disagreement is told."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from .case import Case, is_complex, is_float


def ordered(x: np.ndarray) -> np.ndarray:
    """Floats as integers whose differences are units in the last place."""
    bits = x.view({1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}[x.dtype.itemsize]).astype(object)
    low = -(1 << (x.dtype.itemsize * 8 - 1))
    return np.where(bits < 0, low - bits, bits)


def mismatches(case: Case, got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """A mask of the elements that disagree."""
    if got.shape != want.shape:
        return np.array([True])
    if is_complex(want.dtype):
        scale = np.abs(want[np.isfinite(want)]).max(initial=0.0)
        near = np.isfinite(want) & np.isfinite(got) & (np.abs(got - want) <= case.norm * np.abs(want)) if np.any(case.norm) else np.zeros(want.shape, bool)
        parts = [part_mismatches(case, np.ascontiguousarray(f(got)), np.ascontiguousarray(f(want)), scale) for f in (np.real, np.imag)]
        return (parts[0] | parts[1]) & ~near
    if is_float(want.dtype):
        wide = want.astype(np.float64)
        return part_mismatches(case, got, want, np.abs(wide[np.isfinite(wide)]).max(initial=0.0))
    return got != want


def part_mismatches(case: Case, got: np.ndarray, want: np.ndarray, scale: float) -> np.ndarray:
    with np.errstate(all="ignore"):
        g, w = got.astype(np.float64), want.astype(np.float64)
        equal = (g == w) | (np.isnan(g) & np.isnan(w))
        tolerant = bool(np.any(case.ulp)) or case.close or bool(np.any(case.norm)) or case.absolute
        if not (case.zeros or tolerant):
            equal &= ~((g == 0) & (w == 0) & (np.signbit(g) != np.signbit(w)))
        if case.judge is None and (want.dtype.itemsize >= 4 or want.dtype == ml_dtypes.bfloat16):  # KNOWN_DIFFERENCES: subnormals
            tiny = float(ml_dtypes.finfo(want.dtype).smallest_normal)
            equal |= (np.abs(g) <= tiny) & (np.abs(w) <= tiny) & ((g == 0) | (w == 0))
        if case.close:
            equal |= np.isfinite(g) & np.isfinite(w) & (np.abs(g - w) <= case.close * scale)
        if case.absolute:
            equal |= np.abs(g - w) <= case.absolute
        if np.any(case.ulp) and not equal.all():
            distance = np.abs(ordered(np.atleast_1d(got)) - ordered(np.atleast_1d(want))).reshape(np.shape(got))
            equal |= ~np.isnan(g) & ~np.isnan(w) & (distance <= case.ulp).astype(bool)
    return ~equal


def verdict(case: Case, got: list[np.ndarray], want: list[np.ndarray]) -> str:
    """Empty if they agree."""
    for n, (g, w) in enumerate(zip(got, want, strict=True)):
        bad = np.asarray(mismatches(case, g, w))
        bad = bad.reshape(w.shape) if bad.size == w.size else bad
        if bad.any():
            if g.shape != w.shape:
                return f"result {n}: shape {g.shape}, expected {w.shape}"
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            inputs = "".join(f", input {x[at]!r}" for x in case.inputs if x.shape == w.shape)
            return f"result {n}: {int(bad.sum())} of {bad.size} elements differ, the first at {list(at)}: {g[at]!r}, expected {w[at]!r}{inputs}"
    return ""


def report_of(case: Case, seed: int, message: str, text: str, got, want) -> str:
    lines = [f"// seed {seed}, case {case.number}, {case.family} ({case.what})", f"// {message}"]
    for name, values in (("Cupel", got), ("NumPy" if case.judge else "XLA", want)):
        for n, value in enumerate(values or []):
            lines += [f"// {name} result {n}:"] + ["//   " + line for line in np.array2string(np.asarray(value), threshold=400).splitlines()]
    for n, value in enumerate(case.inputs):
        lines += [f"// input {n} ({value.dtype}):"] + ["//   " + line for line in np.array2string(value, threshold=400).splitlines()]
    return "\n".join(lines) + "\n" + text
