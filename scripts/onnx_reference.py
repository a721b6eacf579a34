"""docs/reference/onnx.md: what of ONNX is supported, from the outcomes of ONNX's own tests and the table of lowerings.

The outcomes are those of tests/onnx/expected.tsv, which `./test onnx` verifies by a run; nothing here is typed by hand.
"""

from __future__ import annotations

import collections
import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXPECTED = ROOT / "tests/onnx/expected.tsv"
OPERATORS = ROOT / "tests/onnx/operators.tsv"

INTRODUCTION = """# ONNX: what is supported

Made by `scripts/docs.py` from the outcomes of ONNX's own backend tests (`tests/onnx/expected.tsv`, which `./test onnx` verifies by a run) and
from the table of lowerings (`cupel ops --known`): change those, not this page.

`cupel run DIR` takes `.onnx` files. In ONNX's own layout (`model.onnx` with `test_data_set_*` beside it) each data set is a test and is judged
by the suite's bounds (every element within 1e-7 + 1e-3 * |expected|; 2^-6 in place of 1e-3 for bfloat16) unless the test configuration says
otherwise. [zoo/onnx/backend_suite.yaml](../../zoo/onnx/backend_suite.yaml) lists the tests of the suite whose stored data mislead, each with
the reason. Without data the inputs are made from the seed and the result of a device is compared with the reference's. Sizes that are symbols
are those of the data, else what `--shape NAME=2x3` says (of `run`, `compile` and `ops`; it says more than data of another shape, which are then left aside), else 1, with a note.
`cupel compile model.onnx` writes the program, `cupel ops model.onnx` says what a model is made of and where it fails.

A model that cannot be made into a program of static shapes is refused, for a reason that is one of two kinds: **never** (no such program can
say it; the test is skipped) or **not yet** (the work is not done; the test fails). A model that contradicts itself or the standard fails as invalid.
"""

NEVER = {
    "data-dependent shape": "a result's shape depends on values that are known only when the model runs",
    "strings": "strings as tensors",
    "sequences": "sequences or optionals as inputs or outputs of the model",
    "random": "a random stream that the stored result depends on",
    "image codec": "decoding of images",
    "other domain": "an operator of a set that Cupel does not know, refused by name",
}


def read_cases() -> list[tuple[str, str, list[str]]]:
    """(case, outcome, operators) of every case."""
    rows = []
    for line in EXPECTED.read_text().splitlines():
        name, outcome, operators = line.split("\t")
        rows.append((name, outcome, operators.split()))
    return rows


def split_version(operator: str) -> tuple[str, int]:
    name, _, version = operator.rpartition("-")
    return (name, int(version)) if name and version.isdigit() else (operator, 0)


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(header) + " |", "|" + "---|" * len(header), *("| " + " | ".join(row) + " |" for row in rows), ""]


def suite_section(cases: list[tuple[str, str, list[str]]]) -> list[str]:
    kinds = sorted({name.split("/")[0] for name, _, _ in cases})
    outcomes = [outcome for outcome, _ in collections.Counter(outcome for _, outcome, _ in cases).most_common()]
    rows = []
    for outcome in outcomes:
        counts = collections.Counter(name.split("/")[0] for name, found, _ in cases if found == outcome)
        reason = outcome.removeprefix("refused: ")
        meaning = NEVER.get(reason, "could be lowered, but is not" if reason == "not yet" else "")
        kind = "never: " if reason in NEVER else ""
        rows.append([kind + reason, *(str(counts[k] or "") for k in kinds), str(sum(counts.values())), meaning])
    rows.append(["all", *(str(sum(name.startswith(k + "/") for name, _, _ in cases)) for k in kinds), str(len(cases)), ""])
    return ["## The backend suite", "", "Cases of the onnx package by kind and outcome, on the golden reference.", "",
            *table(["outcome", *kinds, "all", ""], rows)]


def operator_rows(cases: list[tuple[str, str, list[str]]], known: dict[str, list[int]]) -> list[list[str]]:
    versions: dict[str, list[tuple[int, bool]]] = {}
    for line in OPERATORS.read_text().splitlines():
        name, version = line.split("\t")
        since, _, deprecated = version.partition(" ")
        versions.setdefault(name, []).append((int(since), bool(deprecated)))
    passed, total = collections.Counter(), collections.Counter()
    refused: dict[tuple[str, int], collections.Counter] = collections.defaultdict(collections.Counter)
    for _, outcome, operators in cases:
        for operator in operators:
            key = split_version(operator)
            total[key] += 1
            passed[key] += outcome == "passed"
            if outcome != "passed":
                refused[key][outcome.removeprefix("refused: ")] += 1
    for name, version in total:
        if name not in versions:  # of other domains
            versions[name] = sorted((v, False) for n, v in total if n == name)
    for name in known:
        versions.setdefault(name, [(since, False) for since in known[name]] or [(1, False)])
    rows = []
    for name in sorted(versions, key=lambda text: ("." in text, text.lower())):
        history = versions[name]
        for i, (since, deprecated) in enumerate(history):
            until = f"-{history[i + 1][0] - 1}" if i + 1 < len(history) and history[i + 1][0] - 1 > since else "" if i + 1 < len(history) else "+"
            key = (name, since)
            lowered = any(first <= since for first in known.get(name, []))
            state = "yes" if lowered else "no"
            if deprecated:
                state = "deprecated"
            why = ", ".join(f"{reason} {count}" for reason, count in refused[key].most_common())
            rows.append([f"`{name}`" if i == 0 else "", f"{since or 1}{until}", state, f"{passed[key]} / {total[key]}" if total[key] else "", why])
    return rows


def onnx_page(cupel: Path) -> str:
    listed = subprocess.run([cupel, "ops", "--known", "--format", "json"], capture_output=True, text=True)
    if listed.returncode != 0:
        raise SystemExit(f"error: cupel ops --known failed: {listed.stderr.strip()}")
    known = json.loads(listed.stdout)[".onnx"]
    cases = read_cases()
    rows = operator_rows(cases, known)
    lines = [INTRODUCTION, *suite_section(cases), "## Operators", "",
             "A row is one version of an operator: the opsets it holds for, whether there is a lowering, how many of the suite's cases whose model holds "
             "it pass, and why the others do not (the reason may lie with another operator of the same model). No figure means that no case holds it.", "",
             *table(["operator", "opset", "lowered", "cases passed", "the others"], rows)]
    return "\n".join(lines)
