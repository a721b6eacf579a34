"""Breaks expected values of the self-checking programs, one at a time, and expects every breach to be noticed.

usage: mutate.py BUILD/bin [--elements N] [--keep DIR]

Of every check in tests/reference/ops and tests/reference/traps whose expected value is a constant, N elements (the first,
the last and some between) are changed, each in a program of its own: a truth value is turned around, an integer moves by
one, a float changes its sign (also -0.0) or becomes 1. A program that still passes checks less than it says. A program without any
value to break is told too, unless its tensors have no elements. Ends with `N passed, N failed`.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
CHECK = re.compile(r"^[^\n/]*?check[.]expect_\w+[^\n]*", re.MULTILINE)
LITERAL = re.compile(r"dense<(?P<value>(?:\"0x[0-9A-Fa-f]*\"|[^<>\"])*)> : tensor<(?P<type>[^\n]*?)>(?=[\n,:)}\s]|$)")
ELEMENT = re.compile(r"true|false|0x[0-9A-Fa-f]+|-?\d+(?:[.]\d*)?(?:[eE][-+]?\d+)?")
TOLERANCE = re.compile(r"tolerance = ([0-9.eE+-]+)")


def element_type(tensor_type: str) -> str:
    """`2x3xcomplex<f32>` -> `f32`, `i1` -> `i1`."""
    name = re.sub(r"^(?:\d+x|\?x)*", "", tensor_type)
    return name.removeprefix("complex<").removesuffix(">")


def broken(element: str, kind: str, tolerance: float, signed_zero: bool) -> str:
    if element in ("true", "false"):
        return "false" if element == "true" else "true"
    integer = re.fullmatch(r"(u?)i(\d+)", kind)
    if integer:
        value = int(element, 0)
        low, high = (0, 2 ** int(integer[2]) - 1) if integer[1] else (-(2 ** (int(integer[2]) - 1)), 2 ** (int(integer[2]) - 1) - 1)
        if kind == "i1":
            return str(1 - abs(value))
        if element.startswith("0x"):
            return hex(value ^ 1)
        return str(value + 1 if value < high else max(low, value - 1))
    if element.startswith("0x"):  # the bits of an infinity or a NaN
        return "2.5"
    value = float(element)
    if element == "-0.0" and signed_zero:
        return "0.0"  # an expected value that is spelled so must mean it
    return f"{-value:.17e}" if abs(value) > 10 * tolerance and value != 0 else "2.5" if tolerance >= 0.5 else "1.0"


def expected_literal(program: str, check: re.Match) -> re.Match | None:
    """The constant that a check compares with: in the check itself, or the definition of one of its operands (or of what
    that is the bits of), the last first."""
    inline = LITERAL.search(program, check.start(), check.end())
    if inline:
        return inline
    for operand in reversed(re.findall(r"%[\w#]+", check[0])):
        bits = re.search(rf"{re.escape(operand)} = stablehlo[.]bitcast_convert (%\w+)", program)
        definition = re.search(rf"{re.escape(bits[1] if bits else operand)} = stablehlo[.]constant (?=dense<)", program)
        if definition:
            return LITERAL.match(program, definition.end())
    return None


def chosen(count: int, most: int) -> list[int]:
    if count <= most:
        return list(range(count))
    return sorted({round(i * (count - 1) / (most - 1)) for i in range(most)}) if most > 1 else [0]


def mutants(program: str, most: int) -> Iterator[tuple[str, str]]:
    """What was changed, and the program with the change."""
    for check in CHECK.finditer(program):
        literal = expected_literal(program, check)
        if not literal:
            continue
        tolerance = TOLERANCE.search(check[0])
        allowed = float(tolerance[1]) if tolerance else 0.0
        start, value, kind = literal.start("value"), literal["value"], element_type(literal["type"])
        if value.startswith('"0x'):
            digit = value[3]
            text = value[:3] + format(int(digit, 16) ^ 4, "X") + value[4:]
            yield f"{check[0].strip()}: the first byte", program[:start] + text + program[literal.end("value") :]
            continue
        elements = list(ELEMENT.finditer(value))
        for i in chosen(len(elements), most):
            old = elements[i]
            new = broken(old[0], kind, allowed, "expect_eq " not in check[0] or "bits" in check[0])
            at, end = start + old.start(), start + old.end()
            yield f"{check[0].strip()}: element {i}, {old[0]} -> {new}", program[:at] + new + program[end:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=Path, help="the folder of the cupel tool")
    parser.add_argument("--elements", type=int, default=3, help="elements of a check to break, one at a time")
    parser.add_argument("--keep", type=Path, help="where the broken programs are left")
    options = parser.parse_args()
    failures, changes = [], {}
    with tempfile.TemporaryDirectory(prefix="cupel-mutate-") as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for path in sorted([*FOLDER.glob("ops/*.mlir"), *FOLDER.glob("traps/*.mlir")]):
            for number, program in enumerate(path.read_text().split("\n// -----\n"), 1):
                where = f"{path.parent.name}/{path.name}, program {number}"
                changed = list(mutants(program, options.elements))
                if not changed and "dense<>" not in program:
                    failures.append(f"{where}: no expected value that could be broken")
                for i, (what, text) in enumerate(changed):
                    name = f"{path.stem}-{number}-{i}.mlir"
                    changes[name] = f"{where}: {what}"
                    (folder / name).write_text(text)
        done = subprocess.run([str(options.bin / "cupel"), "eval", str(folder)], capture_output=True, text=True, errors="replace")
    told = dict(re.findall(r"^cupel eval: error: (?:[^\n:]*/)?([^/\n:]+[.]mlir):?(.*)$", done.stderr, re.MULTILINE))
    for name, what in changes.items():
        if name not in told:
            failures.append(f"{what}: not noticed")
        elif "check." not in told[name]:
            failures.append(f"{what}: failed for another reason:{told[name]}")
    print(*failures, sep="\n", end="\n" if failures else "")
    print(f"{len(changes) - len(failures)} passed, {len(failures)} failed")
    return 1 if failures or not changes else 0


if __name__ == "__main__":
    sys.exit(main())
