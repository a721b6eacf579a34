"""What checks of `cupel run` share: a place with programs and results of its own, what its journals and reports hold, programs, and the loop over checks.

A file of checks marks functions of a Place with @check and ends with sys.exit(main()); its usage is FILE BUILD/bin [--mode quick|default|full] [--only WORD].
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PARSER = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__)
PARSER.add_argument("bin", type=Path)
PARSER.add_argument("--mode", choices=["default", "quick", "full"], default="default")
PARSER.add_argument("--only", default="", help="checks whose name holds this word")
OPTIONS = PARSER.parse_args()
BIN = OPTIONS.bin.resolve()
CUPEL = BIN / "cupel"

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def expect(condition: bool, message: object) -> None:
    if not condition:
        raise AssertionError(str(message))


class Skip(Exception):
    pass


class Place:
    """A folder with programs and results of its own, and its own copy of the fake worker, so that nobody else's processes count."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.programs = folder / "programs"
        self.programs.mkdir(parents=True)
        self.worker = folder / "fake-worker"
        shutil.copy(BIN / "tests/fake-worker", self.worker)

    def program(self, name: str, text: str) -> None:
        (self.programs / name).write_text(text)

    def fake(self, count: int, action: str = "compare pass") -> None:
        for i in range(count):
            self.program(f"t{i:04}.mlir", f"// fake: {action}\n")

    def command(self, *arguments: object) -> list[str]:
        return [str(CUPEL), "run", *map(str, arguments), "--results", str(self.folder / "results")]

    def environment(self, fake: bool) -> dict[str, str]:
        environment = dict(os.environ, TMPDIR=str(self.folder), CUPEL_CACHE=str(self.folder / "cache"))
        if fake:
            environment["CUPEL_WORKER"] = str(self.worker)
        return environment

    def run(self, *arguments: object, fake: bool = False) -> subprocess.CompletedProcess:
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, errors="replace", timeout=120, cwd=self.folder,
                              stdin=subprocess.DEVNULL, env=self.environment(fake))

    def start(self, *arguments: object, fake: bool = True) -> subprocess.Popen:
        return subprocess.Popen(self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                stdin=subprocess.DEVNULL, env=self.environment(fake), start_new_session=True)

    def journals(self) -> list[Path]:
        return sorted((self.folder / "results/journals").glob("*.jsonl"))

    def processes(self) -> list[str]:
        """Command lines of workers of ours that live."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if words[0] == str(self.worker).encode() and state not in "ZX":
                found.append(entry.name)
        return found


def outcomes(journal: Path) -> dict[str, list[str]]:
    """All outcomes that a journal holds for each test, in order. A torn line is one that was never finished."""
    found = collections.defaultdict(list)
    for line in journal.read_bytes().split(b"\n")[:-1]:
        entry = json.loads(line)
        if "record" in entry:
            record = entry["record"]
            found[f"{record['suite']}::{record['id']}"].append(record.get("outcome", "passed"))
    return found


def selection(journal: Path) -> list[str]:
    names = []
    for line in journal.read_bytes().split(b"\n")[:-1]:
        names += json.loads(line).get("select", [])
    return names


def report(place: Place, *arguments: object, fake: bool = False) -> tuple[subprocess.CompletedProcess, dict]:
    file = place.folder / "report.json"
    file.unlink(missing_ok=True)
    result = place.run(*arguments, "--json", file, fake=fake)
    expect(file.exists(), f"no report: {result.stdout}{result.stderr}")
    tests = json.loads(file.read_text())["tests"]
    return result, {test["id"]: test for test in tests}


PASSING = """func.func @main() {
  %a = stablehlo.constant dense<2> : tensor<i32>
  %b = stablehlo.add %a, %a : tensor<i32>
  check.expect_eq_const %b, dense<4> : tensor<i32>
  return
}
"""
FAILING = PASSING.replace("dense<4>", "dense<5>")
ENDLESS = """func.func @main() -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.while(%i = %zero) : tensor<i32>
    cond {
      %true = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %true : tensor<i1>
    } do {
      stablehlo.return %i : tensor<i32>
    }
  return %0 : tensor<i32>
}
"""
GREEDY = """func.func @main() -> tensor<65536x65536xf64> {
  %0 = stablehlo.iota dim = 0 : tensor<65536x65536xf64>
  return %0 : tensor<65536x65536xf64>
}
"""
DOUBLE = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
SORTING = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.abs %a : tensor<f32>
    %q = stablehlo.abs %b : tensor<f32>
    %less = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
"""


def safetensors(values: list[float]) -> bytes:
    data = struct.pack(f"<{len(values)}f", *values)
    header = json.dumps({"0": {"dtype": "F32", "shape": [len(values)], "data_offsets": [0, len(data)]}}).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


def plugin(name: str) -> Path:
    path = BIN.parent / "lib" / name
    if not path.exists():
        raise Skip(f"{path} is not built")
    return path


def main() -> int:
    passed = failed = skipped = 0
    for function in CHECKS:
        if OPTIONS.only not in function.__name__:
            continue
        folder = Path(tempfile.mkdtemp(prefix="cupel-runner-"))
        try:
            began = time.time()
            function(Place(folder))
            print(f"ok   {function.__name__} ({time.time() - began:.1f} s)", flush=True)
            passed += 1
        except Skip as reason:
            print(f"SKIPPED {function.__name__}: {reason}", flush=True)
            skipped += 1
        except Exception as error:  # noqa: BLE001 - one check must not end the others.
            print(f"FAIL {function.__name__}: {type(error).__name__}: {str(error)[:2000]}", flush=True)
            failed += 1
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0
