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


F32_RESULT = re.compile(r"(\s*)(%\w+) = (stablehlo\.(?:multiply|add|subtract|divide|dot_general|convolution|tanh|exponential|logistic|maximum)\b.*?(tensor<((?:\d+x)+)f32>))$")


def rewritten(change: Callable[[str, str, list[int], str], list[str]]) -> Change:
    """An operation that gives numbers, with something done to its result: `change(from, to, sizes, type)` writes the lines."""

    def on_line(line: str) -> str | None:
        match = F32_RESULT.match(line)
        if not match:
            return None
        indent, name, operation, type_, sizes = match.groups()
        given = fresh(name, "w")
        lines = change(given, name, [int(size) for size in sizes.split("x") if size], type_)
        return "\n".join(f"{indent}{text}" for text in [f"{given} = {operation}", *lines]) if lines else None

    return on_line


def slightly_scaled(given: str, name: str, sizes: list[int], type_: str) -> list[str]:
    return [f"{fresh(name, 'c')} = stablehlo.constant dense<1.03125> : {type_}", f"{name} = stablehlo.multiply {given}, {fresh(name, 'c')} : {type_}"]


def shifted_by_constant(given: str, name: str, sizes: list[int], type_: str) -> list[str]:
    return [f"{fresh(name, 'c')} = stablehlo.constant dense<0.0625> : {type_}", f"{name} = stablehlo.add {given}, {fresh(name, 'c')} : {type_}"]


def typed(sizes: list[int]) -> str:
    return f"tensor<{''.join(f'{size}x' for size in sizes)}f32>"


def tail_dropped(given: str, name: str, sizes: list[int], type_: str) -> list[str]:
    """The last row of the first dimension that has several is zero."""
    axis = next((i for i, size in enumerate(sizes) if size > 1), None)
    if axis is None:
        return []
    kept = [size - (i == axis) for i, size in enumerate(sizes)]
    ranges = ", ".join(f"0:{size}" for size in kept)
    zeros, high = [0] * len(sizes), [int(i == axis) for i in range(len(sizes))]
    return [f"{fresh(name, 's')} = stablehlo.slice {given} [{ranges}] : ({type_}) -> {typed(kept)}", f"{fresh(name, 'z')} = stablehlo.constant dense<0.0> : tensor<f32>",
            f"{name} = stablehlo.pad {fresh(name, 's')}, {fresh(name, 'z')}, low = {zeros}, high = {high}, interior = {zeros} : ({typed(kept)}, tensor<f32>) -> {type_}"]


def rotated_rows(given: str, name: str, sizes: list[int], type_: str) -> list[str]:
    """Rows lie one further than they should: wrong strides."""
    if len(sizes) < 2 or sizes[-1] < 2:
        return []
    kept, last = [*sizes[:-1], sizes[-1] - 1], [*sizes[:-1], 1]
    ranges = "".join(f"0:{size}, " for size in sizes[:-1])
    return [f"{fresh(name, 'l')} = stablehlo.slice {given} [{ranges}{sizes[-1] - 1}:{sizes[-1]}] : ({type_}) -> {typed(last)}",
            f"{fresh(name, 'k')} = stablehlo.slice {given} [{ranges}0:{sizes[-1] - 1}] : ({type_}) -> {typed(kept)}",
            f"{name} = stablehlo.concatenate {fresh(name, 'l')}, {fresh(name, 'k')}, dim = {len(sizes) - 1} : ({typed(last)}, {typed(kept)}) -> {type_}"]


def mirrored(given: str, name: str, sizes: list[int], type_: str) -> list[str]:
    axis = max((i for i, size in enumerate(sizes) if size > 1), default=None)
    return [] if axis is None else [f"{name} = stablehlo.reverse {given}, dims = [{axis}] : {type_}"]


def transposed_layout(given: str, name: str, sizes: list[int], type_: str) -> list[str]:
    """The memory of the other order of the last two dimensions, taken for this one."""
    if len(sizes) < 2 or min(sizes[-2:]) < 2:
        return []
    order = [*range(len(sizes) - 2), len(sizes) - 1, len(sizes) - 2]
    turned = [*sizes[:-2], sizes[-1], sizes[-2]]
    return [f"{fresh(name, 't')} = stablehlo.transpose {given}, dims = {order} : ({type_}) -> {typed(turned)}",
            f"{name} = stablehlo.reshape {fresh(name, 't')} : ({typed(turned)}) -> {type_}"]


def not_a_number_spreads(given: str, name: str, sizes: list[int], type_: str) -> list[str]:
    """What is far below zero becomes no number."""
    return [f"{fresh(name, 'h')} = stablehlo.constant dense<0.5> : {type_}", f"{fresh(name, 'p')} = stablehlo.add {given}, {fresh(name, 'h')} : {type_}",
            f"{fresh(name, 'q')} = stablehlo.sqrt {fresh(name, 'p')} : {type_}", f"{fresh(name, 'n')} = stablehlo.subtract {fresh(name, 'q')}, {fresh(name, 'q')} : {type_}",
            f"{name} = stablehlo.add {given}, {fresh(name, 'n')} : {type_}"]


def saturating(given: str, name: str, sizes: list[int], type_: str) -> list[str]:
    return [f"{fresh(name, 'h')} = stablehlo.constant dense<0.5> : {type_}", f"{name} = stablehlo.minimum {given}, {fresh(name, 'h')} : {type_}"]


def started_elsewhere(line: str) -> str | None:
    """A sum that begins with something else than zero."""
    match = SUM.match(line)
    if not match:
        return None
    indent, name, x, _, dims, tx, ti, result = match.groups()
    return (f"{indent}{fresh(name, 'i')} = stablehlo.constant dense<0.25> : {ti}\n"
            f"{indent}{name} = stablehlo.reduce({x} init: {fresh(name, 'i')}) applies stablehlo.add across dimensions = {dims} : ({tx}, {ti}) -> {result}")


def batch_of_first(given: str, name: str, sizes: list[int], type_: str) -> list[str]:
    """Every batch element gets the result of the first."""
    if len(sizes) < 2 or sizes[0] < 2:
        return []
    one = [1, *sizes[1:]]
    ranges = ", ".join(f"0:{size}" for size in one)
    flat = sizes[1:]
    return [f"{fresh(name, 's')} = stablehlo.slice {given} [{ranges}] : ({type_}) -> {typed(one)}",
            f"{fresh(name, 'f')} = stablehlo.reshape {fresh(name, 's')} : ({typed(one)}) -> {typed(flat)}",
            f"{name} = stablehlo.broadcast_in_dim {fresh(name, 'f')}, dims = {list(range(1, len(sizes)))} : ({typed(flat)}) -> {type_}"]


def halves_swapped(given: str, name: str, sizes: list[int], type_: str) -> list[str]:
    """The two halves of the last dimension change places: tiles, heads or channels in another order."""
    if not sizes or sizes[-1] < 2 or sizes[-1] % 2:
        return []
    half = [*sizes[:-1], sizes[-1] // 2]
    before = "".join(f"0:{size}, " for size in sizes[:-1])
    return [f"{fresh(name, 'l')} = stablehlo.slice {given} [{before}0:{half[-1]}] : ({type_}) -> {typed(half)}",
            f"{fresh(name, 'k')} = stablehlo.slice {given} [{before}{half[-1]}:{sizes[-1]}] : ({type_}) -> {typed(half)}",
            f"{name} = stablehlo.concatenate {fresh(name, 'k')}, {fresh(name, 'l')}, dim = {len(sizes) - 1} : ({typed(half)}, {typed(half)}) -> {type_}"]


def share_missing(given: str, name: str, sizes: list[int], type_: str) -> list[str]:
    """What one of eight threads should have written along the last dimension is zero."""
    if not sizes or sizes[-1] < 8:
        return []
    share = sizes[-1] // 8
    kept = [*sizes[:-1], sizes[-1] - share]
    before = "".join(f"0:{size}, " for size in sizes[:-1])
    zeros, low = [0] * len(sizes), [0] * (len(sizes) - 1) + [share]
    return [f"{fresh(name, 's')} = stablehlo.slice {given} [{before}{share}:{sizes[-1]}] : ({type_}) -> {typed(kept)}",
            f"{fresh(name, 'z')} = stablehlo.constant dense<0.0> : tensor<f32>",
            f"{name} = stablehlo.pad {fresh(name, 's')}, {fresh(name, 'z')}, low = {low}, high = {zeros}, interior = {zeros} : ({typed(kept)}, tensor<f32>) -> {type_}"]


def shortened(indent: str, name: str, operand: str, type_: str, axis: int) -> tuple[str, str]:
    """Lines that take the last of an axis from an operand, and the name of what is left with a zero there."""
    sizes = [int(size) for size in type_.removeprefix("tensor<").removesuffix("f32>").split("x") if size]
    lines = tail_dropped_at(operand, fresh(name, "m"), sizes, type_, axis)
    return "".join(f"{indent}{line}\n" for line in lines), fresh(name, "m")


def tail_dropped_at(given: str, name: str, sizes: list[int], type_: str, axis: int) -> list[str]:
    if axis >= len(sizes) or sizes[axis] < 2:
        return []
    kept = [size - (i == axis) for i, size in enumerate(sizes)]
    ranges = ", ".join(f"0:{size}" for size in kept)
    zeros, high = [0] * len(sizes), [int(i == axis) for i in range(len(sizes))]
    return [f"{fresh(name, 's')} = stablehlo.slice {given} [{ranges}] : ({type_}) -> {typed(kept)}", f"{fresh(name, 'z')} = stablehlo.constant dense<0.0> : tensor<f32>",
            f"{name} = stablehlo.pad {fresh(name, 's')}, {fresh(name, 'z')}, low = {zeros}, high = {high}, interior = {zeros} : ({typed(kept)}, tensor<f32>) -> {type_}"]


def last_term_missing(line: str) -> str | None:
    """A sum, or a product of matrices, without its last term: a loop that ends early."""
    if match := SUM.match(line):
        indent, name, x, init, dims, tx, ti, result = match.groups()
        lines, left = shortened(indent, name, x, tx, int(dims.strip("[]").split(",")[0]))
        return f"{lines}{indent}{name} = stablehlo.reduce({left} init: {init}) applies stablehlo.add across dimensions = {dims} : ({tx}, {ti}) -> {result}" if lines else None
    if match := DOT.match(line):
        indent, name, a, b, rest, left_axis, _, ta, tb, result = match.groups()
        lines, left = shortened(indent, name, a, ta, int(left_axis))
        return f"{lines}{indent}{name} = stablehlo.dot_general {left}, {b}, {rest} : ({ta}, {tb}) -> {result}" if lines else None
    return None


def other_identity(line: str) -> str | None:
    """The largest of some numbers, begun with zero; the smallest likewise."""
    match = re.match(r"(\s*)(%\w+) = stablehlo\.reduce\((%\w+) init: (%\w+)\) applies stablehlo\.(maximum|minimum) across dimensions = (\[[\d, ]+\]) : "
                     r"\((tensor<[\dx]*f32>), (tensor<f32>)\) -> (tensor<[\dx]*f32>)$", line)
    if not match:
        return None
    indent, name, x, _, function, dims, tx, ti, result = match.groups()
    return (f"{indent}{fresh(name, 'i')} = stablehlo.constant dense<0.0> : {ti}\n"
            f"{indent}{name} = stablehlo.reduce({x} init: {fresh(name, 'i')}) applies stablehlo.{function} across dimensions = {dims} : ({tx}, {ti}) -> {result}")


def operand_transposed(line: str) -> str | None:
    """A square operand of a product, taken the other way round."""
    match = DOT.match(line)
    if not match:
        return None
    sizes = [size for size in match[9].removeprefix("tensor<").removesuffix("f32>").split("x") if size]
    if len(sizes) != 2 or sizes[0] != sizes[1]:
        return None
    indent, name, a, b, rest, _, _, ta, tb, result = match.groups()
    return (f"{indent}{fresh(name, 't')} = stablehlo.transpose {b}, dims = [1, 0] : ({tb}) -> {tb}\n"
            f"{indent}{name} = stablehlo.dot_general {a}, {fresh(name, 't')}, {rest} : ({ta}, {tb}) -> {result}")


def rounded_conversion(line: str) -> str | None:
    """A whole number made of a float to the nearest one, and not towards zero."""
    match = re.match(r"(\s*)(%\w+) = stablehlo\.convert (%\w+) : \((tensor<[\dx]*f32>)\) -> (tensor<[\dx]*u?i\d+>)$", line)
    if not match:
        return None
    indent, name, x, from_, to = match.groups()
    return (f"{indent}{fresh(name, 'r')} = stablehlo.ceil {x} : {from_}\n{indent}{name} = stablehlo.convert {fresh(name, 'r')} : ({from_}) -> {to}")


def index_moved(line: str) -> str | None:
    """The first place of a dynamic slice, one further."""
    match = re.match(r"(\s*)(%\w+) = (stablehlo\.dynamic_(?:update_)?slice )((?:%\w+, )+%\w+)(.*?: \(.*?(tensor<i\d+>).*)$", line)
    if not match:
        return None
    indent, name, operation, operands, rest, type_ = match.groups()
    names = operands.split(", ")
    first = 2 if "update" in operation else 1
    if len(names) <= first:
        return None
    names[first], moved = fresh(name, "j"), names[first]
    return (f"{indent}{fresh(name, 'o')} = stablehlo.constant dense<1> : {type_}\n{indent}{fresh(name, 'j')} = stablehlo.add {moved}, {fresh(name, 'o')} : {type_}\n"
            f"{indent}{name} = {operation}{', '.join(names)}{rest}")


def update_lost(line: str) -> str | None:
    """An update in place that nobody sees."""
    match = re.match(r"(\s*)(%\w+) = stablehlo\.dynamic_update_slice (%\w+), .* -> (tensor<[^>]*>)$", line)
    return f"{match[1]}{match[2]} = stablehlo.reshape {match[3]} : ({match[4]}) -> {match[4]}" if match else None


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
    "scaled on the way": [rewritten(slightly_scaled)],
    "shifted on the way": [rewritten(shifted_by_constant)],
    "last row dropped": [rewritten(tail_dropped)],
    "wrong stride on the way": [rewritten(rotated_rows)],
    "mirrored on the way": [rewritten(mirrored)],
    "transposed layout": [rewritten(transposed_layout)],
    "NaN below a half": [rewritten(not_a_number_spreads)],
    "saturated on the way": [rewritten(saturating)],
    "sum begins elsewhere": [started_elsewhere],
    "operand used twice": [pattern(r"= stablehlo\.(add|multiply|subtract|maximum) (%[\w#]+), (%[\w#]+) :", r"= stablehlo.\1 \2, \2 :")],
    "joined in another order": [pattern(r"= stablehlo\.concatenate (%[\w#]+), (%[\w#]+), dim", r"= stablehlo.concatenate \2, \1, dim")],
    "indices swapped": [pattern(r"= stablehlo\.dynamic_slice (%\w+), (%\w+), (%\w+),", r"= stablehlo.dynamic_slice \1, \3, \2,"),
                        pattern(r"= stablehlo\.dynamic_update_slice (%\w+), (%\w+), (%\w+), (%\w+) ", r"= stablehlo.dynamic_update_slice \1, \2, \4, \3 ")],
    "comparison turned round": [pattern(r"compare +EQ,", "compare NE,"), pattern(r"compare +LE,", "compare GE,"), pattern(r"compare +NE,", "compare EQ,"),
                                pattern(r"compare +GT,", "compare LE,"), pattern(r"compare +GE,", "compare LT,")],
    "bounds swapped": [pattern(r"= stablehlo\.clamp (%\w+), (%\w+), (%\w+) :", r"= stablehlo.clamp \3, \2, \1 :")],
    "broadcast along another axis": [pattern(r"(broadcast_in_dim %\w+, dims = )\[1\]", r"\1[0]"), pattern(r"(broadcast_in_dim %\w+, dims = )\[0\]", r"\1[1]")],
    "batch of the first": [rewritten(batch_of_first)],
    "halves swapped": [rewritten(halves_swapped)],
    "a thread's share missing": [rewritten(share_missing)],
    "last term missing": [last_term_missing],
    "other identity": [other_identity],
    "square operand transposed": [operand_transposed, pattern(r"(broadcast_in_dim %\w+, dims = )\[0, 1\]", r"\1[1, 0]")],
    "epsilon dropped": [pattern(r"stablehlo\.constant dense<\d\.\d+e-\d+> ", "stablehlo.constant dense<0.0> ")],
    "conversion rounds": [rounded_conversion],
    "index moved": [index_moved],
    "update lost": [update_lost],
    "mask too weak": [pattern(r"stablehlo\.constant dense<0xFF800000>", "stablehlo.constant dense<-1.0>"),
                      pattern(r"stablehlo\.constant dense<-\d\.\d+e\+(?:0[4-9]|[1-9]\d)>", "stablehlo.constant dense<-1.0>")],
    "kernel mirrored": [pattern(r"window = \{(?!.*reverse)", "window = {reverse = [true, true], ")],
    "signs forgotten": [pattern(r"(compare +[A-Z]+, %[\w#]+, %[\w#]+,) +SIGNED", r"\1 UNSIGNED"), word("negate", "abs"), word("sign", "abs")],
    "window moved": [pattern(r"padding = dense<\[\[(\d+), (\d+)\]", lambda match: f"padding = dense<[[{int(match[1]) + 1}, {int(match[2]) - 1}]")],
}


def faults(text: str, first: int = 0) -> Iterator[tuple[str, str]]:
    """Kind and program, the kinds in turn, beginning with number `first`."""
    kinds = list(FAULTS.items())
    kinds = kinds[first % len(kinds):] + kinds[:first % len(kinds)]
    lines = [iter([(kind, found) for change in changes for found in each_line(text, change)]) for kind, changes in kinds]
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


def products_in(format_: str) -> Callable[[str], str]:
    """Operands of products rounded to another format of eight bits of exponent: e8m10 is tf32, e8m7 bf16."""

    def on_line(line: str) -> str:
        match = DOT.match(line)
        if not match:
            return line
        indent, name, a, b, rest, _, _, ta, tb, result = match.groups()
        text = "".join(f"{indent}{fresh(name, letter)} = stablehlo.reduce_precision {operand}, format = {format_} : {type_}\n"
                       for letter, operand, type_ in (("a", a, ta), ("b", b, tb)))
        return f"{text}{indent}{name} = stablehlo.dot_general {fresh(name, 'a')}, {fresh(name, 'b')}, {rest} : ({ta}, {tb}) -> {result}"

    return on_line


def everything_in(format_: str) -> Callable[[str], str]:
    """Every result that rounds, rounded to another format."""

    def on_line(line: str) -> str:
        match = F32_RESULT.match(line)
        if not match or "stablehlo.maximum" in line:
            return line
        indent, name, operation, type_, _ = match.groups()
        return f"{indent}{fresh(name, 'e')} = {operation}\n{indent}{name} = stablehlo.reduce_precision {fresh(name, 'e')}, format = {format_} : {type_}"

    return on_line


CORRECT = {"sums reversed": reversed_sums, "fast mathematics": fast_mathematics, "fused, rounded once": fused}
# What must be declared, and the change.
NARROW = {"products in tf32, declared": ("tf32/f32", products_in("e8m10")), "products in bf16, declared": ("bf16", products_in("e8m7")),
          "everything in tf32, declared": ("tf32", everything_in("e8m10")), "everything in bf16, declared": ("bf16", everything_in("e8m7"))}


def correct(text: str, change: Callable[[str], str]) -> str:
    return "\n".join(change(line) for line in text.split("\n"))
