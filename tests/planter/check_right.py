#!/usr/bin/env python3
"""Runs the programs of our suites on devices that are right, by the strict rule, and counts what it flags: nothing may be.

usage: check_right.py BUILD [--full [--seconds N]] [--sample N] [--only CORPUS] [--device WORD] [--page FILE] [--verbose]. Ends with `N passed, N failed`.

Programs are ONNX's own cases and models, OpInfo's samples as archives, programs of JAX, models of torch, and those that ship; what the other suites have
not made yet is left out and named. Without --full a sample of each is taken. Devices: the compiled one, which adds in another order than the reference and
fuses; the same with last bits that vary from run to run; and, in front of it, programs rewritten as other right devices compute them (RightRewrites.h):
sums from the other end, fast mathematics, sums of products rounded once, products in tf32 or bf16 with sums in f32, everything in bf16, these three declared;
and the reference's kernels with sums from the other end.

A full run is done in slices: what is done is kept in BUILD/right-devices.json as long as the build is the same, with --seconds it ends after about that
time (exit code 75, as long as something is left), and the same command goes on. --page writes the table of the page docs/reference/detection.md.

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
PARSER.add_argument("--seconds", type=float, help="with --full: end after about so long, to be gone on with")
PARSER.add_argument("--sample", type=int, default=20, help="about how many of each kind, without --full")
PARSER.add_argument("--only", help="one corpus, by the beginning of its name")
PARSER.add_argument("--device", help="devices with this word in their name")
PARSER.add_argument("--page", type=Path, help="with --full: the page whose table of right devices this writes")
PARSER.add_argument("--verbose", action="store_true", help="name whatever was not judged")
OPTIONS = PARSER.parse_args()
BUILD = OPTIONS.build.resolve()
PLANTER = f"{BUILD / 'lib/planter_plugin.so'}?backend=cpu"
REWRITER = f"{BUILD / 'lib/operation_planter.so'}?backend="
DEVICES = {"compiled": "cupel?backend=cpu", "compiled, last bits vary": f"{PLANTER}&fault=right_varies",
           "sums reassociated": f"{REWRITER}cpu&right=reassociated", "fast mathematics": f"{REWRITER}cpu&right=fast",
           "sums of products rounded once": f"{REWRITER}cpu&right=fused", "products in tf32, declared": f"{REWRITER}cpu&right=products_in_tf32&precision=tf32/f32",
           "products in bf16, declared": f"{REWRITER}cpu&right=products_in_bf16&precision=bf16/f32",
           "everything in bf16, declared": f"{REWRITER}cpu&right=in_bf16&precision=bf16", "reference kernels, sums reassociated": f"{REWRITER}reference&right=reassociated"}
# Verdicts of which classes are alarms; how many expected values may be worse than the reference, of all.
ALARMS = {"wrong_result", "stale_result", "not_deterministic"}
MOST_OFF = 0.02
IS_OFF = "the reference is off as far"
SLICE = 500  # Programs: some tens of seconds.
GO_ON = 75
BEGIN, END = "<!-- right devices: begin -->", "<!-- right devices: end -->"


def corpora() -> dict[str, list[Path]]:
    """Tests by kind: files, or folders that are one test."""
    cases = BUILD / "onnx-cases"
    onnx = [path for kind in ("node", "simple", "pytorch-converted", "pytorch-operator") if (cases / kind).is_dir() for path in sorted((cases / kind).iterdir())]
    models = sorted((BUILD / "onnx-models").glob("*/model.onnx")) if (BUILD / "onnx-models").is_dir() else []
    found = {"ONNX cases": onnx, "ONNX models": models}
    for dtype in ("float32", "bfloat16", "int32"):
        found[f"OpInfo {dtype}"] = sorted((BUILD / "torch-cases" / dtype).glob("*/*.pt2"))
    found["models of torch"] = sorted((BUILD / "torch-programs/programs").glob("**/*.pt2"))
    found["JAX"] = sorted((ROOT / "tests/jax/data").glob("*.mlir.bc"))
    found["programs that ship"] = sorted((ROOT / "zoo/programs").glob("*.mlir")) + sorted((ROOT / "tests/planter/models").glob("*.*"))
    return {name: paths for name, paths in found.items() if not OPTIONS.only or name.startswith(OPTIONS.only)}


def sampled(paths: list[Path]) -> list[Path]:
    return paths if OPTIONS.full or len(paths) <= OPTIONS.sample else paths[:: len(paths) // OPTIONS.sample + 1]


def run(paths: list[Path], device: str) -> list[dict]:
    with tempfile.TemporaryDirectory(prefix="cupel-right-") as folder:
        report = Path(folder) / "report.json"
        command = [BUILD / "bin/cupel", "run", *paths, "--strict", "--device", device, "--results", f"{folder}/results", "--json", report, "--keep-failed", "none", "--quiet"]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if not report.exists():
            raise SystemExit(f"{device}: {done.stdout[-2000:]}{done.stderr[-2000:]}\n0 passed, 1 failed")
        return json.loads(report.read_text())["tests"]


class Count(collections.Counter):
    """What came of some programs on one device: how many ran and were judged, what was flagged (by name), what the files' values are to blame for."""

    def __init__(self, numbers: dict | None = None, flagged: list[str] = (), off: list[str] = (), others: dict | None = None) -> None:
        super().__init__(numbers or {})
        self.flagged, self.off, self.others = list(flagged), list(off), collections.Counter(others or {})

    def add(self, other: Count) -> None:
        self.update(other)
        self.flagged += other.flagged
        self.off += other.off
        self.others += other.others

    def holds(self) -> bool:
        return not self.flagged and len(self.off) <= max(1, MOST_OFF * self["judged"]) and self["judged"] > 0

    def saved(self) -> dict:
        return {"numbers": dict(self), "flagged": self.flagged, "off": self.off, "others": dict(self.others)}


def count(paths: list[Path], device: str) -> Count:
    tests = run(paths, device)
    judged = [test for test in tests if test["outcome"] == "passed" or test.get("error_class") in ALARMS]
    found = Count({"run": len(tests), "judged": len(judged)})
    for test in judged:
        if test["outcome"] != "passed":
            is_off = IS_OFF in (test.get("message") or "")
            (found.off if is_off else found.flagged).append(f"{test['id']}: {test.get('error_class')}: {(test.get('message') or '')[:420]}")
    found.others = collections.Counter(f"{test['outcome']} {test.get('error_class') or ''}".strip() for test in tests if test not in judged)
    return found


class Kept:
    """What slices of this build gave so far."""

    def __init__(self) -> None:
        self.file = BUILD / "right-devices.json"
        binaries = [BUILD / "bin/cupel", BUILD / "bin/cupel-worker", BUILD / "lib/pjrt_plugin_cupel.so", BUILD / "lib/operation_planter.so", BUILD / "lib/planter_plugin.so"]
        self.build = " ".join(f"{path.stat().st_size}-{path.stat().st_mtime_ns}" for path in binaries)
        self.slices: dict[str, dict] = {}
        if OPTIONS.full and self.file.exists():
            read = json.loads(self.file.read_text())
            self.slices = read["slices"] if read["build"] == self.build else {}

    def of(self, key: str, make) -> Count:
        if key in self.slices:
            kept = self.slices[key]
            return Count(kept["numbers"], kept["flagged"], kept["off"], kept["others"])
        found = make()
        self.slices[key] = found.saved()
        if OPTIONS.full:
            self.file.write_text(json.dumps({"build": self.build, "slices": self.slices}))
        return found


def table(counts: dict[str, dict[str, Count]]) -> str:
    """Programs by corpus and device, as the page has them."""
    text = [BEGIN, "", "Every program of our suites, by the strict rule (`tests/planter/check_right.py BUILD --full --page docs/reference/detection.md`): judged results, and which of them",
            "were flagged. Where the values of a file are less exact than the reference, the device cannot help it; these are counted apart.", "",
            f"| programs | {' | '.join(DEVICES)} | flagged | less exact values |", "|---|" + "---|" * (len(DEVICES) + 2)]
    total = Count()
    by_device: collections.Counter[str] = collections.Counter()
    for corpus, devices in counts.items():
        whole = Count()
        for device, found in devices.items():
            whole.add(found)
            by_device[device] += found["judged"]
        total.add(whole)
        text.append(f"| {corpus} | {' | '.join(str(devices[device]['judged']) for device in DEVICES)} | {len(whole.flagged)} | {len(whole.off)} |")
    text.append(f"| **all** | {' | '.join(f'**{by_device[device]}**' for device in DEVICES)} | **{len(total.flagged)}** | **{len(total.off)}** |")
    return "\n".join([*text, "", END])


def write_page(counts: dict[str, dict[str, Count]]) -> None:
    page = OPTIONS.page.read_text()
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    OPTIONS.page.write_text(before.rstrip() + "\n\n" + table(counts) + (after or "\n"))


def main() -> int:
    passed = failed = left = 0
    began, kept = time.monotonic(), Kept()
    counts: dict[str, dict[str, Count]] = {}
    for corpus, paths in corpora().items():
        if not paths:
            print(f"{corpus}: not made yet (the suites onnx and torch make them)")
            continue
        chosen = sampled(paths)
        for device, name in DEVICES.items():
            if OPTIONS.device and OPTIONS.device not in device:
                continue
            started, whole, is_whole = time.monotonic(), Count(), True
            for first in range(0, len(chosen), SLICE):
                key = f"{corpus}, {device}, {first} of {len(chosen)}"
                if OPTIONS.seconds and key not in kept.slices and time.monotonic() - began > OPTIONS.seconds:
                    left, is_whole = left + 1, False
                    continue
                whole.add(kept.of(key, lambda first=first, name=name: count(chosen[first:first + SLICE], name)))
            if not is_whole:
                continue
            counts.setdefault(corpus, {})[device] = whole
            holds = whole.holds()
            passed, failed = passed + holds, failed + (not holds)
            print(f"{corpus}, {device}: {whole['judged']} of {whole['run']} judged, {len(whole.flagged)} flagged, {len(whole.off)} whose expected values are less exact than the "
                  f"reference; {time.monotonic() - started:.0f} s", flush=True)
            for line in whole.flagged:
                print(f"  FLAGGED {line}")
            for line in whole.off if OPTIONS.verbose or not holds else []:
                print(f"  off {line}")
            if OPTIONS.verbose:
                print(f"  not judged: {dict(whole.others)}")
    if left:
        print(f"{left} slices are left: the same command goes on")
    elif OPTIONS.page:
        write_page(counts)
    print(f"{passed} passed, {failed} failed")
    return GO_ON if left else 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
