#!/usr/bin/env python3
"""Runs the programs of our suites on devices that are right, by the strict rule, and counts what it flags: nothing may be.

usage: check_right.py BUILD [--full [--seconds N] [--jobs N] [--kept FILE]] [--sample N] [--only CORPUS] [--device WORD] [--page FILE] [--verbose]. Ends with
`N passed, N failed`.

Programs are ONNX's own cases and models, OpInfo's samples as archives, programs of JAX, models of torch, and those that ship; what the other suites have
not made yet is left out and named. Without --full a sample of each is taken. Devices: the compiled one, which adds in another order than the reference and
fuses; the same with last bits that vary from run to run; and, in front of it, programs rewritten as other right devices compute them (RightRewrites.h):
sums from the other end, fast mathematics, sums of products rounded once, products in tf32 or bf16 with sums in f32, everything in bf16, these three declared;
and the reference's kernels with sums from the other end.

A full run is done in slices: what is done is kept in BUILD/right-devices.json (or --kept FILE) as long as the build is the same, with --seconds it begins no
slice after that time (exit code 75, as long as something is left), and the same command goes on. Builds are told apart by the contents of their files, so
that a part of the work can be done on another machine and what it kept be brought back; --seconds 0 does nothing more and says what there is. --jobs N runs so
many slices at once, with one worker each. --page writes the table of the page docs/reference/detection.md; what was not run to its end is named below it.

A result that differs from the values of a file as far as the reference's own does is counted apart: that is the file's error (numbers with four digits,
sums in another precision), and no device can help it. They are few, and more of them fail the check.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import hashlib
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARSER = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
PARSER.add_argument("build", type=Path)
PARSER.add_argument("--full", action="store_true", help="all programs, not a sample of each kind")
PARSER.add_argument("--seconds", type=float, help="with --full: begin nothing after so long, to be gone on with")
PARSER.add_argument("--jobs", type=int, default=1, help="so many slices at once, of one worker each (1: one after the other, with a worker a core)")
PARSER.add_argument("--kept", type=Path, help="with --full: where is kept what is done (BUILD/right-devices.json)")
PARSER.add_argument("--sample", type=int, default=20, help="about how many of each kind, without --full")
PARSER.add_argument("--only", help="one corpus, by the beginning of its name")
PARSER.add_argument("--device", help="devices with this word in their name")
PARSER.add_argument("--page", type=Path, help="with --full: the page whose table of right devices this writes")
PARSER.add_argument("--verbose", action="store_true", help="name whatever was not judged")
OPTIONS = PARSER.parse_args()
BUILD = OPTIONS.build.resolve()
# Programs of JAX are for up to eight devices.
PLANTER = f"{BUILD / 'lib/planter_plugin.so'}?num_devices=8&backend=cpu"
REWRITER = f"{BUILD / 'lib/operation_planter.so'}?num_devices=8&backend="
DEVICES = {"compiled": "cupel?num_devices=8&backend=cpu", "compiled, last bits vary": f"{PLANTER}&fault=right_varies",
           "sums reassociated": f"{REWRITER}cpu&right=reassociated", "fast mathematics": f"{REWRITER}cpu&right=fast",
           "sums of products rounded once": f"{REWRITER}cpu&right=fused", "products in tf32, declared": f"{REWRITER}cpu&right=products_in_tf32&precision=tf32/f32",
           "products in bf16, declared": f"{REWRITER}cpu&right=products_in_bf16&precision=bf16/f32",
           "everything in bf16, declared": f"{REWRITER}cpu&right=in_bf16&precision=bf16", "reference kernels, sums reassociated": f"{REWRITER}reference&right=reassociated"}
# Verdicts of which classes are alarms; how many expected values may be worse than the reference, of all.
ALARMS = {"wrong_result", "stale_result", "not_deterministic"}
MOST_OFF = 0.02
IS_OFF = "the reference is off as far"
SLICE = 100  # Programs: some seconds.
GO_ON = 75
BEGIN, END = "<!-- right devices: begin -->", "<!-- right devices: end -->"


def corpora() -> dict[str, list[Path]]:
    """Tests by kind: files, or folders that are one test."""
    cases = BUILD / "onnx-cases"
    onnx = [path for kind in ("node", "simple", "pytorch-converted", "pytorch-operator") if (cases / kind).is_dir() for path in sorted((cases / kind).iterdir())]
    found = {f"OpInfo {dtype}": sorted((BUILD / "torch-cases" / dtype).glob("*/*.pt2")) for dtype in ("float32", "bfloat16", "int32")}
    found["models of torch"] = sorted((BUILD / "torch-programs/programs").glob("**/*.pt2"))
    found["JAX"] = jax_programs()
    found["programs that ship"] = sorted((ROOT / "zoo/programs").glob("*.mlir")) + sorted((ROOT / "tests/planter/models").glob("*.*"))
    found["ONNX models"] = sorted((BUILD / "onnx-models").glob("*/model.onnx")) if (BUILD / "onnx-models").is_dir() else []
    found["ONNX cases"] = onnx
    return {name: paths for name, paths in found.items() if not OPTIONS.only or name.startswith(OPTIONS.only)}


def jax_programs() -> list[Path]:
    """Those that are portable: of the others tests/jax says why they are refused. One is of sizes that are symbols: it gets inputs."""
    rows = [line.split("\t") for line in (ROOT / "tests/jax/data/index.tsv").read_text().splitlines()]
    folder = BUILD / "right-programs"
    folder.mkdir(exist_ok=True)
    for name in sorted(row[0] for row in rows if row[3] == "read"):
        shutil.copy(ROOT / "tests/jax/data" / name, folder / name)
        if name.startswith("polymorphic"):
            numbers = [math.sin(3 * i) for i in range(4 * 6)]
            header = json.dumps({"0": {"dtype": "F32", "shape": [4, 6], "data_offsets": [0, 4 * len(numbers)]}}).encode()
            header += b" " * (-len(header) % 8)
            stem = name.removesuffix(".bc").removesuffix(".mlir")
            (folder / f"{stem}.inputs.safetensors").write_bytes(struct.pack(f"<Q{len(header)}s{len(numbers)}f", len(header), header, *numbers))
    return sorted(path for path in folder.iterdir() if path.suffix in (".bc", ".mlir"))


def sampled(paths: list[Path]) -> list[Path]:
    return paths if OPTIONS.full or len(paths) <= OPTIONS.sample else paths[:: len(paths) // OPTIONS.sample + 1]


def run(paths: list[Path], device: str) -> list[dict]:
    with tempfile.TemporaryDirectory(prefix="cupel-right-") as folder:
        report = Path(folder) / "report.json"
        command = [BUILD / "bin/cupel", "run", *paths, "--strict", "--device", device, "--results", f"{folder}/results", "--json", report, "--keep-failed", "none", "--quiet"]
        # Beside others each has one core.
        alone = OPTIONS.jobs == 1
        environment = os.environ if alone else os.environ | {"CUPEL_NUM_THREADS": "1"}
        done = subprocess.run([str(word) for word in command + ([] if alone else ["-j", "1"])], capture_output=True, text=True, env=environment)
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
        self.file = OPTIONS.kept or BUILD / "right-devices.json"
        self.lock = threading.Lock()
        binaries = [BUILD / "bin/cupel", BUILD / "bin/cupel-worker", BUILD / "lib/pjrt_plugin_cupel.so", BUILD / "lib/operation_planter.so", BUILD / "lib/planter_plugin.so"]
        self.build = hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in binaries)).hexdigest()
        self.slices: dict[str, dict] = {}
        if OPTIONS.full and self.file.exists():
            read = json.loads(self.file.read_text())
            self.slices = read["slices"] if read["build"] == self.build else {}

    def add(self, key: str, found: Count) -> None:
        with self.lock:
            self.slices[key] = found.saved()
            if OPTIONS.full:
                fresh = self.file.with_suffix(".new")
                fresh.write_text(json.dumps({"build": self.build, "slices": self.slices}))
                fresh.replace(self.file)

    def of(self, keys: list[str]) -> Count | None:
        """All of them together, once all are there."""
        whole = Count()
        for key in keys:
            if not (kept := self.slices.get(key)):
                return None
            whole.add(Count(kept["numbers"], kept["flagged"], kept["off"], kept["others"]))
        return whole


@dataclasses.dataclass
class Slice:
    key: str
    paths: list[Path]
    device: str


def slices_of(corpus: str, device: str, paths: list[Path]) -> list[Slice]:
    return [Slice(f"{corpus}, {device}, {first} of {len(paths)}", paths[first:first + SLICE], DEVICES[device]) for first in range(0, len(paths), SLICE)]


def table(counts: dict[str, dict[str, Count]]) -> str:
    """Programs by corpus and device, as the page has them."""
    text = [BEGIN, "", "Every program of our suites, by the strict rule (`tests/planter/check_right.py BUILD --full --page docs/reference/detection.md`): judged results, and which of them",
            "were flagged. Where the values of a file are less exact than the reference, the device cannot help it; these are counted apart.", "",
            f"| programs | there are | {' | '.join(DEVICES)} | flagged | less exact values |", "|---|" + "---|" * (len(DEVICES) + 3)]
    whole_ones = {corpus: devices for corpus, devices in counts.items() if len(devices) == len(DEVICES)}
    missing = [corpus for corpus, paths in corpora().items() if corpus not in whole_ones]
    total = Count()
    by_device: collections.Counter[str] = collections.Counter()
    others = []
    for corpus, devices in whole_ones.items():
        whole = Count()
        by_device["there are"] += devices["compiled"]["run"]
        if devices["compiled"].others:
            others.append(f"- {corpus}: " + ", ".join(f"{count} {what}" for what, count in devices["compiled"].others.most_common()))
        for device, found in devices.items():
            whole.add(found)
            by_device[device] += found["judged"]
        total.add(whole)
        text.append(f"| {corpus} | {devices['compiled']['run']} | {' | '.join(str(devices[device]['judged']) for device in DEVICES)} | {len(whole.flagged)} | {len(whole.off)} |")
    text.append(f"| **all** | {' | '.join(f'**{by_device[device]}**' for device in ('there are', *DEVICES))} | **{len(total.flagged)}** | **{len(total.off)}** |")
    if others:
        text += ["", "What was not judged on the compiled device, by how it ended:", "", *others]
    if missing:
        text += ["", f"Not run to their end on all devices when this page was made: {', '.join(missing)}."]
    return "\n".join([*text, "", END])


def write_page(counts: dict[str, dict[str, Count]]) -> None:
    page = OPTIONS.page.read_text()
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    OPTIONS.page.write_text(before.rstrip() + "\n\n" + table(counts) + (after or "\n"))


def report(corpus: str, device: str, whole: Count) -> bool:
    holds = whole.holds()
    print(f"{corpus}, {device}: {whole['judged']} of {whole['run']} judged, {len(whole.flagged)} flagged, {len(whole.off)} whose expected values are less exact than the reference", flush=True)
    for line in whole.flagged:
        print(f"  FLAGGED {line}")
    for line in whole.off if OPTIONS.verbose or not holds else []:
        print(f"  off {line}")
    if OPTIONS.verbose:
        print(f"  not judged: {dict(whole.others)}")
    return holds


def main() -> int:
    passed = failed = left = 0
    kept = Kept()
    work: dict[tuple[str, str], list[Slice]] = {}
    for corpus, paths in corpora().items():
        if not paths:
            print(f"{corpus}: not made yet (the suites onnx and torch make them)")
            continue
        chosen = sampled(paths)
        work |= {(corpus, device): slices_of(corpus, device, chosen) for device in DEVICES if not OPTIONS.device or OPTIONS.device in device}
    counts: dict[str, dict[str, Count]] = {}
    began = time.monotonic()

    def run_slice(one: Slice) -> None:
        if one.key not in kept.slices and (OPTIONS.seconds is None or time.monotonic() - began < OPTIONS.seconds):
            kept.add(one.key, count(one.paths, one.device))

    with concurrent.futures.ThreadPoolExecutor(OPTIONS.jobs) as pool:
        running = {key: [pool.submit(run_slice, one) for one in slices] for key, slices in work.items()}
        for (corpus, device), slices in work.items():
            for future in running[corpus, device]:
                future.result()
            whole = kept.of([one.key for one in slices])
            if whole is None:
                left += sum(one.key not in kept.slices for one in slices)
                continue
            counts.setdefault(corpus, {})[device] = whole
            holds = report(corpus, device, whole)
            passed, failed = passed + holds, failed + (not holds)
    if left:
        print(f"{left} slices are left: the same command goes on")
    if OPTIONS.page:
        write_page(counts)
    print(f"{passed} passed, {failed} failed")
    return GO_ON if left else 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
