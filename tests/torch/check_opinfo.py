"""Runs the cases that export_opinfo.py made on the golden reference and compares each outcome with what is expected of it.

usage: check_opinfo.py BUILD/bin FOLDER/DTYPE [--accept]

tests/torch/expected-DTYPE.tsv lists every case that does not pass, with its outcome (failed, refused: never, refused: not yet);
a case that is refused, crashes or hangs other than that file says fails. Numbers are judged less strictly, since torch's own
results vary with the processor's vector units: a listed failure may pass, and up to UNLISTED others may fail, all of them printed.
The shares that must pass are checked as well: of all cases, and
of those that need core ATen only (core-samples.txt, made by export_opinfo.py --core and --accept-core). Ends with `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORE = HERE / "core-samples.txt"
# The least share that passes: of all deterministic cases with static shapes, and of those that need core ATen only.
LEAST = {"float32": (0.92, 0.98), "bfloat16": (0.90, 0.0), "int32": (0.90, 0.0)}
LINE = re.compile(r"^(PASSED|FAILED|REFUSED\(([^)]*)\)) (\S+?)(?:: (.*))?$")
UNLISTED = 4
CHUNK = 60
LIMIT_S = 300


def run_chunk(worker: Path, files: list[Path]) -> dict[str, tuple[str, str]]:
    """Outcome and message by case. A process that dies costs the case it was at; the rest goes to a new one."""
    outcomes: dict[str, tuple[str, str]] = {}
    rest = list(files)
    while rest:
        try:
            run = subprocess.run([worker, "pt2-cases", *rest], capture_output=True, text=True, errors="replace", timeout=LIMIT_S, check=False)
            output, ended = run.stdout, f"crashed ({run.returncode})"
        except subprocess.TimeoutExpired as error:
            output, ended = (error.stdout or b"").decode(errors="replace"), "hung"
        done = 0
        for line in output.splitlines():
            if match := LINE.match(line):
                kind, reason, _, message = match.groups()
                file = rest[done]
                outcomes[f"{file.parent.name}/{file.stem}"] = (f"refused: {reason}" if reason else kind.lower(), message or "")
                done += 1
        if done < len(rest):
            file = rest[done]
            outcomes[f"{file.parent.name}/{file.stem}"] = (ended, "")
            done += 1
        rest = rest[done:]
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--accept", action="store_true", help="write what is expected from this run")
    parser.add_argument("--accept-core", action="store_true", help="write core-samples.txt from a folder made with --core")
    options = parser.parse_args()

    files = sorted(options.folder.glob("*/*.pt2"))
    if not files:
        print(f"{options.folder} holds no cases; export_opinfo.py makes them\n0 passed, 1 failed")
        return 1
    if options.accept_core:
        core = [f"{f.parent.name}/{f.stem}" for f in files if json.loads(f.with_suffix(".case.json").read_text()).get("core")]
        CORE.write_text("".join(f"{name}\n" for name in core))
        print(f"{len(core)} of {len(files)} need core ATen only")
        return 0
    chunks = [files[i : i + CHUNK] for i in range(0, len(files), CHUNK)]
    outcomes: dict[str, tuple[str, str]] = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for part in pool.map(lambda chunk: run_chunk(options.bin / "cupel-worker", chunk), chunks):
            outcomes |= part
    dtype = options.folder.name
    table = HERE / f"expected-{dtype}.tsv"
    if options.accept:
        table.write_text("".join(f"{name}\t{outcome}\n" for name, (outcome, _) in sorted(outcomes.items()) if outcome != "passed"))
    expected = dict(line.split("\t") for line in table.read_text().splitlines()) if table.exists() else {}
    failed = unlisted = 0
    for name, (outcome, message) in sorted(outcomes.items()):
        if outcome != (wanted := expected.get(name, "passed")):
            if {outcome, wanted} == {"passed", "failed"}:
                unlisted += outcome == "failed"
                failed += outcome == "failed" and unlisted > UNLISTED
            else:
                failed += 1
            print(f"{name}: {outcome}, expected {wanted}{': ' + message if message else ''}")
    for name in sorted(set(expected) - set(outcomes)):
        failed += 1
        print(f"{name}: is in {table.name} but was not run")
    core = set(CORE.read_text().split()) & set(outcomes) if dtype == "float32" and CORE.exists() else set()
    for what, names, least in (("all", set(outcomes), LEAST[dtype][0]), ("core ATen only", core, LEAST[dtype][1])):
        if not names:
            continue
        passed = sum(outcomes[name][0] == "passed" for name in names)
        print(f"{dtype}, {what}: {passed} of {len(names)} = {passed / len(names):.2%} (at least {least:.0%})")
        failed += passed < least * len(names)
    print(f"{len(outcomes) - min(failed, len(outcomes))} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
