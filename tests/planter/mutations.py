"""Faults of compilers, and correct programs that round otherwise, as changes of a program's text.

Used by check_planter.py. A mutation names its kind and gives programs that differ from the given one in a single operation. What it gives need not
be a program at all: what does not compile is no fault that anybody could miss, and is not counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Change = Callable[[str], str | None]


def fresh(name: str, suffix: str) -> str:
    """The name of another value beside `name`, which may be a number."""
    return f"%v{name[1:]}_{suffix}"


def each_line(text: str, change: Change) -> Iterator[str]:
    """The programs in which one line is changed."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        changed = change(line)
        if changed is not None and changed != line:
            yield "\n".join([*lines[:number], changed, *lines[number + 1:]])


def word(old: str, new: str) -> Change:
    return lambda line: line.replace(f"stablehlo.{old} ", f"stablehlo.{new} ", 1) if f"= stablehlo.{old} " in line else None


def pattern(old: str, new: str | Callable[[re.Match], str]) -> Change:
    return lambda line: re.sub(old, new, line, count=1) if re.search(old, line) else None


def swapped(*operations: str) -> Change:
    return pattern(rf"= stablehlo\.({'|'.join(operations)}) (%[\w#]+), (%[\w#]+) :", r"= stablehlo.\1 \3, \2 :")


def one_more(match: re.Match) -> str:
    return f"{match[1]}{int(match[2]) + 1}:{int(match[3]) + 1}]"


def shifted_padding(match: re.Match) -> str:
    low, high = int(match[1]), int(match[2])
    return f"pad = [[{low + 1}, {high - 1}]" if high > 0 else f"pad = [[{low - 1}, {high + 1}]"


def narrowed(line: str) -> str | None:
    """A float result that goes through bf16 on its way."""
    match = re.match(r"(\s*)(%[\w]+) = (stablehlo\.(?:multiply|add|subtract|divide|dot_general|convolution)\b.*?(tensor<[\dx]*f32>))$", line)
    if not match:
        return None
    indent, name, operation, type_ = match.groups()
    narrow = type_.replace("f32", "bf16")
    return (f"{indent}{fresh(name, 'w')} = {operation}\n{indent}{fresh(name, 'n')} = stablehlo.convert {fresh(name, 'w')} : ({type_}) -> {narrow}\n"
            f"{indent}{name} = stablehlo.convert {fresh(name, 'n')} : ({narrow}) -> {type_}")


FAULTS: dict[str, list[Change]] = {
    "subtract for add": [word("add", "subtract")],
    "add for multiply": [word("multiply", "add")],
    "missing add (bias)": [pattern(r"= stablehlo\.add (%[\w#]+), (%[\w#]+) : (tensor<[\dx]*f\d+>)$", r"= stablehlo.maximum \1, \1 : \3")],
    "maximum for a sum": [pattern(r"applies stablehlo\.add across", "applies stablehlo.maximum across")],
    "minimum for maximum": [pattern(r"applies stablehlo\.maximum across", "applies stablehlo.minimum across"), word("maximum", "minimum")],
    "operands swapped": [swapped("subtract", "divide"), pattern(r"= stablehlo\.select (%\w+), (%\w+), (%\w+) :", r"= stablehlo.select \1, \3, \2 :"),
                         pattern(r"(stablehlo\.(?:dot_general) )(%\w+), (%\w+),", r"\1\3, \2,")],
    "other comparison": [pattern(r"compare +GE,", "compare GT,"), pattern(r"compare +GT,", "compare LT,"), pattern(r"compare +LT,", "compare LE,")],
    "other function": [word("exponential", "exponential_minus_one"), word("tanh", "sine"), word("sine", "cosine"), word("rsqrt", "sqrt"),
                       word("logistic", "tanh"), word("negate", "abs"), word("or", "xor"), word("shift_right_logical", "shift_left")],
    "slice off by one": [pattern(r"(\[0:\d+, )(\d+):(\d+)\]", one_more)],
    "padding shifted": [pattern(r"pad = \[\[(\d+), (\d+)\]", shifted_padding)],
    "other axis": [pattern(r"iota dim = 0 ", "iota dim = 1 "), pattern(r"across dimensions = \[1\]", "across dimensions = [0]"),
                   pattern(r"dims = \[0, 1\]", "dims = [1, 0]"), pattern(r"transpose (%\w+), dims = \[0, 1\]", r"transpose \1, dims = [1, 0]")],
    "transposed or mirrored": [pattern(r"lower = true", "lower = false"), pattern(r"<transpose TRANSPOSE>", "<transpose NO_TRANSPOSE>"),
                               pattern(r"\[\[0, 1\], \[1, 2\], \[2, 3\], \[3, 0\]\]", "[[1, 0], [2, 1], [3, 2], [0, 3]]")],
    "wrong constant": [pattern(r"stablehlo\.constant dense<(\d+)>", lambda match: f"stablehlo.constant dense<{int(match[1]) + 1}>"),
                       pattern(r"stablehlo\.constant dense<(\d\.\d+e[-+]\d+)>", lambda match: f"stablehlo.constant dense<{float(match[1]) * 1.5 + 0.25:e}>")],
    "precision lost (bf16)": [narrowed],
}


def faults(text: str) -> Iterator[tuple[str, str]]:
    """Kind and program, the kinds in turn."""
    lines = [iter([(kind, found) for change in changes for found in each_line(text, change)]) for kind, changes in FAULTS.items()]
    while lines:
        for source in list(lines):
            found = next(source, None)
            if found is None:
                lines.remove(source)
            else:
                yield found


# --- correct devices ---------------------------------------------------------------------------------------------------------------------

DOT = re.compile(r"(\s*)(%\w+) = stablehlo\.dot_general (%\w+), (%\w+), (.*?contracting_dims = \[(\d+)\] x \[(\d+)\].*?) : \((tensor<[\dx]*f32>), (tensor<[\dx]*f32>)\) -> (tensor<[\dx]*f32>)$")
SUM = re.compile(r"(\s*)(%\w+) = stablehlo\.reduce\((%\w+) init: (%\w+)\) applies stablehlo\.add across dimensions = (\[[\d, ]+\]) : \((tensor<[\dx]*f32>), (tensor<f32>)\) -> (tensor<[\dx]*f32>)$")
DIVIDE = re.compile(r"(\s*)(%\w+) = stablehlo\.divide (%\w+), (%\w+) : (tensor<[\dx]*f32>)$")
FUNCTION = re.compile(r"(\s*)(%\w+) = stablehlo\.(exponential|tanh|sine|cosine|logistic|rsqrt|sqrt|log|multiply|add) (%\w+)(?:, (%\w+))? : (tensor<[\dx]*f32>)$")


def reversed_sums(line: str) -> str:
    """Sums from the other end."""
    if match := DOT.match(line):
        indent, name, a, b, rest, left, right, ta, tb, result = match.groups()
        return (f"{indent}{fresh(name, 'a')} = stablehlo.reverse {a}, dims = [{left}] : {ta}\n{indent}{fresh(name, 'b')} = stablehlo.reverse {b}, dims = [{right}] : {tb}\n"
                f"{indent}{name} = stablehlo.dot_general {fresh(name, 'a')}, {fresh(name, 'b')}, {rest} : ({ta}, {tb}) -> {result}")
    if match := SUM.match(line):
        indent, name, x, init, dims, tx, ti, result = match.groups()
        return (f"{indent}{fresh(name, 'r')} = stablehlo.reverse {x}, dims = {dims} : {tx}\n"
                f"{indent}{name} = stablehlo.reduce({fresh(name, 'r')} init: {init}) applies stablehlo.add across dimensions = {dims} : ({tx}, {ti}) -> {result}")
    return line


def fast_mathematics(line: str) -> str:
    """Quotients as products with the reciprocal."""
    if match := DIVIDE.match(line):
        indent, name, a, b, type_ = match.groups()
        return (f"{indent}{fresh(name, 'o')} = stablehlo.divide {b}, {b} : {type_}\n{indent}{fresh(name, 'i')} = stablehlo.divide {fresh(name, 'o')}, {b} : {type_}\n"
                f"{indent}{name} = stablehlo.multiply {a}, {fresh(name, 'i')} : {type_}")
    return line


def wide(type_: str) -> str:
    return type_.replace("f32", "f64")


def fused(line: str) -> str:
    """Products, sums and functions without a rounding on the way: in f64, rounded once."""
    if match := DOT.match(line):
        indent, name, a, b, rest, _, _, ta, tb, result = match.groups()
        return (f"{indent}{fresh(name, 'a')} = stablehlo.convert {a} : ({ta}) -> {wide(ta)}\n{indent}{fresh(name, 'b')} = stablehlo.convert {b} : ({tb}) -> {wide(tb)}\n"
                f"{indent}{fresh(name, 'w')} = stablehlo.dot_general {fresh(name, 'a')}, {fresh(name, 'b')}, {rest} : ({wide(ta)}, {wide(tb)}) -> {wide(result)}\n"
                f"{indent}{name} = stablehlo.convert {fresh(name, 'w')} : ({wide(result)}) -> {result}")
    if match := FUNCTION.match(line):
        indent, name, function, a, b, type_ = match.groups()
        text, operands = "", []
        for letter, operand in (("a", a), ("b", b)):
            if operand:
                text += f"{indent}{fresh(name, letter)} = stablehlo.convert {operand} : ({type_}) -> {wide(type_)}\n"
                operands.append(f"{fresh(name, letter)}")
        return (f"{text}{indent}{fresh(name, 'w')} = stablehlo.{function} {', '.join(operands)} : {wide(type_)}\n"
                f"{indent}{name} = stablehlo.convert {fresh(name, 'w')} : ({wide(type_)}) -> {type_}")
    return line


def products_in_bf16(line: str) -> str:
    """Operands of products rounded to bf16, which a device must declare."""
    if match := DOT.match(line):
        indent, name, a, b, rest, _, _, ta, tb, result = match.groups()
        text, operands = "", []
        for letter, operand, type_ in (("a", a, ta), ("b", b, tb)):
            narrow = type_.replace("f32", "bf16")
            text += (f"{indent}{fresh(name, letter + 'n')} = stablehlo.convert {operand} : ({type_}) -> {narrow}\n"
                     f"{indent}{fresh(name, letter)} = stablehlo.convert {fresh(name, letter + 'n')} : ({narrow}) -> {type_}\n")
            operands.append(f"{fresh(name, letter)}")
        return f"{text}{indent}{name} = stablehlo.dot_general {', '.join(operands)}, {rest} : ({ta}, {tb}) -> {result}"
    return line


CORRECT = {"sums reversed": reversed_sums, "fast mathematics": fast_mathematics, "fused, rounded once": fused}


def correct(text: str, change: Callable[[str], str]) -> str:
    return "\n".join(change(line) for line in text.split("\n"))
