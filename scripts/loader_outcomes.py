#!/usr/bin/env python3
"""Writes the page about what becomes of the loaders of a zoo, from the JSON reports of runs over it.

usage: scripts/loader_outcomes.py REPORT.json... --zoo NAME [--add] --out docs/reference/loader-outcomes.md

Of a test that several reports hold the last one counts that got it to an end. The page has counts by outcome and reason, how models were
captured, and each test with its smallest correlation; nothing of the loaders themselves. Of a framework and mode (PyTorch's inference, JAX's training) that no report
holds a test of, the page keeps the section that it has; with --add it keeps what stands above the sections (of it the paragraphs on the runs, unless --note has others),
and the rows of single tests that no report got to an end.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Test = dict[str, Any]
NO_END = ("interrupted", "not run")
FRAMEWORKS = {"pytorch": "PyTorch", "jax": "JAX", "bounty_jax": "JAX", "onnx": "ONNX"}
# In the order of the page.
SECTIONS = [f"{framework}, {mode}" for framework in dict.fromkeys(FRAMEWORKS.values()) for mode in ("inference", "training")]


def section_of(test: Test) -> str:
    """By the folder that a loader stands in."""
    folder = re.search(rf"/({'|'.join(FRAMEWORKS)})(?=-)", test["id"])
    return f"{FRAMEWORKS[folder[1]] if folder else 'PyTorch'}, {test['run_mode']}"


def read(reports: Iterable[Path]) -> tuple[list[Test], set[str]]:
    """The tests by id, and the versions of torch they ran with."""
    found: dict[str, Test] = {}
    for report in reports:
        for test in json.loads(report.read_text())["tests"]:
            if test["id"] not in found or test["outcome"] not in NO_END:
                found[test["id"]] = test
    tests = [found[name] for name in sorted(found)]
    return tests, {notes["torch"] for test in tests if "torch" in (notes := test.get("notes", {}))}


def reason_of(test: Test) -> str:
    return test["reasons"][0]["name"] if test.get("reasons") else ""


def smallest_pcc(test: Test) -> float | None:
    found = [one["pcc"] for one in test.get("comparisons", []) if isinstance(one.get("pcc"), (int, float))]
    return round(min(found), 6) if found else None  # As the page has it, whose rows are sorted again.


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.0f} %)" if whole else "0"


def table(head: list[str], rows: Iterable[Iterable[object]]) -> list[str]:
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(map(str, row)) + " |" for row in rows), ""]


def section(title: str, tests: list[Test]) -> list[str]:
    captured = [test for test in tests if test.get("notes", {}).get("captured by")]
    judged = [test for test in tests if test.get("comparisons")]
    passed = [test for test in tests if test["outcome"] == "passed"]
    lines = [f"## {title}", "",
             f"Captured and lowered: {share(len(captured), len(tests))}. Judged, result by result: {share(len(judged), len(tests))}. "
             f"Passed: {share(len(passed), len(tests))}.", ""]
    outcomes = Counter((test["outcome"], reason_of(test)) for test in tests)
    lines += table(["outcome", "reason", "tests"], ((outcome, f"`{reason}`" if reason else "", count) for (outcome, reason), count in sorted(outcomes.items(), key=lambda row: (-row[1], row[0]))))
    ways = Counter(test["notes"]["captured by"] for test in captured)
    if ways:
        lines += table(["captured by", "tests"], ways.most_common())
    lines += table(["test", "outcome", "captured by", "graphs", "results", "smallest pcc"],
                   ((f"`{test['id']}`", test["outcome"] + (f", `{reason_of(test)}`" if reason_of(test) else ""), test.get("notes", {}).get("captured by", ""),
                     test.get("notes", {}).get("graphs", ""), len(test.get("comparisons", [])) or "", "" if (pcc := smallest_pcc(test)) is None else f"{pcc:.6f}")
                    for test in sorted(tests, key=lambda test: (test["outcome"] == "passed", smallest_pcc(test) if smallest_pcc(test) is not None else 2, test["id"]))))
    return lines


def kept_section(page: str, title: str) -> list[str]:
    """The section of a page that was made before; nothing where it has none."""
    _, found, rest = page.partition(f"## {title}\n")
    return [found.rstrip("\n"), *rest.partition("\n## ")[0].rstrip("\n").split("\n"), ""] if found else []


def test_of_row(row: str, mode: str) -> Test:
    """A test as its row in the page tells of it."""
    name, outcome, method, graphs, results, pcc = (cell.strip() for cell in row.strip().strip("|").split("|"))
    outcome, _, reason = outcome.partition(", ")
    comparisons: list[dict[str, Any]] = [{} for _ in range(int(results or 0))]
    if pcc and comparisons:
        comparisons[0]["pcc"] = float(pcc)
    notes = {key: value for key, value in (("captured by", method), ("graphs", graphs)) if value}
    reasons = [{"name": reason.strip("`")}] if reason else []
    return {"id": name.strip("`"), "run_mode": mode, "outcome": outcome, "reasons": reasons, "notes": notes, "comparisons": comparisons}


def with_rows_of(page: str, tests: list[Test]) -> list[Test]:
    """The tests, and those of the page that none of them replaces: one that came to no end replaces nothing."""
    before = {test["id"]: test for title in SECTIONS for row in kept_section(page, title) if row.startswith("| `") and row.count("|") == 7
              for test in [test_of_row(row, title.rpartition(" ")[2])]}
    return [test for test in tests if test["outcome"] not in NO_END or test["id"] not in before] + [
        test for name, test in before.items() if all(other["id"] != name or other["outcome"] in NO_END for other in tests)]


_LAST_OF_HEAD = "Failures come first, then what is nearest to its limit."


def kept_head(page: str, note: str) -> list[str]:
    """What stands above the sections of a page that was made before; nothing where there is none."""
    head, found, _ = page.partition("\n## ")
    fixed, last, notes = head.partition(_LAST_OF_HEAD)
    return [fixed + last, "", *([kept, ""] if (kept := note or notes.strip("\n")) else [])] if found and last else []


def page(tests: list[Test], torch: set[str], zoo: str, note: str, before: str = "", keeps_head: bool = False) -> str:
    lines = (kept_head(before, note) if keeps_head else []) or ["# Outcomes of loaders", "",
             f"What becomes of loaders of {zoo}, in their default variants, on our own device, against torch {', '.join(sorted(torch))} (JAX, ONNX Runtime where it is installed) on the CPU in the same dtype. Made by",
             "`scripts/loader_outcomes.py` from reports of `cupel run --zoo ZOO --device cupel --json REPORT`: run them again instead of changing this page.",
             _LAST_OF_HEAD, "", *([note, ""] if note else [])]
    for title in SECTIONS:
        chosen = [test for test in tests if section_of(test) == title]
        lines += section(title, chosen) if chosen else kept_section(before, title)
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=Path, metavar="REPORT")
    parser.add_argument("--zoo", required=True, help="how the page calls the zoo (with --add, the page says it already)")
    parser.add_argument("--note", default="", help="a paragraph on how the runs differ, or what was left out")
    parser.add_argument("--add", action="store_true", help="keep what the page says of the runs, and the rows of tests that no report got to an end")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    tests, torch = read(options.reports)
    if not tests:
        print("the reports hold no test", file=sys.stderr)
        return 1
    before = options.out.read_text() if options.out.exists() else ""
    options.out.write_text(page(with_rows_of(before, tests) if options.add else tests, torch, options.zoo, options.note, before, options.add))
    return 0


if __name__ == "__main__":
    sys.exit(main())
