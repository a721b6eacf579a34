"""Plants a fault in one element of the results of every case and expects the judge to notice.

usage (in tests/jax): python -m jaxdiff.faults BUILD/bin [--cases N] [--seed S]

A truth value is turned around, the lowest bit of an integer flipped, a float made 2 % larger (or 1, where it is zero or not finite).
Ends with `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from .execute import Refusal, evaluate, expected_values, program_of
from .families import case_of
from .verdict import verdict


def faulty(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    flat = values.copy().reshape(-1)
    at = int(rng.integers(flat.size))
    value, dtype = flat[at], flat.dtype
    if dtype == np.bool_:
        flat[at] = not value
    elif "int" in dtype.name:
        flat[at] = np.array(int(value) ^ 1).astype(dtype)
    else:
        wide = complex(value) if dtype.kind == "c" else float(value)
        larger = np.array(wide * 1.02).astype(dtype)
        flat[at] = np.array(1.0 if not np.isfinite(wide) or wide == 0 else larger if larger != value else -wide).astype(dtype)
    return flat.reshape(values.shape)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=Path)
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng, passed, failed = np.random.default_rng(options.seed), 0, 0
    for number in range(options.cases):
        case = case_of(options.seed, number, [])
        try:
            text, want = program_of([case]), expected_values([case])
        except Refusal:
            continue
        got = evaluate(options.bin.resolve() / "cupel", text, want)
        if isinstance(got, str) or verdict(case, got[0], want[0]):
            continue  # differential.py tells of those
        results = [n for n, result in enumerate(got[0]) if result.size]
        if not results:
            continue
        which = results[int(rng.integers(len(results)))]
        wrong = [faulty(result, rng) if n == which else result for n, result in enumerate(got[0])]
        if verdict(case, wrong, want[0]):
            passed += 1
        else:
            failed += 1
            print(f"not noticed: seed {options.seed} case {number} {case.family} ({case.what})")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
