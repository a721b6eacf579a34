"""Measures the functions of chlo as Cupel decomposes them: the worst distance from the true value, where the tolerances in transcendental.py come from.

usage (in tests/jax): python -m jaxdiff.measure BUILD/bin [--samples N]

Half of the arguments are spread over the magnitudes of the type, the other half uniform where the function does anything. `units` is
the worst distance to the correctly rounded true value; `absolute` the worst error in units of the last place of 1, over
results below 1 in magnitude.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from .transcendental import CHLO, true_value

RANGES = {"asin": (-1, 1), "acos": (-1, 1), "atanh": (-1, 1), "erf_inv": (-1, 1), "acosh": (1, 50), "erf": (-4, 4), "erfc": (-4, 27), "lgamma": (0, 40), "digamma": (0, 40),
          "sinh": (-88, 88), "cosh": (-88, 88), "bessel_i1e": (-40, 40)}  # fmt: skip


def arguments(name: str, dtype, samples: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    low, high = RANGES.get(name, (-20, 20))
    uniform = rng.uniform(low, high, samples // 2)
    spread = rng.normal(0, 1, samples // 2) * np.exp2(rng.integers(-30, 31, samples // 2))
    x = np.concatenate([uniform, spread]).astype(dtype)
    return np.abs(x) if name in ("lgamma", "digamma") else x


def evaluate(cupel: Path, name: str, x: np.ndarray) -> np.ndarray:
    kind = f"tensor<{x.size}x{'f32' if x.dtype == np.float32 else 'f64'}>"
    with tempfile.TemporaryDirectory() as folder:
        program, argument = Path(folder) / "program.mlir", Path(folder) / "x.npy"
        program.write_text(f"func.func @main(%x: {kind}) -> {kind} {{\n  %y = chlo.{name} %x : {kind} -> {kind}\n  return %y : {kind}\n}}\n")
        np.save(argument, x)
        subprocess.run([cupel, "eval", program, "--args", argument, "--save", folder], check=True, capture_output=True)
        return np.load(Path(folder) / "result0.npy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=Path)
    parser.add_argument("--samples", type=int, default=1_000_000)
    options = parser.parse_args()
    for name, (_, function) in CHLO.items():
        for dtype in (np.float32, np.float64):
            x = arguments(name, dtype, options.samples)
            got, true = evaluate(options.bin / "cupel", name, x), true_value(function, x)
            want = true.astype(dtype)
            usable = np.isfinite(want) & np.isfinite(got)
            other = (np.isfinite(want) != np.isfinite(got)).sum()
            bits = np.int32 if dtype == np.float32 else np.int64
            order = lambda v: np.where(v.view(bits) < 0, np.iinfo(bits).min - v.view(bits), v.view(bits)).astype(np.int64)  # noqa: E731, B023
            units = np.where(usable, np.abs(order(got) - order(want)), 0)
            error = np.where(usable & (np.abs(want) < 1), np.abs(got - want), 0) / np.finfo(dtype).eps
            away = np.where(np.abs(want) >= 1, units, 0)
            print(f"{name:11} {dtype.__name__} units {units.max():.0f} at {x[units.argmax()]!r}, where the result is 1 or more {away.max():.0f} at {x[away.argmax()]!r}, absolute {error.max():.2f} at {x[error.argmax()]!r}; {other} finite in one only", flush=True)


if __name__ == "__main__":
    main()
