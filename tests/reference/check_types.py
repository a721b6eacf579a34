"""The element types that MLIR 19 lacks against ml_dtypes, exhaustively, through `cupel eval`.

Every bit pattern of f4E2M1FN, f6E2M3FN, f6E3M2FN, f8E3M4 and f8E8M0FNU becomes every other float and several integers; every number of f16 and
bf16, every value of the type, every middle between two of them and the neighbours of all of these in f32 becomes the type. Programs
go in as text and come back as portable artifacts; arrays are .npy files as ml_dtypes writes them. ml_dtypes converts f64 and wide integers by
way of f32, so only numbers that f32 holds are compared from there.

Usage: check_types.py BIN
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import ml_dtypes
import numpy as np

TYPES = {"f4E2M1FN": ml_dtypes.float4_e2m1fn, "f6E2M3FN": ml_dtypes.float6_e2m3fn, "f6E3M2FN": ml_dtypes.float6_e3m2fn,
         "f8E3M4": ml_dtypes.float8_e3m4, "f8E8M0FNU": ml_dtypes.float8_e8m0fnu}
BITS = {"f4E2M1FN": 4, "f6E2M3FN": 6, "f6E3M2FN": 6, "f8E3M4": 8, "f8E8M0FNU": 8}
FLOATS = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f8E5M2": ml_dtypes.float8_e5m2,
          "f8E4M3FN": ml_dtypes.float8_e4m3fn, **TYPES}
INTEGERS = {"i8": np.int8, "ui8": np.uint8, "i32": np.int32, "i1": np.bool_}

counts = {"passed": 0, "failed": 0}


def expect(holds: bool, what: str) -> None:
    counts["passed" if holds else "failed"] += 1
    if not holds:
        print(f"FAILED  {what}")


def run(*command: str | Path) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        expect(False, f"{' '.join(str(word) for word in command[:3])} ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def interesting(dtype: np.dtype, bits: int) -> np.ndarray:
    """Numbers of f32 where a rounding to the type may go wrong."""
    halves = np.arange(1 << 16, dtype=np.uint16)
    numbers = [halves.view(np.float16).astype(np.float32), halves.view(ml_dtypes.bfloat16).astype(np.float32)]
    values = np.arange(1 << bits, dtype=np.uint8).view(dtype).astype(np.float64)
    values = np.unique(values[np.isfinite(values)])
    ends = [values[0] - (values[1] - values[0]), values[-1] + (values[-1] - values[-2])]
    values = np.concatenate([values, ends, [2.0**-149, 2.0**-128, 2.0**128 * (1 - 2.0**-24)]])
    values.sort()
    around = np.concatenate([values, (values[1:] + values[:-1]) / 2]).astype(np.float32)
    with np.errstate(over="ignore"):
        numbers += [around, np.nextafter(around, np.float32(np.inf)), np.nextafter(around, np.float32(-np.inf))]
    # NaNs with a payload that a narrow type has no room for are one NaN to ml_dtypes.
    everything = np.concatenate(numbers)
    return np.where(np.isnan(everything), np.copysign(np.float32(np.nan), everything), everything)


def same(actual: np.ndarray, expected: np.ndarray, name: str) -> np.ndarray:
    """Bit for bit, but for which NaN it is."""
    equal = actual == expected
    if name in ("f8E3M4", "f16", "bf16", "f8E5M2", "f8E4M3FN"):
        wide = FLOATS[name]
        equal |= np.isnan(actual.view(wide).astype(np.float32)) & np.isnan(expected.view(wide).astype(np.float32))
    elif name in ("f32", "f64"):
        equal |= np.isnan(actual.view(FLOATS[name])) & np.isnan(expected.view(FLOATS[name]))
    return equal


def raw(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array).view({1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[array.dtype.itemsize])


def check_type(bin_folder: Path, work: Path, name: str) -> None:
    dtype, bits = np.dtype(TYPES[name]), BITS[name]
    patterns = np.arange(1 << bits, dtype=np.uint8).view(dtype)
    numbers = interesting(dtype, bits)
    whole = np.concatenate([np.arange(-300, 301), [2**24, -(2**24), 2**20 + 1, 3 * 2**18]]).astype(np.int32)
    others = {**FLOATS, **INTEGERS}
    # An integer of what is no number, or too large, is ours to choose; NumPy leaves it to the machine.
    finite = np.isfinite(patterns.astype(np.float32))
    lines, results = [], []
    for i, other in enumerate(others):
        lines.append(f"    %p{i} = stablehlo.convert %p : (tensor<{len(patterns)}x{name}>) -> tensor<{len(patterns)}x{other}>")
        results.append((f"%p{i}", f"tensor<{len(patterns)}x{other}>"))
    for i, (source, count) in enumerate((("x", len(numbers)), ("d", len(numbers)), ("w", len(whole)))):
        kind = {"x": "f32", "d": "f64", "w": "i32"}[source]
        lines.append(f"    %n{i} = stablehlo.convert %{source} : (tensor<{count}x{kind}>) -> tensor<{count}x{name}>")
        results.append((f"%n{i}", f"tensor<{count}x{name}>"))
    text = (f"func.func @main(%p: tensor<{len(patterns)}x{name}>, %x: tensor<{len(numbers)}xf32>, %d: tensor<{len(numbers)}xf64>, %w: tensor<{len(whole)}xi32>)"
            f" -> ({', '.join(type_ for _, type_ in results)}) {{\n" + "\n".join(lines) +
            f"\n    return {', '.join(value for value, _ in results)} : {', '.join(type_ for _, type_ in results)}\n}}\n")
    program, artifact = work / f"{name}.mlir", work / f"{name}.mlirbc"
    program.write_text(text)
    run(bin_folder / "cupel", "opt", "--emit=portable", program, "-o", artifact)
    printed = run(bin_folder / "cupel", "opt", artifact)
    expect(f"x{name}>" in printed and "!stablehlo" not in printed, f"{name}: an artifact is printed with the type's plain name")
    for file, array in (("p", patterns), ("x", numbers), ("d", numbers.astype(np.float64)), ("w", whole)):
        np.save(work / f"{file}.npy", array)
    saved = work / name
    run(bin_folder / "cupel", "eval", artifact, "--args", *(work / f"{file}.npy" for file in "pxdw"), "--save", saved)
    for i, (other, target) in enumerate(others.items()):
        file = saved / f"result{i}.npy"
        if not file.is_file():
            return expect(False, f"{name}: {file.name} was not written")
        actual = raw(np.load(file))
        with np.errstate(all="ignore"):
            expected = raw(patterns.astype(np.float32).astype(target))  # f32 holds them all
        equal = same(actual, expected, other)
        if other in INTEGERS and other != "i1":
            limits = np.iinfo(target)
            held = finite & (patterns.astype(np.float64) >= limits.min) & (patterns.astype(np.float64) <= limits.max)
            equal |= ~held
        bad = np.flatnonzero(~equal)
        expect(len(bad) == 0, f"{name} -> {other}: pattern {bad[:1]} gives {actual[bad[:1]]}, ml_dtypes {expected[bad[:1]]} ({len(bad)} of {len(equal)})")
    for i, (source, array) in enumerate((("f32", numbers), ("f64", numbers), ("i32", whole))):
        actual = raw(np.load(saved / f"result{len(others) + i}.npy"))
        with np.errstate(all="ignore"):
            expected = raw(array.astype(np.float32).astype(dtype))
        equal = same(actual, expected, name)
        bad = np.flatnonzero(~equal)
        expect(len(bad) == 0, f"{source} -> {name}: {array[bad[:1]]!r} gives {actual[bad[:1]]}, ml_dtypes {expected[bad[:1]]} ({len(bad)} of {len(equal)})")


def main() -> int:
    bin_folder = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        for name in TYPES:
            check_type(bin_folder, Path(folder), name)
    print(f"{counts['passed']} passed, {counts['failed']} failed")
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
