#!/usr/bin/env python3
"""Times the reference beside NumPy in one run, one thread each, and prints ratios and bars.

usage: run.py BUILD/bin [--only WORD] [--seconds S] [--strict]

They take turns, so that they see the same neighbours; the best time of each counts. The results of
both are compared before anything is timed, and those of two threads must be the same bits as those
of one. The columns "2 threads" have no bar but that; the ratio is the time of one thread over that
of two. --strict ends with 1 if something is over its bar. Needs numpy and ml_dtypes (.venv has
them).
"""

import os

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import ml_dtypes
import numpy as np

PROGRAMS = pathlib.Path(__file__).resolve().parent / "programs"
RANDOM = np.random.default_rng(4)


def normal(*shape):
    return RANDOM.standard_normal(shape, dtype=np.float32)


class Case:
    """A program, its arguments and what NumPy does for the same. `judge` is NumPy's function that
    is timed where that is not the one that computes the result."""

    def __init__(self, name, bar, arguments, function, judge=None, rtol=1e-5, atol=1e-5, note="",
                 accumulate="native"):
        self.program, self.accumulate = name, accumulate
        if accumulate != "native":
            name += "_" + accumulate
        self.name, self.bar, self.arguments, self.function = name, bar, arguments, function
        self.judge, self.rtol, self.atol, self.note = judge or function, rtol, atol, note


def window(combine):
    def run(a):
        result = a[:, :110, :110].copy()
        for y in range(3):
            for x in range(3):
                if y or x:
                    combine(result, a[:, y : y + 110, x : x + 110], out=result)
        return result

    return run


def scatter_overwrite(a, i, u):
    result = a.copy()
    result[i[:, 0]] = u
    return result


def scatter_add(a, i, u):
    result = a.copy()
    np.add.at(result, i[:, 0], u)
    return result


def sort(key):
    def run(k, p):
        order = np.argsort(key(k), kind="stable")
        return k[order], p[order]

    return run


def patches(a):
    padded = np.pad(a[0], ((0, 0), (1, 1), (1, 1)))
    views = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    return np.ascontiguousarray(views.transpose(0, 3, 4, 1, 2)).reshape(64 * 9, 56 * 56)


def convolution(a, b):
    return (b.reshape(64, 64 * 9) @ patches(a)).reshape(1, 64, 56, 56)


def depthwise(a, k):
    padded = np.pad(a[0], ((0, 0), (1, 1), (1, 1)))
    result = np.zeros((64, 56, 56), np.float32)
    for y in range(3):
        for x in range(3):
            result += padded[:, y : y + 56, x : x + 56] * k[:, 0, y, x, None, None]
    return result[None]


def count(n):
    i, x = 0, 0.0
    while i < n:
        i, x = i + 1, x + 0.5
    return np.int32(i), np.float32(x)


def cases():
    """Made one by one: the tensors of all together are large."""
    million, matrix = 1_000_000, (4096, 1024)
    yield Case("add_f32", 2, [normal(million), normal(million)], np.add)
    bf16 = [normal(million).astype(ml_dtypes.bfloat16) for _ in range(2)]
    yield Case("add_bf16", 2, bf16, np.add)
    yield Case("exp", 8, [normal(million)], np.exp, rtol=1e-6)
    yield Case("tanh", 8, [normal(million)], np.tanh, rtol=1e-6)
    for name, function in (("add", np.sum), ("max", np.max)):
        for axis, over in ((1, "rows"), (0, "columns")):
            yield Case(f"reduce_{name}_{over}", 2, [normal(*matrix)],
                       lambda a, function=function, axis=axis: function(a, axis=axis), atol=1e-3)
    for axis, over in ((1, "rows"), (0, "columns")):
        yield Case(f"reduce_add_{over}", 2, [normal(*matrix)],
                   lambda a, axis=axis: np.sum(a, axis=axis), atol=1e-3, accumulate="f64",
                   note="we accumulate in f64")
    yield Case("reduce_window_max", 2, [normal(64, 112, 112)], window(np.maximum))
    yield Case("reduce_window_add", 2, [normal(64, 112, 112)], window(np.add))
    yield Case("broadcast_rows", 2, [normal(2048)],
               lambda a: np.broadcast_to(a[:, None], (2048, 2048)).copy())
    yield Case("broadcast_columns", 2, [normal(2048)],
               lambda a: np.broadcast_to(a[None], (2048, 2048)).copy())
    yield Case("transpose", 2, [normal(2048, 2048)], lambda a: np.ascontiguousarray(a.T))
    table = normal(100_000, 64)
    rows = RANDOM.integers(0, 100_000, (100_000, 1), dtype=np.int32)
    yield Case("gather", 2, [table, rows], lambda a, i: np.take(a, i[:, 0], axis=0))
    update = normal(100_000, 64)
    yield Case("scatter_overwrite", 2, [table, rows, update], scatter_overwrite)
    yield Case("scatter_add", 2, [table, rows, update], scatter_add)
    keys, payload = normal(million), np.arange(million, dtype=np.int32)
    yield Case("sort_known", 3, [keys, payload], sort(lambda k: k))
    yield Case("dot_512", 6, [normal(512, 512), normal(512, 512)], np.matmul, atol=1e-3)
    yield Case("dot_batched", 6, [normal(16, 256, 128), normal(16, 128, 256)], np.matmul, atol=1e-3)
    yield Case("matrix_vector", None, [normal(2048, 2048), normal(2048)], np.matmul, atol=1e-3)
    yield Case("vector_matrix", None, [normal(2048), normal(2048, 2048)], np.matmul, atol=1e-3)
    yield Case("matrix_vector", None, [normal(2048, 2048), normal(2048)], np.matmul, atol=1e-3,
               accumulate="f64", note="correctly rounded")
    yield Case("dot_512", None, [normal(512, 512), normal(512, 512)], np.matmul, atol=1e-3,
               accumulate="f64", note="correctly rounded")
    image, kernel = normal(1, 64, 56, 56), normal(64, 64, 3, 3)
    flat, columns = kernel.reshape(64, 64 * 9), patches(image)
    yield Case("convolution", 6, [image, kernel], convolution, judge=lambda a, b: flat @ columns,
               atol=1e-3, note="NumPy: the matrix product alone")
    yield Case("convolution_depthwise", None, [image, normal(64, 1, 3, 3)], depthwise, atol=1e-3)
    yield Case("while", None, [np.int32(100_000)], count)
    yield Case("reduce_unknown_rows", None, [normal(*matrix)],
               lambda a: np.sum(np.abs(a), axis=1), atol=1e-1)
    yield Case("reduce_unknown_columns", None, [normal(*matrix)],
               lambda a: np.sum(np.abs(a), axis=0), atol=1e-1)
    yield Case("sort_unknown", None, [keys, payload], sort(np.abs))


# Cases that are held against another of ours, and the bar.
AGAINST = {
    "reduce_unknown_rows": ("reduce_add_rows", 10),
    "reduce_unknown_columns": ("reduce_add_columns", 10),
    "sort_unknown": ("sort_known", 30),
}
STEPS_A_SECOND = 2e6
CHAIN_BYTES = 800e6


def check(case, folder):
    expected = case.function(*case.arguments)
    for i, value in enumerate(expected if isinstance(expected, tuple) else (expected,)):
        actual = np.load(folder / f"result{i}.npy")
        if value.dtype == ml_dtypes.bfloat16:
            actual = actual.view(ml_dtypes.bfloat16)
        if actual.shape != value.shape or actual.dtype != value.dtype:
            sys.exit(f"{case.name}: result {i} is {actual.dtype}{actual.shape}, "
                     f"NumPy's is {value.dtype}{value.shape}")
        if not np.allclose(actual.astype(np.float64), value.astype(np.float64),
                           rtol=case.rtol, atol=case.atol):
            sys.exit(f"{case.name}: result {i} differs from NumPy's")


class Server:
    """bench_reference, which runs the case once for each line it gets."""

    def __init__(self, binary, case, files, folder, threads):
        folder.mkdir()
        self.process = subprocess.Popen(
            [binary, PROGRAMS / f"{case.program}.mlir", *files, "--serve", f"--save={folder}",
             f"--accumulate={case.accumulate}", f"--threads={threads}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            sys.exit(f"{case.name}: bench_reference did not run")

    def seconds(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(binary, case, seconds):
    """The best times of ours on one thread and on two, and of NumPy's."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = []
        for i, argument in enumerate(case.arguments):
            files.append(str(folder / f"argument{i}.npy"))
            np.save(files[-1], argument)
        one, two = (Server(binary, case, files, folder / str(n), n) for n in (1, 2))
        check(case, folder / "1")
        for result in sorted((folder / "1").iterdir()):
            if result.read_bytes() != (folder / "2" / result.name).read_bytes():
                sys.exit(f"{case.name}: {result.name} depends on the number of threads")
        ours = doubled = numpy = float("inf")
        end = time.perf_counter() + seconds
        rounds = 0
        while rounds < 5 or (time.perf_counter() < end and rounds < 1000):
            start = time.perf_counter()
            case.judge(*case.arguments)
            numpy = min(numpy, time.perf_counter() - start)
            ours = min(ours, one.seconds())
            doubled = min(doubled, two.seconds())
            rounds += 1
        one.close()
        two.close()
    return ours, doubled, numpy


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--seconds", type=float, default=1.0, help="spent on each case")
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    binary = options.bin / "bench_reference"
    over = 0

    def row(name, ours, other, ratio, doubled, gain, bar, ok, note=""):
        nonlocal over
        over += not ok
        print(f"{name:24} {ours:>11} {other:>11} {ratio:>6} {doubled:>11} {gain:>6} {bar:>13}  "
              f"{'ok' if ok else 'OVER':4} {note}".rstrip(), flush=True)

    print("load of the machine (1, 5, 15 minutes): "
          + ", ".join(f"{load:.2f}" for load in os.getloadavg()))
    print(f"{'case':24} {'ours':>11} {'NumPy':>11} {'ratio':>6} {'2 threads':>11} {'gain':>6} "
          f"{'bar':>13}")
    mine = {}
    for case in cases():
        if options.only not in case.name:
            continue
        ours, doubled, numpy = measure(binary, case, options.seconds)
        mine[case.name] = ours
        times = (f"{ours * 1e3:.3f} ms", f"{numpy * 1e3:.3f} ms", f"{ours / numpy:.2f}",
                 f"{doubled * 1e3:.3f} ms", f"{ours / doubled:.2f}x")
        if case.name in AGAINST:
            other, bar = AGAINST[case.name]
            if other not in mine:
                row(case.name, *times, "-", True)
                continue
            ratio = ours / mine[other]
            row(case.name, *times, f"{bar}x known", ratio <= bar, f"{ratio:.2f}x {other}")
        elif case.name == "while":
            steps = int(case.arguments[0]) / ours
            row(case.name, *times, f"{STEPS_A_SECOND / 1e6:g} M steps/s", steps >= STEPS_A_SECOND,
                f"{steps / 1e6:.2f} M steps/s (Python's loop beside it)")
        elif case.bar is None:
            row(case.name, *times, "-", True, case.note)
        else:
            row(case.name, *times, f"{case.bar}x", ours / numpy <= case.bar, case.note)
    if options.only in "memory_chain":
        told = subprocess.run([binary, PROGRAMS / "memory_chain.mlir", "--repeat=1"],
                              check=True, capture_output=True, text=True)
        found = json.loads(told.stdout)
        row("memory_chain", f"{found['best_s'] * 1e3:.0f} ms", "-", "-", "-", "-",
            f"{CHAIN_BYTES / 1e6:.0f} MB", found["peak_bytes"] < CHAIN_BYTES,
            f"peak {found['peak_bytes'] / 1e6:.0f} MB, argument of 268 MB and all else included")
    print(f"{over} over the bar" if over else "all within their bars")
    return 1 if over and options.strict else 0


if __name__ == "__main__":
    sys.exit(main())
