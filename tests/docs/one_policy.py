"""Bounds of comparisons stand in one place: cupel/compare/Defaults.h says which hold where nobody names a number.

Used by check_docs.py. A line of cupel/ or python/cupel that speaks of a correlation, rtol, atol, a tolerance or closeness and has a number that could be a
bound (0.99, 1e-3, 0.01) is a default of its own, unless FILES say what the numbers of its file are. Comments, texts in quotes and tests are not looked at,
nor is code that is written out to run without Cupel. An entry of FILES that nothing needs is a complaint too.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORD = re.compile(r"pcc|rtol|atol|tolerance|closeness|allclose|isclose|relative_?l2", re.IGNORECASE)
NUMBER = re.compile(r"(?<![\w.])(?:0?\.9\d*|\d+(?:\.\d+)?e-\d+|0?\.0+[1-9]\d*|0x1p-\d+)(?!\w)")
QUOTED = re.compile(r'R"\w*\(.*?\)\w*"|"(?:[^"\\]|\\.)*"')
FILES = {
    "cupel/compare/Defaults.h": "the place",
    "cupel/ir/check/CallChecks.h": "checks that programs carry",
    "cupel/results/report/Changes.h": "when a figure of two runs is said to have moved",
    "cupel/testbench/triage/Movement.h": "the same",
    "cupel/testbench/triage/Explain.h": "how far below what was reached a threshold is proposed",
    "cupel/testbench/triage/Explain.cpp": "1e-9 against roundings of hundredths",
    "cupel/testbench/triage/Accept.cpp": "the same",
    "cupel/frontends/torch/ops/GenerateSpecialTables.py": "when a series has converged",
    "python/cupel/torch/captured.py": "1e-6 against tensors of zeros",
}
ELSEWHERE = ("Test.cpp", "TestRun.h", "TestTensors.h", "testdata/", "cupel/compiler/standalone/cpp_ops/", "cupel/compiler/standalone/python_ops/", "Defaults.cpp")


def sources() -> dict[str, str]:
    found = [path for folder, kinds in (("cupel", ("*.cpp", "*.h", "*.py")), ("python/cupel", ("*.py",))) for kind in kinds for path in (ROOT / folder).rglob(kind)]
    return {str(path.relative_to(ROOT)): path.read_text() for path in found}


def complaints(texts: dict[str, str]) -> list[str]:
    result, needed = [], set()
    for file, text in sorted(texts.items()):
        if any(part in file for part in ELSEWHERE):
            continue
        is_python = file.endswith(".py")
        if is_python:
            text = re.sub(r'"""(?:.|\n)*?"""', lambda found: "\n" * found.group().count("\n"), text)
        for number, line in enumerate(text.splitlines(), 1):
            code = QUOTED.sub('""', line)
            code = code.split("#" if is_python else "//")[0]
            if not WORD.search(code) or not NUMBER.search(code):
                continue
            needed.add(file)
            if file not in FILES:
                result.append(f"{file}:{number}: a bound of its own; cupel/compare/Defaults.h has them: {line.strip()[:120]}")
    if set(FILES) <= set(texts):
        result += [f"tests/docs/one_policy.py: nothing in {file} needs to be excused" for file in sorted(set(FILES) - needed)]
    return result
