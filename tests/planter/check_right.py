#!/usr/bin/env python3
"""Runs the programs of our suites on devices that are right, by the strict rule, and counts what it flags: nothing may be.

usage: check_right.py BUILD [--full | --sample N] [--only CORPUS] [--verbose]. Ends with `N passed, N failed`.

Programs are ONNX's own cases and models, OpInfo's samples as archives, programs of JAX and of torch, and those that ship; what the other suites have not
made yet is left out and named. Without --full a sample of each is taken. Devices are the compiled one, which adds in another order than the reference and
fuses; the same with last bits that vary from run to run; and one that declares bf16 and rounds to it.

A result that differs from the values of a file as far as the reference's own does is counted apart: that is the file's error (numbers with four digits,
sums in another precision), and no device can help it. They are few, and more of them fail the check.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
PARSER.add_argument("build", type=Path)
PARSER.add_argument("--full", action="store_true", help="all programs, not a sample of each kind")
PARSER.add_argument("--sample", type=int, default=20, help="about how many of each kind, without --full")
PARSER.add_argument("--only", help="one corpus, by the beginning of its name")
PARSER.add_argument("--verbose", action="store_true", help="name whatever was not judged")
OPTIONS = PARSER.parse_args()
BUILD = OPTIONS.build.resolve()
PLANTER = f"{BUILD / 'lib/planter_plugin.so'}?backend=cpu"
DEVICES = {"compiled": "cupel?backend=cpu", "compiled, last bits vary": f"{PLANTER}&fault=right_varies", "rounded to bf16, declared": f"{PLANTER}&fault=right_in_bf16&precision=bf16"}
# Verdicts of which classes are alarms; how many expected values may be worse than the reference, of all.
ALARMS = {"wrong_result", "stale_result", "not_deterministic"}
MOST_OFF = 0.02
IS_OFF = "the reference is off as far"


def corpora() -> dict[str, list[Path]]:
    """Tests by kind: files, or folders that are one test."""
    cases = BUILD / "onnx-cases"
    onnx = [path for kind in ("node", "simple", "pytorch-converted", "pytorch-operator") if (cases / kind).is_dir() for path in sorted((cases / kind).iterdir())]
    models = sorted((BUILD / "onnx-models").glob("*/model.onnx")) if (BUILD / "onnx-models").is_dir() else []
    found = {"ONNX cases": onnx, "ONNX models": models}
    for dtype in ("float32", "bfloat16"):
        found[f"OpInfo {dtype}"] = sorted((BUILD / "torch-cases" / dtype).glob("*/*.pt2"))
    found["JAX"] = sorted((ROOT / "tests/jax/data").glob("*.mlir.bc"))
    found["programs that ship"] = sorted((ROOT / "zoo/programs").glob("*.mlir")) + sorted((ROOT / "tests/planter/models").glob("*.*"))
    return {name: paths for name, paths in found.items() if not OPTIONS.only or name.startswith(OPTIONS.only)}


def sampled(paths: list[Path]) -> list[Path]:
    return paths if OPTIONS.full or len(paths) <= OPTIONS.sample else paths[:: len(paths) // OPTIONS.sample + 1]


def run(paths: list[Path], device: str) -> list[dict]:
    tests = []
    for first in range(0, len(paths), 2000):  # As many as a command line takes.
        with tempfile.TemporaryDirectory(prefix="cupel-right-") as folder:
            report = Path(folder) / "report.json"
            command = [BUILD / "bin/cupel", "run", *paths[first:first + 2000], "--strict", "--device", device, "--results", f"{folder}/results", "--json", report,
                       "--keep-failed", "none", "--quiet"]
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
            if not report.exists():
                raise SystemExit(f"{device}: {done.stdout[-2000:]}{done.stderr[-2000:]}\n0 passed, 1 failed")
            tests += json.loads(report.read_text())["tests"]
    return tests


def main() -> int:
    passed = failed = 0
    for corpus, paths in corpora().items():
        if not paths:
            print(f"{corpus}: not made yet (the suites onnx and torch make them)")
            continue
        for device, name in DEVICES.items():
            began = time.monotonic()
            tests = run(sampled(paths), name)
            judged = [test for test in tests if test["outcome"] == "passed" or test.get("error_class") in ALARMS]
            wrong = [test for test in judged if test["outcome"] != "passed"]
            off = [test for test in wrong if IS_OFF in (test.get("message") or "")]
            flagged = [test for test in wrong if test not in off]
            holds = not flagged and len(off) <= max(1, MOST_OFF * len(judged)) and len(judged) > 0
            passed, failed = passed + holds, failed + (not holds)
            print(f"{corpus}, {device}: {len(judged)} of {len(tests)} judged, {len(flagged)} flagged, {len(off)} whose expected values are less exact than the reference; "
                  f"{time.monotonic() - began:.0f} s", flush=True)
            for test in flagged + (off if OPTIONS.verbose or not holds else []):
                print(f"  {'FLAGGED' if test in flagged else 'off'} {test['id']}: {test.get('error_class')}: {(test.get('message') or '')[:420]}")
            if OPTIONS.verbose:
                others = collections.Counter((test["outcome"], test.get("error_class")) for test in tests if test not in judged)
                print(f"  not judged: {dict(others)}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
