"""Runs the cases that export_opinfo.py made on the golden reference and compares each outcome with what is expected of it.

usage: check_opinfo.py BUILD/bin FOLDER/DTYPE [--accept]

tests/torch/expected-DTYPE.tsv lists every case that does not pass, with its outcome (failed, refused: never, refused: not yet) and, of
a failure, what its message begins with (which output, how). Any other outcome fails, and so does another message: a listed case
cannot go wrong in a new way unseen. It may pass, since torch's own results vary with the processor's vector units.

For the same reason tests/torch/tolerances.tsv names operators (DTYPE, operator, rtol, atol, why) of which torch's own result is further
from the truth than OpInfo's tolerance: a case of theirs that fails is judged again within that bound, and fails if it is beyond. An operator that is not
named there has OpInfo's tolerance alone. Where torch computes otherwise on your processor and the reference is right, add a line.

The shares that must pass are checked as well, at OpInfo's tolerances: of all cases, and of those that need core ATen only
(core-samples.txt, made by export_opinfo.py --core and --accept-core). Ends with `N passed, N failed[, N refused][, N skipped]`; skipped are
listed failures that fail as they are listed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CORE = HERE / "core-samples.txt"
# The least share that passes: of all deterministic cases with static shapes, and of those that need core ATen only.
LEAST = {"float32": (0.92, 0.98), "bfloat16": (0.90, 0.0), "int32": (0.90, 0.0)}
LINE = re.compile(r"^(PASSED|FAILED|REFUSED\(([^)]*)\)) (\S+?)(?:: (.*))?$")
TOLERANCES = HERE / "tolerances.tsv"
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


def bounds(dtype: str) -> dict[str, tuple[float, float]]:
    """rtol and atol of the operators that have their own, by OpInfo's name."""
    rows = [line.split("\t") for line in TOLERANCES.read_text().splitlines() if line and not line.startswith("#")]
    return {row[1]: (float(row[2]), float(row[3])) for row in rows if row[0] == dtype}


def judged_again(worker: Path, file: Path, rtol: float, atol: float) -> tuple[str, str]:
    """The outcome of a case within another bound."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / file.parent.name
        folder.mkdir()
        for ending in (".pt2", ".inputs.safetensors", ".expected.safetensors"):
            if (source := file.with_name(file.stem + ending)).exists():
                (folder / source.name).symlink_to(source.resolve())
        (folder / f"{file.stem}.case.json").write_text(json.dumps({"rtol": rtol, "atol": atol}))
        return run_chunk(worker, [folder / file.name])[f"{file.parent.name}/{file.stem}"]


def beginning(message: str) -> str:
    """Which output is wrong, and how, without the numbers, which may vary."""
    match = re.match(r"(output \d+): (all elements are expected to be NaN)?", message)
    return match.group(0).rstrip(": ") if match else message.split(":")[0]


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
    own, again, by_name = bounds(dtype), {}, {f"{file.parent.name}/{file.stem}": file for file in files}
    for name, (outcome, _) in outcomes.items():
        operator = name.rpartition("/")[0]
        if outcome == "failed" and operator in own:
            again[name] = judged_again(options.bin / "cupel-worker", by_name[name], *own[operator])
    if options.accept:
        table.write_text("".join(f"{name}\t{outcome}" + (f"\t{beginning(message)}" if outcome == "failed" else "") + "\n"
                                 for name, (outcome, message) in sorted(outcomes.items()) if again.get(name, (outcome,))[0] != "passed"))
    rows = [line.split("\t") for line in table.read_text().splitlines()] if table.exists() else []
    expected = {row[0]: (row[1], row[2] if len(row) > 2 else "") for row in rows}
    passed = failed = refused = listed = 0
    for name, (outcome, message) in sorted(outcomes.items()):
        wanted, how = expected.get(name, ("passed", ""))
        if outcome == "passed" and wanted in ("passed", "failed"):
            passed += 1
            continue
        if name in again:
            rtol, atol = own[name.rpartition("/")[0]]
            if again[name][0] == "passed":
                passed += 1
                continue
            message = f"also within its operator's own rtol {rtol:g}, atol {atol:g}: {again[name][1]}"
        elif outcome == wanted and outcome.startswith("refused"):
            refused += 1
            continue
        elif outcome == wanted and how and message.startswith(how):
            listed += 1
            print(f"SKIPPED {name}: it differs as {table.name} says: {message}")
            continue
        failed += 1
        print(f"{name}: {outcome}, expected {wanted}{f' ({how} ...)' if how else ''}{': ' + message if message else ''}")
    for name in sorted(set(expected) - set(outcomes)):
        failed += 1
        print(f"{name}: is in {table.name} but was not run")
    core = set(CORE.read_text().split()) & set(outcomes) if dtype == "float32" and CORE.exists() else set()
    for what, names, least in (("all", set(outcomes), LEAST[dtype][0]), ("core ATen only", core, LEAST[dtype][1])):
        if not names:
            continue
        share = sum(outcomes[name][0] == "passed" for name in names) / len(names)
        print(f"{dtype}, {what}: {share:.2%} of {len(names)} (at least {least:.0%})")
        failed += share < least
    counts = (passed, "passed"), (failed, "failed"), (refused, "refused"), (listed, "skipped")
    print(", ".join(f"{count} {word}" for count, word in counts if count or word in ("passed", "failed")))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
