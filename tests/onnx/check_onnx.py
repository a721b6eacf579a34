"""Runs ONNX's backend tests on the golden reference and compares each outcome with tests/onnx/expected.tsv.

A case that passes, fails, is refused or crashes other than that file says fails the suite; --accept writes the file anew.
Cases run in chunks in worker processes; a crash or a hang costs one case. The last line is `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import os
import re
import select
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "expected.tsv"
CHUNK = 40
CASE_LIMIT_S = 150
LINE = re.compile(r"^(PASSED|FAILED|REFUSED\(([^)]*)\)) (\S+?)(?:: (.*))?$")


def run_chunk(worker: Path, folders: list[Path]) -> list[tuple[Path, str, str]]:
    """(folder, outcome, message) of each case; outcome is passed, failed, refused: REASON, crashed or hung."""
    results: list[tuple[Path, str, str]] = []
    while len(results) < len(folders):
        rest = folders[len(results):]
        with subprocess.Popen([worker, "onnx-cases", *rest], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              text=True, errors="replace") as process:
            assert process.stdout is not None and process.stderr is not None
            ended = ""
            done = 0
            while done < len(rest):
                ready, _, _ = select.select([process.stdout], [], [], CASE_LIMIT_S)
                line = process.stdout.readline() if ready else ""
                if not line:
                    ended = "crashed" if ready else "hung"
                    break
                match = LINE.match(line.rstrip("\n"))
                if match is None:
                    continue
                kind, reason, _, message = match.groups()
                outcome = f"refused: {reason}" if reason else kind.lower()
                results.append((rest[done], outcome, message or ""))
                done += 1
            if ended:
                process.kill()
                said = process.stderr.read().strip().splitlines()
                results.append((rest[done], ended, said[0][:300] if said else ""))
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path, help="the folder of cupel-worker")
    parser.add_argument("cases", type=Path, help="what generate_cases.py wrote")
    parser.add_argument("--accept", action="store_true", help="write expected.tsv from this run")
    parser.add_argument("--only", default="", metavar="REGEX", help="cases whose KIND/NAME matches; nothing else is checked")
    parser.add_argument("--verbose", action="store_true", help="print every case that did not pass")
    options = parser.parse_args()

    folders = sorted(model.parent for model in options.cases.glob("*/*/model.onnx"))
    names = {folder: f"{folder.parent.name}/{folder.name}" for folder in folders}
    folders = [folder for folder in folders if re.search(options.only, names[folder])]
    chunks = [folders[i:i + CHUNK] for i in range(0, len(folders), CHUNK)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        results = [row for rows in pool.map(lambda chunk: run_chunk(options.bin / "cupel-worker", chunk), chunks) for row in rows]
    if not results:
        print("no case was found")
        return 1
    if options.verbose:
        for folder, outcome, message in results:
            if outcome != "passed":
                print(f"{outcome}\t{names[folder]}\t{message}")
    counts = collections.Counter(outcome for _, outcome, _ in results)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()) + f" of {len(results)} cases")
    if options.accept:
        EXPECTED.write_text("".join(f"{names[folder]}\t{outcome}\n" for folder, outcome, _ in results))
        print(f"{EXPECTED} is written")
    expected = dict(line.split("\t") for line in EXPECTED.read_text().splitlines()) if EXPECTED.exists() else {}
    wrong = 0
    for folder, outcome, message in results:
        wanted = expected.pop(names[folder], "absent")
        if outcome != wanted:
            wrong += 1
            print(f"{names[folder]}: {outcome}, where expected.tsv says {wanted}: {message}")
    if not options.only:
        for name in expected:
            wrong += 1
            print(f"{name}: is in expected.tsv, but there is no such case")
    print(f"{len(results) - min(wrong, len(results))} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
