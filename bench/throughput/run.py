"""How many trivial tests a second `cupel run` takes through its workers, with full journalling, and what one test costs beyond its own work.

usage: run.py BUILD/bin [--tests N] [--jobs N] [--strict]

The yardstick, measured in the same run: one process a test (`cupel eval` on one program). With --strict the exit code says whether the
aims are met: 1,000 tests a second through 2 workers, 2 ms of overhead a test.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

AIM_PER_SECOND = 1000.0
AIM_OVERHEAD_MS = 2.0

PROGRAM = """// fake: compare pass
func.func @main() {{
  %a = stablehlo.constant dense<{0}> : tensor<i32>
  %b = stablehlo.add %a, %a : tensor<i32>
  check.expect_eq_const %b, dense<{1}> : tensor<i32>
  return
}}
"""


def processor_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Measured:
    """One `cupel run` over all programs."""

    def __init__(self, bin: Path, folder: Path, name: str, jobs: int, worker: Path | None):
        environment = dict(os.environ, TMPDIR=str(folder), CUPEL_CACHE=str(folder / "cache"))
        if worker:
            environment["CUPEL_WORKER"] = str(worker)
        report = folder / f"{name}.json"
        before, began = processor_seconds(), time.perf_counter()
        done = subprocess.run([bin / "cupel", "run", folder / "programs", "-q", "-j", str(jobs), "--results", folder / name, "--json", report],
                              env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.wall = time.perf_counter() - began
        self.processor = processor_seconds() - before
        if done.returncode != 0:
            sys.exit(f"cupel run ended with {done.returncode}: {done.stderr}")
        read = json.loads(report.read_text())
        self.tests = len(read["tests"])
        self.seconds = read["run"]["ended_at"] - read["run"]["started_at"]
        self.own = sum(stage["seconds"] for test in read["tests"] for stage in test["stages"])
        journal = next((folder / name / "journals").glob("*.jsonl"))
        recorded = sum(line.startswith(b'{"record"') for line in journal.read_bytes().split(b"\n"))
        if recorded != self.tests:
            sys.exit(f"the journal holds {recorded} outcomes of {self.tests}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path)
    parser.add_argument("--tests", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    bin = options.bin.resolve()
    with tempfile.TemporaryDirectory(prefix="cupel-throughput-") as name:
        folder = Path(name)
        (folder / "programs").mkdir()
        for i in range(options.tests):
            (folder / "programs" / f"t{i:05}.mlir").write_text(PROGRAM.format(i, 2 * i))
        count = 20
        began = time.perf_counter()
        for i in range(count):
            subprocess.run([bin / "cupel", "eval", folder / "programs" / f"t{i:05}.mlir"], check=True, stdout=subprocess.DEVNULL)
        process_ms = (time.perf_counter() - began) / count * 1000
        real = Measured(bin, folder, "real", options.jobs, None)
        alone = Measured(bin, folder, "alone", 1, None)
        fake = Measured(bin, folder, "fake", 1, bin / "tests/fake-worker")

    per_second = real.tests / real.seconds
    overhead_ms = (alone.seconds - alone.own) / alone.tests * 1000
    fake_ms = (fake.seconds - fake.own) / fake.tests * 1000
    print(f"{real.tests} programs, {options.jobs} workers: {per_second:.0f} tests/s in the run ({real.seconds:.2f} s), "
          f"{real.tests / real.wall:.0f} from the command to the prompt ({real.wall:.2f} s), {real.processor / real.tests * 1000:.3f} ms of processor a test")
    print(f"overhead a test, 1 worker: {overhead_ms:.3f} ms with programs, {fake_ms:.3f} ms with a worker that does nothing")
    print(f"one process a test: {process_ms:.1f} ms; ratio {process_ms / (real.seconds / real.tests * 1000):.0f}")
    met = per_second >= AIM_PER_SECOND and overhead_ms <= AIM_OVERHEAD_MS and fake_ms <= AIM_OVERHEAD_MS
    print(f"aims ({AIM_PER_SECOND:.0f} tests/s, {AIM_OVERHEAD_MS:g} ms): {'met' if met else 'missed'}; load average {os.getloadavg()[0]:.1f}")
    return 1 if options.strict and not met else 0


sys.exit(main())
