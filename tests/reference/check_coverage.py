"""Checks that every evaluated operation has a self-checking program of its own.

usage: check_coverage.py. Reads docs/reference/evaluated-ops.md, which the reference's own test keeps current. A StableHLO
operation needs tests/reference/ops/NAME.mlir that uses it and checks a value; an operation of another dialect must be
used by a program in tests/reference or tests/lit/eval. A program must say where its values come from in its first line.
Ends with `N passed, N failed`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OPS = ROOT / "tests/reference/ops"
TRAPS = ROOT / "tests/reference/traps"


def uses(text: str, operation: str) -> bool:
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("//"))
    name = operation if not operation.startswith("func.") else f"(?:{operation}|{operation.removeprefix('func.')})"
    return re.search(rf"(?<![\w.-]){name.replace('.', '[.]')}(?![\w-])", code) is not None


def missing_program(operation: str, everything: list[str]) -> str | None:
    dialect, _, name = operation.partition(".")
    if dialect != "stablehlo":
        return None if any(uses(text, operation) for text in everything) else f"{operation}: no program uses it"
    program = OPS / f"{name}.mlir"
    if not program.exists():
        return f"{operation}: {program.relative_to(ROOT)} does not exist"
    return None if uses(program.read_text(), operation) else f"{operation}: {program.relative_to(ROOT)} does not use it"


def wrong_program(program: Path) -> str | None:
    name, text = program.relative_to(ROOT), program.read_text()
    if not text.startswith("// " if program.parent == OPS else "// Trap: "):
        return f"{name}: the first line must be a comment that says {'where its values come from' if program.parent == OPS else 'what the trap is'}"
    for number, chunk in enumerate(text.split("\n// -----\n"), 1):
        if not re.search(r"^\s*(?:check\.expect_|stablehlo\.custom_call @check\.expect_)", chunk, re.MULTILINE):
            return f"{name}: program {number} checks nothing"
    return None


def main() -> int:
    listed = re.findall(r"^\| `([^`]+)` \| yes \|$", (ROOT / "docs/reference/evaluated-ops.md").read_text(), re.MULTILINE)
    programs = sorted([*OPS.glob("*.mlir"), *TRAPS.glob("*.mlir")])
    everything = [path.read_text() for path in [*programs, *(ROOT / "tests/lit/eval").glob("*.mlir")]]
    results = [missing_program(operation, everything) for operation in listed] + [wrong_program(program) for program in programs]
    if len(listed) < 118:
        results.append(f"docs/reference/evaluated-ops.md lists only {len(listed)} operations")
    failures = [failure for failure in results if failure]
    print(*failures, sep="\n", end="\n" if failures else "")
    print(f"{len(results) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
