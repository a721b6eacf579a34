"""Random differential tests of the golden reference against JAX (XLA) and NumPy on the CPU.

usage: differential.py BUILD/bin [--cases N] [--seed S] [--jobs J] [--first K] [--only FAMILY,...] [--keep DIR]

Case K of seed S is always the same: a random jax.lax call with random parameters and inputs, lowered to StableHLO. The
program is run by `cupel eval`, and its results are compared with those of XLA or NumPy: exactly for integers and whatever
only moves, selects or compares values, within a stated distance for the rest (class Case). Float sums and products are
mostly formed of small whole numbers, so that they are exact in any order. A case that fails is run again alone, printed
and saved below DIR. Ends with `N passed, N failed[, N skipped]`; skipped are those that the judge refused.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

from jaxdiff.execute import Outcome
from jaxdiff.families import FAMILIES
from jaxdiff.pool import outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=Path, help="the folder of the cupel tool")
    parser.add_argument("--cases", type=int, default=20000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", default="", help=f"families, separated by commas: {', '.join(FAMILIES)}")
    parser.add_argument("--keep", type=Path, help="where failing programs are saved (BUILD/differential-failures)")
    parser.add_argument("--show", type=int, default=5, help="how many failing programs to print in full")
    options = parser.parse_args()
    keep = options.keep or options.bin.resolve().parent / "differential-failures"
    only = [name for name in options.only.split(",") if name]
    numbers = list(range(options.first, options.first + options.cases))
    start, total, told = time.monotonic(), Outcome(), 0
    for outcome in outcomes(options.bin.resolve() / "cupel", options.seed, numbers, only, options.jobs):
        total.passed += outcome.passed
        total.families += outcome.families
        total.skipped += outcome.skipped
        for number, family, message, report in outcome.failures:
            total.failures.append((number, family, message, report))
            keep.mkdir(parents=True, exist_ok=True)
            (keep / f"seed{options.seed}-case{number}-{family}.mlir").write_text(report)
            print(f"FAILED seed {options.seed} case {number} {family}: {message}", flush=True)
        done = total.passed + len(total.failures) + len(total.skipped)
        if done // 2000 > told:
            told = done // 2000
            print(f"{done} of {options.cases} cases, {time.monotonic() - start:.0f} s", flush=True)
    for _, _, _, report in sorted(total.failures)[: options.show]:
        print(report)
    for number, family, message in sorted(total.skipped):
        print(f"SKIPPED, the judge refuses it: case {number} {family}: {message}")
    failed_of = Counter(family for _, family, _, _ in total.failures)
    print("cases by family: " + ", ".join(f"{name} {total.families[name]}" + (f" ({failed_of[name]} failed)" if failed_of[name] else "") for name in FAMILIES if total.families[name]))
    print(f"seed {options.seed}, {time.monotonic() - start:.0f} s")
    skipped = f", {len(total.skipped)} skipped" if total.skipped else ""
    print(f"{total.passed} passed, {len(total.failures)} failed{skipped}")
    return 1 if total.failures or total.passed + len(total.skipped) != options.cases else 0


if __name__ == "__main__":
    sys.exit(main())
