#!/usr/bin/env python3
"""What running a model through the platform costs beyond the work itself: bench/models-run/run.py BIN [--zoo DIR] [-k WORDS | --ids FILE] [--python PYTHON] [--strict].

Yardstick: the same test's own work as its record states it, in the same run: loading, the golden result in the framework, the device's compiling and executing (all its executions: a test
looks several times). What is left is the platform's, by column: `capture` (torch.export, or whatever else gave the graph), `lower` (our frontend), `save` (the weights for the device's worker), `compare` (with its noise),
`reference` (what the golden reference evaluated for other inputs) and `rest` (processes, protocol, reading the workload). The first test of each environment also pays the start of torch,
which is told apart: it is paid once for many tests. `peak` is all processes together, `python` and `device` what the test added to each at most, in MiB, beside its `weights` and `activ`, the activations:
what the device's program and the reference's evaluations hold of values on their way. `--strict` demands below 20 % for tests of more than 5 s of work and below 1 s for the others, and of the device's worker
at most twice the weights, the activations and 64 MiB (allocators, and code that the first run of a kind brings in). `--report` tells the same of the JSON of a run that was made before.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
WORK = ("load", "golden", "compile", "execute")
OURS = ("capture", "lower", "save", "compare", "reference", "rest")
SLACK = 64


def numbers(text: str, pattern: str = r"([a-z]+) ([\d.]+)") -> dict[str, float]:
    return {name: float(value) for name, value in re.findall(pattern, text)}


@dataclass
class Row:
    """One test."""

    name: str
    outcome: str
    seconds: dict[str, float]
    start: float
    peak: int
    weights: float | None
    python: float | None
    device: float | None
    activations: float | None

    @property
    def work(self) -> float:
        return sum(self.seconds[name] for name in WORK)

    @property
    def over(self) -> float:
        return sum(self.seconds[name] for name in OURS)

    @property
    def is_good(self) -> bool:
        return self.over < (0.2 * self.work if self.work > 5 else 1.0)

    @property
    def is_small(self) -> bool:
        """Where nothing is told it is little."""
        return self.weights is None or self.device is None or self.activations is None or self.device <= 2 * self.weights + self.activations + SLACK


def row_of(test: dict[str, Any], is_first: bool) -> Row:
    notes = test.get("notes", {})
    stages: dict[str, float] = dict.fromkeys(("load", "frontend", "reference", "compile", "execute", "compare"), 0.0)
    for one in test.get("stages", []):
        stages[one["stage"]] = stages.get(one["stage"], 0.0) + one["seconds"]
    steps = numbers(notes.get("seconds of steps", ""))
    seconds = {name: stages[name] for name in ("load", "compile", "execute", "compare")}
    # Both workers have a stage of that name: the framework's run, and what the golden reference says of other inputs.
    seconds["golden"] = min(steps.get("golden", stages["reference"]), stages["reference"])
    seconds["reference"] = stages["reference"] - seconds["golden"]
    seconds |= {name: steps.get(name, 0.0) for name in ("capture", "lower", "save")}
    rest = test["seconds"] - sum(seconds.values())
    # Whoever comes first waits for the worker that serves all of them.
    start = max(0.0, rest - (stages["frontend"] - sum(steps.get(name, 0.0) for name in ("capture", "lower", "save")))) if is_first else 0.0
    memory = re.match(r"weights ([\d.]+) MiB; the Python worker took ([\d.]+) MiB", notes.get("memory", ""))
    taken = re.match(r"took ([\d.]+) MiB", notes.get("memory of the device's worker", ""))
    values = re.findall(r"(?:device|reference) ([\d.]+) MiB", notes.get("activations", ""))
    return Row(test["id"], test["outcome"], seconds | {"rest": rest - start}, start, test["peak_memory_bytes"] >> 20, float(memory[1]) if memory else None,
               float(memory[2]) if memory else None, float(taken[1]) if taken else None, sum(map(float, values)) if values else None)


def read(report: Path) -> list[Row]:
    """In the order in which they ran; the first of them waited for torch."""
    tests = sorted(json.loads(report.read_text())["tests"], key=lambda test: test["started_at"])
    return [row_of(test, number == 0) for number, test in enumerate(tests)]


def show(rows: list[Row], whole: float | None) -> int:
    """Prints the table; how many missed their goal."""
    def mebibytes(value: float | None) -> str:
        return f"{'':>7}" if value is None else f"{value:7.0f}"

    names = [*WORK, *OURS]
    print(f"{'over':>7} {'work':>7} | " + " ".join(f"{name:>9}" for name in names) + f" | {'peak':>6} {'weights':>7} {'activ':>7} {'python':>7} {'device':>7}  test")
    for row in sorted(rows, key=lambda row: -row.over):
        print(f"{row.over:7.2f} {row.work:7.2f} | " + " ".join(f"{row.seconds[name]:9.2f}" for name in names)
              + f" | {row.peak:6} {mebibytes(row.weights)} {mebibytes(row.activations)} {mebibytes(row.python)} {mebibytes(row.device)}  {row.name}"
              + ("" if row.outcome == "passed" else f", {row.outcome}") + ("" if row.is_good else "  MISSED") + ("" if row.is_small else "  MEMORY"))
    work, over, start = sum(row.work for row in rows), sum(row.over for row in rows), sum(row.start for row in rows)
    missed = sum(not row.is_good or not row.is_small for row in rows)
    print(f"{len(rows)} tests: {work:.1f} s of work, {over:.1f} s over it ({over / work if work else 0:.1%}), of these "
          + ", ".join(f"{name} {sum(row.seconds[name] for row in rows):.1f}" for name in OURS) + f"; {start:.1f} s for the start of torch"
          + (f", {whole - start - over - work:.1f} s for the runner and the report" if whole is not None else "") + f"; {missed} missed their goal")
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path, help="folder of the binaries")
    parser.add_argument("--zoo", type=Path, default=ROOT / "zoo/models")
    parser.add_argument("-k", default="pytorch and single_device and inference and not faults and not spectrum and not word_vectors and not siamese")
    parser.add_argument("--ids", type=Path, help="a file with an id a line, instead of -k")
    parser.add_argument("--python", help="the Python of the loaders, as of cupel run; models then take it as it is, whatever requirements they have")
    parser.add_argument("--report", type=Path, action="append", help="the JSON of a run that was made before; may be repeated")
    parser.add_argument("--keep", type=Path, help="where the JSON of the run goes")
    parser.add_argument("--strict", action="store_true", help="exit code 1 where a goal is missed")
    options = parser.parse_args()
    if options.report:
        rows = [row for report in options.report for row in read(report)]
        return 1 if (show(rows, None) or not rows) and options.strict else 0
    with tempfile.TemporaryDirectory() as folder:
        report = options.keep or Path(folder) / "run.json"
        selected = options.ids.read_text().split() if options.ids else ["-k", options.k]
        python = ["--python", options.python, "--no-model-requirements"] if options.python else []
        begun = time.monotonic()
        subprocess.run([options.bin / "cupel", "run", "--zoo", options.zoo, "--suite", "models", *selected, *python, "--device", "cupel", "-j", "1", "--keep-failed", "none",
                        "--results", f"{folder}/results", "--json", report], stdout=subprocess.DEVNULL, check=False)
        rows, whole = read(report), time.monotonic() - begun
    return 1 if (show(rows, whole) or not rows) and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
