#!/usr/bin/env python3
"""Failed tests as workload folders: kept by `cupel run`, run again by it and by `cupel-device`, with one verdict.

Prints a line for each failure and ends with `N passed, N failed[, N skipped]`. Needs bin/cupel, bin/cupel-device, lib/fault_plugin.so and
lib/pjrt_plugin_cupel.so of the build tree that CUPEL_BUILD names (build); archives of torch.export and operator cases need .venv.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("CUPEL_BUILD", ROOT / "build"))
FAULTY = BUILD / "lib/fault_plugin.so"
OURS = BUILD / "lib/pjrt_plugin_cupel.so"
VENV = ROOT / ".venv/bin/python"
CHECKS: list[Callable[[Path], None]] = []


class Skip(Exception):
    pass


def check(function: Callable[[Path], None]) -> Callable[[Path], None]:
    CHECKS.append(function)
    return function


def cupel(*arguments: object, fault: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([BUILD / "bin/cupel", *map(str, arguments)], env={**os.environ, "CUPEL_FAULT": fault, **environment}, timeout=300, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def records(folder: Path, *arguments: object, fault: str = "", **environment: str) -> dict[str, dict[str, Any]]:
    """Runs `cupel run`; the records by id."""
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    done = cupel("run", *arguments, "--results", folder / "results", "--json", report, fault=fault, **environment)
    assert report.exists(), done.stdout
    return {record["id"]: record for record in json.loads(report.read_text())["tests"]}


def only(folder: Path, *arguments: object, fault: str = "", **environment: str) -> dict[str, Any]:
    found = records(folder, *arguments, fault=fault, **environment)
    assert len(found) == 1, found
    return next(iter(found.values()))


def on_device(folder: Path, workload: str | Path, plugin: Path, fault: str = "", timeout: float = 60, options: tuple[str, ...] = ()) -> dict[str, Any]:
    """Runs `cupel-device`; its report on the one workload."""
    out = folder / "device.json"
    subprocess.run([BUILD / "bin/cupel-device", "run", str(workload), "--plugin", plugin, "--json", out, "--timeout", str(timeout),
                    *(word for option in options for word in ("--option", option))],
                   env={**os.environ, "CUPEL_FAULT": fault}, timeout=300, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return json.loads(out.read_text())["runs"][0]


ADD = """\
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
CHECKED = """\
func.func @main() {
  %a = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %0 = stablehlo.abs %a : tensor<2xf32>
  check.expect_eq_const %0, dense<[1.0, 2.0]> : tensor<2xf32>
  return
}
"""
ENDLESS = """\
func.func @main() -> tensor<i32> {
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


def fails_again(folder: Path, first: dict[str, Any], fault: str, *arguments: object) -> None:
    """What was kept fails for the same reason with `cupel run` and `cupel-device`, and the reference finds nothing wrong with it."""
    kept = first["reproduction"]
    assert Path(kept, "program.mlirbc").exists() and Path(kept).is_absolute(), kept
    origin = json.loads(Path(kept, "workload.json").read_text())
    assert origin["test"] == f"{first['suite']}::{first['id']}" and origin["message"] == first["message"], origin
    again = only(folder, kept, "--device", FAULTY, *arguments, fault=fault)
    assert again["suite"] == "workloads", again
    assert (again["outcome"], again["error_class"]) == (first["outcome"], first["error_class"]), (first, again)
    assert again["message"] == first["message"], (first["message"], again["message"])
    assert again["reproduction"] == kept, again
    report = on_device(folder, kept, FAULTY, fault)
    if first["error_class"] in ("wrong_result", "check_failed"):
        sentences = [row["sentence"] for row in report["comparisons"] if not row["passed"]]
        assert report["outcome"] == "incorrect" and any(s in first["message"] for s in sentences), (first, report)
    else:
        assert report["outcome"] not in ("passed", "ran", "incorrect"), report
    for device in ("reference", "cupel?backend=reference", "cupel"):
        sound = only(folder, kept, "--device", device, PATH="/nonexistent")  # Python is not needed.
        # The first two compute with the reference's kernels: where it made what is expected, that they agree is no verdict.
        own = sound["notes"]["expectation"] == "the reference's result" and device != "cupel"
        assert sound["outcome"] == ("unjudged" if own else "passed"), sound
        assert all(row["passed"] for row in sound.get("comparisons", [])), sound


@check
def wrong_results_and_checks(folder: Path) -> None:
    (folder / "add.mlir").write_text(ADD)
    (folder / "checked.mlir").write_text(CHECKED)
    found = records(folder, folder / "add.mlir", folder / "checked.mlir", "--device", FAULTY, fault="later-echo")
    assert found["add.mlir"]["error_class"] == "wrong_result" and found["checked.mlir"]["error_class"] == "check_failed", found
    for first in found.values():
        fails_again(folder, first, "later-echo")
    assert found["add.mlir"]["reproduction"].startswith(str(folder / "results/failed")), found


@check
def errors_of_a_device(folder: Path) -> None:
    (folder / "add.mlir").write_text(ADD)
    first = only(folder, folder / "add.mlir", "--device", FAULTY, fault="later-execute-error")
    assert first["outcome"] == "out of memory", first
    fails_again(folder, first, "later-execute-error")


@check
def crashes(folder: Path) -> None:
    (folder / "add.mlir").write_text(ADD)
    first = only(folder, folder / "add.mlir", "--device", FAULTY, fault="later-execute-crash")
    assert first["outcome"] == "crashed" and first["signal"] == signal.SIGSEGV, first
    fails_again(folder, first, "later-execute-crash")
    # It was prepared anew, with what the reference says.
    assert Path(first["reproduction"], "expected.safetensors").exists()


@check
def hangs(folder: Path) -> None:
    (folder / "add.mlir").write_text(ADD)
    first = only(folder, folder / "add.mlir", "--device", FAULTY, "--timeout", 2, fault="later-execute-hang")
    assert first["outcome"] == "timed out" and first["reproduction"], first
    report = on_device(folder, first["reproduction"], FAULTY, "later-execute-hang", timeout=2)
    assert report["outcome"] == "timed out", report
    (folder / "endless.mlir").write_text(ENDLESS)
    endless = only(folder, folder / "endless.mlir", "--timeout", 1)
    assert endless["outcome"] == "timed out", endless
    again = only(folder, endless["reproduction"], "--timeout", 1)
    assert again["outcome"] == "timed out", again


@check
def a_device_that_goes_bad_loses_none(folder: Path) -> None:
    """Every test crashes the device; all of them are kept, also when it gets no more."""
    for i in range(3):
        (folder / f"add{i}.mlir").write_text(ADD)
    found = records(folder, folder, "-j", 1, "--device", FAULTY, fault="later-execute-crash")
    crashed = [record for record in found.values() if record["outcome"] == "crashed"]
    assert crashed and all(Path(record["reproduction"]).is_dir() for record in crashed), found


@check
def onnx_models(folder: Path) -> None:
    model = ROOT / "tests/fuzz/onnx_corpus/standard_max_roi_pool.onnx"
    first = only(folder, model, "--device", FAULTY, fault="later-execute-crash")
    assert first["suite"] == "onnx" and first["outcome"] == "crashed", first
    fails_again(folder, first, "later-execute-crash")
    assert json.loads(Path(first["reproduction"], "workload.json").read_text())["frontend"] == "onnx"


def with_torch(program: str, folder: Path) -> None:
    if not VENV.exists():
        raise Skip(".venv is not there")
    subprocess.run([VENV, "-c", program], cwd=folder, check=True, timeout=300)


@check
def exported_programs(folder: Path) -> None:
    with_torch("import torch\n"
               "class Two(torch.nn.Module):\n"
               "    def __init__(self):\n"
               "        super().__init__()\n"
               "        self.linear = torch.nn.Linear(3, 2)\n"
               "    def forward(self, x):\n"
               "        return torch.relu(self.linear(x))\n"
               "torch.export.save(torch.export.export(Two(), (torch.ones(4, 3),)), 'two.pt2')\n", folder)
    first = only(folder, folder / "two.pt2", "--device", FAULTY, fault="later-execute-crash")
    assert first["suite"] == "pt2" and first["outcome"] == "crashed", first
    fails_again(folder, first, "later-execute-crash")


@check
def operator_cases(folder: Path) -> None:
    if not VENV.exists():
        raise Skip(".venv is not there")
    (folder / "case.yaml").write_text("cases:\n  - name: strict\n    op: torch.exp\n    dtype: float32\n    inputs:\n      - tensor: {shape: [8]}\n")
    found = records(folder, folder / "case.yaml", "--device", FAULTY, "--python", VENV, fault="later-echo")
    first = next(iter(found.values()))
    assert first["suite"] == "opcases" and first["error_class"] == "wrong_result", first
    kept = first["reproduction"]
    again = only(folder, kept, "--device", FAULTY, fault="later-echo", PATH="/nonexistent")
    assert again["message"].split(":", 1)[1] == first["message"].split(":", 1)[1], (first, again)
    assert on_device(folder, kept, FAULTY, "later-echo")["outcome"] == "incorrect"
    assert only(folder, kept, "--device", "cupel")["outcome"] == "passed"


# --- One verdict ------------------------------------------------------------------------------


def safetensors(tensors: dict[str, list[float]], kind: str = "f") -> bytes:
    """Rank-1 tensors of f32 or i32 in the safetensors format."""
    header, body = {}, b""
    for name, values in tensors.items():
        data = struct.pack(f"<{len(values)}{kind}", *values)
        header[name] = {"dtype": {"f": "F32", "i": "I32"}[kind], "shape": [len(values)], "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body


TWICE = """\
func.func @main(%a: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = stablehlo.add %a, %a : tensor<3xf32>
  return %0, %a : tensor<3xf32>, tensor<3xf32>
}
"""
WHOLE = """\
func.func @main(%a: tensor<3xi32>) -> tensor<3xi32> {
  return %a : tensor<3xi32>
}
"""
SUM = """\
module attributes {mhlo.num_replicas = 2 : i32} {
  func.func @main(%a: tensor<3xf32>) -> tensor<3xf32> {
    %0 = "stablehlo.all_reduce"(%a) ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %s = stablehlo.add %x, %y : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}
"""
GIVEN = {"0": [1.0, 2.0, 3.0]}
EXACT = {"0": [2.0, 4.0, 6.0], "1": [1.0, 2.0, 3.0]}
OFF = {"0": [2.0, 4.5, 6.0], "1": [1.0, 2.0, 3.0]}
FAR = {"0": [6.0, -4.0, 2.0], "1": [1.0, 2.0, 3.0]}
BY_DEVICE = {"d0/0": [1.0, 2.0, 3.0], "d1/0": [10.0, 20.0, 30.0]}
BOTH = {"d0/0": [11.0, 22.0, 33.0], "d1/0": [11.0, 22.0, 33.0]}
ONE_WRONG = {"d0/0": [11.0, 22.0, 33.0], "d1/0": [11.0, 22.0, -33.0]}
EQUAL = {"kind": "equal", "actual": 0, "expected": 1}

# Name: program, inputs, expected, options, whether it passes.
VERDICTS: dict[str, tuple[str, dict, dict | None, dict, bool]] = {
    "exact": (TWICE, GIVEN, EXACT, {}, True),
    "wrong": (TWICE, GIVEN, FAR, {}, False),
    "off_by_default": (TWICE, GIVEN, OFF, {}, False),
    "at_the_bound": (TWICE, GIVEN, OFF, {"tolerance": {"atol": 0.5}}, True),
    "beyond_the_bound": (TWICE, GIVEN, OFF, {"tolerance": {"atol": 0.4999}}, False),
    "a_bound_of_its_own": (TWICE, GIVEN, OFF, {"tolerances": [{"atol": 0.5}, {"ulp": [0, 0]}]}, True),
    "the_other_bound": (TWICE, GIVEN, OFF, {"tolerances": [{"ulp": [0, 0]}, {"atol": 0.5}]}, False),
    "the_largest": (TWICE, GIVEN, OFF, {"tolerances": [{"atol": 1, "rtol": 1, "largest": 0.4}]}, False),
    "only_correlation": (TWICE, GIVEN, OFF, {"tolerances": [{"pcc": 0.98}]}, True),
    "nothing_asserted": (TWICE, GIVEN, FAR, {"asserted": False}, True),
    "the_first_alone": (TWICE, GIVEN, {"0": EXACT["0"]}, {"expects_first": True}, True),
    "too_few": (TWICE, GIVEN, {"0": EXACT["0"]}, {}, False),
    "a_check": (TWICE, GIVEN, None, {"checks": [{"kind": "close", "actual": 1, "expected": 1, "max_ulps": 0}]}, True),
    "a_failed_check": (TWICE, GIVEN, EXACT, {"checks": [EQUAL]}, False),
    "devices": (SUM, BY_DEVICE, BOTH, {"replicas": 2}, True),
    "wrong_on_one_device": (SUM, BY_DEVICE, ONE_WRONG, {"replicas": 2}, False),
    "a_check_of_a_device": (SUM, BY_DEVICE, BOTH, {"replicas": 2, "checks": [{**EQUAL, "expected": 0, "device": 1}]}, True),
    "whole_numbers": (WHOLE, {"0": [1, 2, 3]}, {"0": [1, 2, 4]}, {"tolerance": {"pcc": 0.5, "atol": 9}}, False),
}


@check
def cupel_and_cupel_device_judge_alike(folder: Path) -> None:
    cases = folder / "cases"
    for name, (program, given, expected, options, _) in VERDICTS.items():
        path = cases / name
        path.mkdir(parents=True)
        source = folder / f"{name}.mlir"
        source.write_text(program)
        written = cupel("opt", source, "--emit=portable", "-o", path / "program.mlirbc")
        assert written.returncode == 0, written.stdout
        kind = "i" if program is WHOLE else "f"
        (path / "inputs.safetensors").write_bytes(safetensors(given, kind))
        if expected is not None:
            (path / "expected.safetensors").write_bytes(safetensors(expected, kind))
        (path / "options.json").write_text(json.dumps(options))
    listed = cupel("list", cases, "--format", "ids")
    assert sorted(listed.stdout.split()) == sorted(f"workloads::{name}" for name in VERDICTS), listed.stdout
    on_plugin = records(folder, cases, "--device", f"{OURS}?num_devices=2")
    on_reference = records(folder, cases)
    for name, (_, _, _, _, passes) in VERDICTS.items():
        device = on_device(folder, cases / name, OURS, options=("num_devices=2",))
        verdicts = [on_plugin[name]["outcome"] == "passed", on_reference[name]["outcome"] == "passed", device["outcome"] == "passed"]
        assert verdicts == [passes] * 3, (name, on_plugin[name], on_reference[name], device)


# --- Where, how much, and what goes wrong ---------------------------------------------------------


@check
def where_they_go(folder: Path) -> None:
    (folder / "add.mlir").write_text(ADD)
    junit = folder / "junit.xml"
    done = cupel("run", folder / "add.mlir", "--device", FAULTY, "--keep-failed", folder / "here", "--results", folder / "results", "--junitxml", junit,
                 fault="later-echo")
    kept = folder / "here/programs-add.mlir"
    assert f"again: cupel run {kept} --device {FAULTY}" in done.stdout, done.stdout
    case = ElementTree.parse(junit).find(".//testcase")
    text = "".join(case.itertext())
    assert f"cupel-device run {kept} --plugin {FAULTY}" in text, text
    assert [p.get("value") for p in case.iter("property") if p.get("name") == "reproduction"] == [str(kept)], text
    assert sorted(path.name for path in (folder / "here").iterdir()) == ["programs-add.mlir"]
    none = only(folder, folder / "add.mlir", "--device", FAULTY, "--keep-failed=none", fault="later-echo")
    assert none["outcome"] == "failed" and "reproduction" not in none, none
    assert not (folder / "results/failed").exists(), list((folder / "results").iterdir())
    passed = only(folder, folder / "add.mlir", "--device", "cupel")
    assert passed["outcome"] == "passed" and passed["comparisons"][0]["passed"] and not (folder / "results/failed").exists(), passed


@check
def large_ones_only_if_asked_for(folder: Path) -> None:
    size = 20 << 20  # Elements of f32: 80 MiB.
    (folder / "large.mlir").write_text(f"func.func @main(%a: tensor<{size}xf32>) -> tensor<{size}xf32> {{\n"
                                       f"  %0 = stablehlo.negate %a : tensor<{size}xf32>\n  return %0 : tensor<{size}xf32>\n}}\n")
    first = only(folder, folder / "large.mlir", "--device", FAULTY, fault="later-echo")
    assert first["outcome"] == "failed" and "reproduction" not in first, first
    assert "more than the 64 MiB" in first["notes"]["not kept"], first["notes"]
    asked = only(folder, folder / "large.mlir", "--device", FAULTY, "--keep-failed", folder / "kept", fault="later-echo")
    assert Path(asked["reproduction"], "expected.safetensors").stat().st_size > 80 << 20, asked


@check
def places_that_cannot_be_written_cost_no_outcome(folder: Path) -> None:
    (folder / "add.mlir").write_text(ADD)
    (folder / "file").write_text("")
    done = cupel("run", folder / "add.mlir", "--device", FAULTY, "--keep-failed", folder / "file/in", "--results", folder / "results", "--json",
                 folder / "report.json", fault="later-echo")
    record = json.loads((folder / "report.json").read_text())["tests"][0]
    assert done.returncode == 1 and record["outcome"] == "failed" and "cannot be created" in record["notes"]["not kept"], (done.stdout, record)
    assert "could not be kept" in done.stdout, done.stdout


@check
def a_full_disk_leaves_no_half_folder(folder: Path) -> None:
    """In a file system of 64 KiB, where that can be mounted."""
    (folder / "p.mlir").write_text("func.func @main(%a: tensor<65536xf32>) -> tensor<65536xf32> {\n"
                                   "  %0 = stablehlo.negate %a : tensor<65536xf32>\n  return %0 : tensor<65536xf32>\n}\n")
    small = folder / "small"
    small.mkdir()
    run = f"'{BUILD}/bin/cupel' run '{folder}/p.mlir' --device '{FAULTY}' --keep-failed '{small}' --results '{folder}/results' --json '{folder}/r.json'"
    done = subprocess.run(["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o size=64k none '{small}' || exit 77; {run}; ls -A '{small}' >'{folder}/left'"],
                          env={**os.environ, "CUPEL_FAULT": "later-echo"}, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
    if not (folder / "left").exists():
        raise Skip("no file system can be mounted here")
    record = json.loads((folder / "r.json").read_text())["tests"][0]
    assert record["outcome"] == "failed" and "No space left" in record["notes"]["not kept"], (done.stdout, record)
    assert (folder / "left").read_text() == "", (folder / "left").read_text()


@check
def an_interrupt_keeps_outcomes_and_whole_folders(folder: Path) -> None:
    programs = folder / "programs"
    programs.mkdir()
    count = 1500
    for i in range(count):
        (programs / f"p{i:04}.mlir").write_text(ADD)
    interrupted = 0
    for delay in (0.4, 0.6, 0.9):
        kept = folder / f"kept{delay}"
        run = subprocess.Popen([BUILD / "bin/cupel", "run", programs, "--device", FAULTY, "-j", "2", "--keep-failed", kept, "--results", folder / "results",
                                "--json", folder / "r.json"], env={**os.environ, "CUPEL_FAULT": "later-echo"}, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
        time.sleep(delay)
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=120)
        tests = json.loads((folder / "r.json").read_text())["tests"]
        assert len(tests) == count, out
        interrupted += any(record["outcome"] == "not run" for record in tests)
        for record in tests:
            if record["outcome"] == "failed" and "reproduction" not in record:
                assert record["notes"]["not kept"] == "the run was interrupted", record
        for path in kept.iterdir() if kept.exists() else ():
            assert not path.name.startswith(".") and (path / "inputs.safetensors").exists(), path
    assert interrupted, "every run was over before it was interrupted"


def main() -> int:
    failed, skipped = 0, 0
    wanted = sys.argv[1:]
    chosen = [c for c in CHECKS if not wanted or any(w in c.__name__ for w in wanted)]
    for test in chosen:
        with tempfile.TemporaryDirectory(prefix="cupel-check-kept-") as folder:
            try:
                test(Path(folder))
            except Skip as reason:
                skipped += 1
                print(f"SKIPPED {test.__name__}: {reason}")
            except Exception as error:  # noqa: BLE001 - every kind of failure is one line
                failed += 1
                print(f"FAILED {test.__name__}: {type(error).__name__}: {str(error)[:3000]}")
    print(f"{len(chosen) - failed - skipped} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
