#!/usr/bin/env python3
"""What running a model through the platform costs beyond the work itself: bench/models-run/run.py BIN [--zoo DIR] [-k WORDS] [--strict].

Yardstick: the same test's own work as its record states it, in the same run: loading, the golden result in torch, the device's compiling and executing.
What is left (capturing, comparison with its noise, hand-over of weights, protocol, journal, report) is the platform's; the column `capture` says how much of it torch.export, or whatever
else gave the graph, took with our lowering. The first test of each worker also pays the start of torch,
which is told apart: it is paid once for many tests. `--strict` demands below 20 % for tests of more than 5 s of work and below 1 s for the others.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
WORK = ("load", "reference", "compile", "execute")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path, help="folder of the binaries")
    parser.add_argument("--zoo", type=Path, default=ROOT / "zoo/models")
    parser.add_argument("-k", default="pytorch and single_device and inference and not faults and not spectrum and not word_vectors and not siamese")
    parser.add_argument("--strict", action="store_true", help="exit code 1 where a goal is missed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "run.json"
        begun = time.monotonic()
        subprocess.run([options.bin / "cupel", "run", "--zoo", options.zoo, "--suite", "models", "-k", options.k, "--device", "cupel", "-j", "1", "--keep-failed", "none",
                        "--results", f"{folder}/results", "--json", report], stdout=subprocess.DEVNULL, check=False)
        whole = time.monotonic() - begun
        tests = json.loads(report.read_text())["tests"]
    missed, start, rows = 0, 0.0, []
    for i, test in enumerate(sorted(tests, key=lambda test: test["started_at"])):
        stages = {one["stage"]: one["seconds"] for one in test.get("stages", [])}
        work = sum(stages.get(stage, 0.0) for stage in WORK)
        over = test["seconds"] - work
        if i == 0:  # It waits for the worker that serves all of them.
            own = stages.get("compare", 0.0) + stages.get("frontend", 0.0)
            start, over = over - own, own
        good = over < (0.2 * work if work > 5 else 1.0)
        missed += not good
        rows.append((over, work, stages.get("frontend", 0.0), stages.get("compare", 0.0), test["peak_memory_bytes"] >> 20, test["outcome"], test["id"], good))
    print(f"{'over':>8} {'work':>8} {'capture':>8} {'compare':>8} {'peak MiB':>8}  test")
    for over, work, capture, compare, peak, outcome, name, good in sorted(rows, reverse=True):
        print(f"{over:8.3f} {work:8.3f} {capture:8.3f} {compare:8.3f} {peak:8}  {name}{'' if outcome == 'passed' else ', ' + outcome}{'' if good else '  MISSED'}")
    work = sum(row[1] for row in rows)
    print(f"{len(rows)} tests: {work:.1f} s of work, {sum(row[0] for row in rows):.1f} s over it ({sum(row[0] for row in rows) / work:.1%}); "
          f"{start:.1f} s for the start of torch, {whole - start - sum(row[0] + row[1] for row in rows):.1f} s for the runner and the report; {missed} missed their goal")
    return 1 if options.strict and (missed or not rows) else 0


if __name__ == "__main__":
    sys.exit(main())
