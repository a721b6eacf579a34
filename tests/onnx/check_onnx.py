"""Runs ONNX's backend tests with `cupel run` and compares each outcome with tests/onnx/expected.tsv.

A case that passes, fails, is refused or crashes other than that file says fails the suite; --accept writes the file anew,
and operators.tsv with it. The last line is `N passed, N failed[, N refused]`: a refusal that is expected is no pass.
"""

from __future__ import annotations

import argparse
import collections
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "expected.tsv"
OPERATORS = HERE / "operators.tsv"
CONFIGURATION = HERE.parent.parent / "zoo/onnx/backend_suite.yaml"


def outcome_of(record: dict) -> str:
    """passed, failed, refused: REASON, crashed, ...; what the configuration says does not count."""
    refusal = record.get("notes", {}).get("refusal")
    if refusal:
        return "refused: " + refusal.removeprefix("never: ")
    return record["outcome"]


def run_suite(cupel: Path, cases: Path, words: list[str]) -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [cupel, "run", cases, "--suite", "onnx", "--config", CONFIGURATION, "--json", report, "--results", f"{folder}/results", "-q", *words]
        finished = subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL)
        if not report.exists():
            raise SystemExit(f"cupel run ended with {finished.returncode} and no report:\n{finished.stdout}{finished.stderr}")
        return json.loads(report.read_text())["tests"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path, help="the folder of cupel")
    parser.add_argument("cases", type=Path, help="what generate_cases.py wrote")
    parser.add_argument("--accept", action="store_true", help="write expected.tsv and operators.tsv from this run")
    parser.add_argument("--only", default="", metavar="EXPR", help="as -k of cupel run; only these cases are checked")
    parser.add_argument("--verbose", action="store_true", help="print every case that did not pass")
    options = parser.parse_args()

    held = dict(line.split("\t") for line in (options.cases / "operators-of-cases.tsv").read_text().splitlines())
    records = run_suite(options.bin / "cupel", options.cases, ["-k", options.only] if options.only else [])
    if not records:
        print("no case was found")
        return 1
    results = {record["id"]: (outcome_of(record), record.get("message", "")) for record in records}
    if options.verbose:
        for name, (outcome, message) in results.items():
            if outcome != "passed":
                print(f"{outcome}\t{name}\t{message}")
    counts = collections.Counter(outcome for outcome, _ in results.values())
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()) + f" of {len(results)} cases")
    if options.accept:
        EXPECTED.write_text("".join(f"{name}\t{outcome}\t{held[name]}\n" for name, (outcome, _) in sorted(results.items())))
        shutil.copyfile(options.cases / "operators.tsv", OPERATORS)
        print(f"{EXPECTED} and {OPERATORS} are written")
    expected = dict(line.split("\t", 1) for line in EXPECTED.read_text().splitlines())
    passed = wrong = refused = 0
    for name, (outcome, message) in results.items():
        wanted, _, operators = expected.pop(name, "absent").partition("\t")
        if outcome != wanted:
            wrong += 1
            print(f"{name}: {outcome}, where expected.tsv says {wanted}: {message}")
        elif operators != held[name]:
            wrong += 1
            print(f"{name}: its operators are {held[name]}, where expected.tsv says {operators}")
        elif outcome.startswith("refused"):
            refused += 1
        else:
            passed += 1
    if not options.only:
        for name in expected:
            wrong += 1
            print(f"{name}: is in expected.tsv, but there is no such case")
        if OPERATORS.read_text() != (options.cases / "operators.tsv").read_text():
            wrong += 1
            print("operators.tsv is not the list of operators of the onnx package; --accept writes it anew")
    print(f"{passed} passed, {wrong} failed" + (f", {refused} refused" if refused else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
