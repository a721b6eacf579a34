"""Programs at the ends of what there is, on the compiled device: nothing in every position, more than memory holds, nesting, and many operations.

usage: check_extremes.py BUILD/bin. Ends with `N passed, N failed`. What is possible has the right result (judged against the reference); what is
not ends with one line that says why, never with a crash or a hang. Compiling four times as many operations takes about four times as long:
processor time is measured, and a pass that is quadratic in anything would take sixteen times as long.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

BIN = Path(sys.argv[1]).resolve()
F32 = "tensor<f32>"
ADD = "({ ^bb0(%x: tensor<f32>, %y: tensor<f32>): %s = stablehlo.add %x, %y : tensor<f32> stablehlo.return %s : tensor<f32> })"
LESS = ("({ ^bb0(%p: tensor<f32>, %q: tensor<f32>): %c = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1> "
        "stablehlo.return %c : tensor<i1> })")


def program(arguments: str, result: str, body: str, value: str = "%0") -> str:
    return f"func.func @main({arguments}) -> {result} {{\n  {body}\n  return {value} : {result}\n}}\n"


def dot(left: str, right: str, result: str, dims: str = "contracting_dims = [1] x [0]") -> str:
    types = f"(tensor<{left}>, tensor<{right}>) -> tensor<{result}>"
    return program(f"%a: tensor<{left}>, %b: tensor<{right}>", f"tensor<{result}>", f"%0 = stablehlo.dot_general %a, %b, {dims} : {types}")


def convolution(image: str, kernel: str, result: str, window: str = "pad = [[1, 1], [1, 1]]") -> str:
    types = f"(tensor<{image}xf32>, tensor<{kernel}xf32>) -> tensor<{result}xf32>"
    return program(f"%a: tensor<{image}xf32>, %k: tensor<{kernel}xf32>", f"tensor<{result}xf32>",
                   f"%0 = stablehlo.convolution(%a, %k) dim_numbers = [b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1], window = {{{window}}} "
                   f"{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : {types}")


def reduce(operand: str, result: str, how: str = "add") -> str:
    return program(f"%a: tensor<{operand}xf32>", f"tensor<{result}>",
                   f"%i = stablehlo.constant dense<7.0> : {F32}\n  %0 = stablehlo.reduce(%a init: %i) applies stablehlo.{how} across dimensions = [1] "
                   f": (tensor<{operand}xf32>, {F32}) -> tensor<{result}>")


def gather(operand: str, indices: str, result: str, sizes: str) -> str:
    numbers = "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>"
    return program(f"%a: tensor<{operand}xf32>, %i: tensor<{indices}xi32>", f"tensor<{result}xf32>",
                   f'%0 = "stablehlo.gather"(%a, %i) <{{dimension_numbers = {numbers}, slice_sizes = array<i64: {sizes}>, indices_are_sorted = false}}> '
                   f": (tensor<{operand}xf32>, tensor<{indices}xi32>) -> tensor<{result}xf32>")


def sort(shape: str) -> str:
    return program(f"%a: tensor<{shape}xf32>", f"tensor<{shape}xf32>",
                   f'%0 = "stablehlo.sort"(%a) <{{dimension = 0 : i64, is_stable = true}}> {LESS} : (tensor<{shape}xf32>) -> tensor<{shape}xf32>')


def fft(operand: str, result: str, kind: str, length: int) -> str:
    return program(f"%a: tensor<{operand}>", f"tensor<{result}>", f"%0 = stablehlo.fft %a, type = {kind}, length = [{length}] : (tensor<{operand}>) -> tensor<{result}>")


def window(operand: str, result: str, sizes: str, padding: str) -> str:
    return program(f"%a: tensor<{operand}xf32>", f"tensor<{result}xf32>",
                   f"%i = stablehlo.constant dense<0.0> : {F32}\n  "
                   f'%0 = "stablehlo.reduce_window"(%a, %i) <{{window_dimensions = array<i64: {sizes}>{padding}}}> {ADD} : (tensor<{operand}xf32>, {F32}) -> tensor<{result}xf32>')


def pad(operand: str, result: str, how: str) -> str:
    return program(f"%a: tensor<{operand}xf32>", f"tensor<{result}xf32>",
                   f"%i = stablehlo.constant dense<2.0> : {F32}\n  %0 = stablehlo.pad %a, %i, {how} : (tensor<{operand}xf32>, {F32}) -> tensor<{result}xf32>")


def one(operand: str, result: str, operation: str, arguments: str = "") -> str:
    return program(f"%a: tensor<{operand}>{arguments}", f"tensor<{result}>", f"%0 = {operation}")


def nested(depth: int) -> str:
    body = "".join(f'%r{i} = "stablehlo.if"(%p) ({{\n' for i in range(depth)) + f"%x = stablehlo.sine %a : {F32} stablehlo.return %x : {F32}\n"
    for i in reversed(range(depth)):
        body += f"}}, {{ stablehlo.return %a : {F32} }}) : (tensor<i1>) -> {F32}\n" + (f"stablehlo.return %r{i} : {F32}\n" if i else "")
    return program(f"%a: {F32}, %p: tensor<i1>", F32, body, "%r0")


RIGHT = {
    "dot of depth 0": dot("3x0xf32", "0x4xf32", "3x4xf32"),
    "dot of depth 0 in bf16": dot("3x0xbf16", "0x4xbf16", "3x4xbf16"),
    "dot of depth 0 in i8": dot("3x0xi8", "0x4xi8", "3x4xi32"),
    "dot without rows": dot("0x3xf32", "3x4xf32", "0x4xf32"),
    "dot without batches": dot("0x2x3xf32", "0x3x4xf32", "0x2x4xf32", "batching_dims = [0] x [0], contracting_dims = [2] x [1]"),
    "convolution of no image": convolution("1x2x0x0", "3x2x3x3", "1x3x0x0"),
    "convolution of padding": convolution("1x2x0x4", "3x2x1x3", "1x3x2x4"),
    "convolution of no batch": convolution("0x2x8x8", "3x2x3x3", "0x3x8x8"),
    "convolution without inputs": convolution("1x0x8x8", "3x0x3x3", "1x3x8x8"),
    "convolution without outputs": convolution("1x2x8x8", "0x2x3x3", "1x0x8x8"),
    "convolution of nothing dilated": convolution("1x2x0x8", "3x2x1x3", "1x3x2x8", "pad = [[1, 1], [1, 1]], lhs_dilate = [3, 1]"),
    "reduce over nothing": reduce("3x0", "3xf32", "maximum"),
    "reduce of no rows": reduce("0x3", "0xf32"),
    "gather of empty slices": gather("4x5", "3x1", "3x0", "1, 0"),
    "gather of no slices": gather("4x5", "0x1", "0x5", "1, 5"),
    "sort of nothing": sort("0"),
    "sort without columns": sort("5x0"),
    "sort of empty columns": sort("0x5"),
    "FFT of no batch": fft("0x8xcomplex<f32>", "0x8xcomplex<f32>", "FFT", 8),
    "FFT of nothing": fft("3x0xcomplex<f32>", "3x0xcomplex<f32>", "FFT", 0),
    "RFFT of nothing": fft("3x0xf32", "3x0xcomplex<f32>", "RFFT", 0),
    "window over nothing": window("0x4", "0x3", "1, 2", ""),
    "window over padding": window("0", "3", "2", ", padding = dense<[[2, 2]]> : tensor<1x2xi64>"),
    "pad of nothing": pad("0x2", "3x2", "low = [1, 0], high = [2, 0], interior = [4, 0]"),
    "pad that takes all away": pad("4x2", "0x2", "low = [-2, 0], high = [-2, 0], interior = [0, 0]"),
    "concatenate nothing": one("0x2xf32", "3x2xf32", "stablehlo.concatenate %a, %b, %a, dim = 0 : (tensor<0x2xf32>, tensor<3x2xf32>, tensor<0x2xf32>) -> tensor<3x2xf32>",
                               ", %b: tensor<3x2xf32>"),
    "slice of nothing": one("4x2xf32", "0x2xf32", "stablehlo.slice %a [2:2, 0:2] : (tensor<4x2xf32>) -> tensor<0x2xf32>"),
    "dynamic slice of nothing": one("4x2xf32", "0x2xf32", "stablehlo.dynamic_slice %a, %i, %i, sizes = [0, 2] : (tensor<4x2xf32>, tensor<i32>, tensor<i32>) -> tensor<0x2xf32>",
                                    ", %i: tensor<i32>"),
    "dynamic update by nothing": one("4x2xf32", "4x2xf32", "stablehlo.dynamic_update_slice %a, %u, %i, %i "
                                     ": (tensor<4x2xf32>, tensor<0x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2xf32>", ", %u: tensor<0x2xf32>, %i: tensor<i32>"),
    "cholesky of nothing": one("2x0x0xf32", "2x0x0xf32", "stablehlo.cholesky %a, lower = true : tensor<2x0x0xf32>"),
    "transpose of nothing": one("3x0x2xf32", "2x3x0xf32", "stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<3x0x2xf32>) -> tensor<2x3x0xf32>"),
    "nested 100 deep": nested(100),
}
HUGE = "1000000000000xf32"
REFUSED = {  # with what the line says
    "argument that is too large": (program(f"%a: tensor<{HUGE}>", f"tensor<{HUGE}>", f"%0 = stablehlo.sine %a : tensor<{HUGE}>"), "out of memory (4000000000000 bytes"),
    "result that is too large": (one("f32", HUGE, f"stablehlo.broadcast_in_dim %a, dims = [] : ({F32}) -> tensor<{HUGE}>"), "out of memory (4000000000000 bytes"),
    "splat that is too large": (program("", f"tensor<{HUGE}>", f"%0 = stablehlo.constant dense<1.5> : tensor<{HUGE}>"), "out of memory (4000000000000 bytes"),
    "shape beyond 64 bits": (one("f32", "4611686018427387904x4xf32", f"stablehlo.broadcast_in_dim %a, dims = [] : ({F32}) -> tensor<4611686018427387904x4xf32>"),
                             "more than 2^63 elements"),
    "padding beyond memory": (pad("2", "9223372036854775807", "low = [9223372036854775805], high = [0], interior = [0]"), "more elements than memory can hold"),
    "padding beyond 64 bits": (pad("3", "3", "low = [0], high = [0], interior = [9223372036854775807]"), "does not fit in 64 bits"),
    "dilation beyond 64 bits": (convolution("1x1x4x4", "1x1x3x3", "1x1x0x2", "pad = [[0, 0], [0, 0]], rhs_dilate = [4611686018427387904, 1]"), "must fit in 64 bits"),
    "convolution without a kernel": (convolution("1x2x8x8", "3x2x0x3", "1x3x11x8"), "window sizes must be positive"),
    "gather from nothing": (gather("0x5", "3x1", "3x5", "1, 5"), "slice size must be in"),
    "nested 10,000 deep": (nested(10000), "nested more than"),
}


def check_extremes(folder: Path) -> list[str]:
    """All that are right in one run; what is refused, each by itself."""
    wrong = []
    for name, text in RIGHT.items():
        (folder / f"{name.replace(' ', '_')}.mlir").write_text(text)
    done = subprocess.run([BIN / "cupel", "eval", folder, "--device", "cupel"], capture_output=True, text=True, timeout=900, check=False)
    if done.returncode != 0 or f"{len(RIGHT)} passed, 0 failed" not in done.stdout:
        wrong.append(f"of what is possible: {done.stdout}{done.stderr}")
    for name, (text, said) in REFUSED.items():
        file = folder / "refused.mlir"
        file.write_text(text)
        done = subprocess.run([BIN / "cupel", "eval", file, "--device", "cupel"], capture_output=True, text=True, timeout=300, check=False)
        if done.returncode != 1 or said not in done.stderr:
            wrong.append(f"{name}: ended with {done.returncode}: {done.stdout}{done.stderr}")
    return wrong


T = "tensor<8x8xf32>"


def chain(count: int, line: str, before: str = "") -> str:
    """`line` again and again: {i} is its number, {x} the value before."""
    lines = [line.format(i=i, x=f"%{i - 1}" if i else "%a", T=T) for i in range(count)]
    return program(f"%a: {T}", T, "\n  ".join([before, *lines]), f"%{count - 1}")


def results(count: int) -> str:
    lines = [f"%{i} = stablehlo.{('sine', 'tanh', 'negate')[i % 3]} {'%a' if i % 16 == 0 else f'%{i - 1}'} : {T}" for i in range(count)]
    types, values = ", ".join([T] * count), ", ".join(f"%{i}" for i in range(count))
    return f"func.func @main(%a: {T}) -> ({types}) {{\n  " + "\n  ".join(lines) + f"\n  return {values} : {types}\n}}\n"


def shapes(count: int) -> str:
    lines = [f"%0 = stablehlo.constant dense<0.0> : {F32}"]
    for i in range(1, count // 3):
        s = f"tensor<{i}xf32>"
        lines += [f"%s{i} = stablehlo.slice %a [0:{i}] : (tensor<{count}xf32>) -> {s}",
                  f"%r{i} = stablehlo.reduce(%s{i} init: %0) applies stablehlo.add across dimensions = [0] : ({s}, {F32}) -> {F32}",
                  f"%{i} = stablehlo.add %{i - 1}, %r{i} : {F32}"]
    return program(f"%a: tensor<{count}xf32>", F32, "\n  ".join(lines), f"%{count // 3 - 1}")


MANY = {
    "dots": lambda n: chain(n, "%{i} = stablehlo.dot_general {x}, %a, contracting_dims = [1] x [0] : ({T}, {T}) -> {T}"),
    "reductions": lambda n: chain(n // 2, "%r{i} = stablehlo.reduce({x} init: %z) applies stablehlo.add across dimensions = [1] : ({T}, tensor<f32>) -> tensor<8xf32>\n  "
                                  "%{i} = stablehlo.broadcast_in_dim %r{i}, dims = [0] : (tensor<8xf32>) -> {T}", f"%z = stablehlo.constant dense<0.0> : {F32}"),
    "readers of one value": lambda n: chain(n // 2, "%m{i} = stablehlo.multiply %b, {x} : {T}\n  %{i} = stablehlo.dot_general %b, %m{i}, contracting_dims = [1] x [0] "
                                            ": ({T}, {T}) -> {T}", f"%b = stablehlo.sine %a : {T}"),
    "views": lambda n: chain(n // 5, "%r{i} = stablehlo.reshape {x} : ({T}) -> tensor<4x16xf32>\n  %t{i} = stablehlo.transpose %r{i}, dims = [1, 0] "
                             ": (tensor<4x16xf32>) -> tensor<16x4xf32>\n  %s{i} = stablehlo.slice %t{i} [0:8, 0:4] : (tensor<16x4xf32>) -> tensor<8x4xf32>\n  "
                             "%u{i} = stablehlo.slice %t{i} [8:16, 0:4] : (tensor<16x4xf32>) -> tensor<8x4xf32>\n  "
                             "%{i} = stablehlo.concatenate %s{i}, %u{i}, dim = 1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> {T}"),
    "results": results,
    "shapes": shapes,
}


def processor_time(file: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([BIN / "cupel", "compile", file, "--emit=device", "-o", os.devnull], capture_output=True, timeout=600, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def check_growth(folder: Path) -> list[str]:
    """Four times as many operations may take nine times as long, measured up to three times, less what a program of nothing costs."""
    few, wrong = 1500, []
    file = folder / "many.mlir"
    file.write_text(chain(2, "%{i} = stablehlo.sine {x} : {T}"))
    least = min(processor_time(file) for _ in range(3))
    for name, make in MANY.items():
        ratios = []
        for _ in range(3):
            times = []
            for count in (few, 4 * few):
                file.write_text(make(count))
                times.append(max(processor_time(file) - least, 0.01))
            ratios.append(times[1] / times[0])
            if ratios[-1] <= 9:
                break
        if min(ratios) > 9:
            wrong.append(f"four times as many {name} take {min(ratios):.1f} times as long to compile")
    return wrong


def main() -> int:
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        wrong = check_extremes(Path(one)) + check_growth(Path(other))
    for each in wrong:
        print(f"FAILED  {each}")
    total = 1 + len(REFUSED) + len(MANY)
    print(f"{total - len(wrong)} passed, {len(wrong)} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
