"""Products and convolutions of the bench models' shapes beside ONNX Runtime, case by case and in turns.

    .venv/bin/python bench/kernels/run.py build/bin [--threads N] [--rounds N] [WORD...]

Both are told the same number of threads and keep the best of many short runs, because others use the machine too: with one thread the time
that the thread computed for, with more the time on the clock. Weights are constants on both sides. A ratio over 1 is in our favour.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper
except ImportError as missing:
    sys.exit(f"{missing}: run it with a Python that has onnx and onnxruntime (.venv/bin/python)")


def session_of(nodes: list, inputs: dict[str, tuple], result: str, weights: dict[str, np.ndarray], threads: int) -> Callable[[], object]:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs.items()]
    output = helper.make_tensor_value_info(result, TensorProto.FLOAT, None)
    constants = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph(nodes, "case", values, [output], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {name: np.random.default_rng(1).standard_normal(shape).astype(np.float32) for name, shape in inputs.items()}
    return lambda: session.run([result], feeds)


def case_of(case: dict, threads: int) -> Callable[[], object]:
    random = np.random.default_rng(2)
    if shape := case.get("product"):
        left = (shape["batch"], shape["rows"], shape["depth"])
        right = (shape["batch"], shape["depth"], shape["columns"])
        if not shape["packed"]:
            return session_of([helper.make_node("MatMul", ["a", "b"], ["c"])], {"a": left, "b": right}, "c", {}, threads)
        weights = {
            "b": random.standard_normal(right[1:]).astype(np.float32),
            "bias": random.standard_normal(shape["columns"]).astype(np.float32),
        }
        nodes = [helper.make_node("Gemm", ["a", "b", "bias"], ["c"])]
        return session_of(nodes, {"a": left[1:]}, "c", weights, threads)
    shape = case["convolution"]
    kernel, padding = shape["kernel"], shape["padding"]
    weights = {
        "w": random.standard_normal((shape["outputs"], shape["inputs"] // shape["groups"], kernel, kernel)).astype(np.float32),
        "bias": random.standard_normal(shape["outputs"]).astype(np.float32),
    }
    node = helper.make_node(
        "Conv", ["x", "w", "bias"], ["c"], kernel_shape=[kernel] * 2, strides=[shape["stride"]] * 2, pads=[padding] * 4, group=shape["groups"]
    )
    return session_of([node], {"x": (1, shape["inputs"], shape["size"], shape["size"])}, "c", weights, threads)


def best_of(run: Callable[[], object], threads: int, seconds: float) -> float:
    clock = time.thread_time if threads == 1 else time.perf_counter
    best, end = float("inf"), time.perf_counter() + seconds
    run()
    while time.perf_counter() < end:
        start = clock()
        run()
        best = min(best, clock() - start)
    return best


def ours(binary: Path, threads: int, seconds: float, words: list[str]) -> dict[str, dict]:
    command = [str(binary), "--alone", "--json", "--threads", str(threads), "--seconds", str(seconds), *words]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return {case["name"]: case for case in map(json.loads, lines)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path, help="the folder of bench_kernels")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("words", nargs="*", help="only cases whose names have one of them")
    options = parser.parse_intermixed_args()
    binary = options.bin / "bench_kernels"
    if not binary.exists():
        sys.exit(f"{binary} is not there: ninja -C build bench_kernels")
    best_ours: dict[str, dict] = {}
    best_theirs: dict[str, float] = {}
    for _ in range(options.rounds):
        found = ours(binary, options.threads, 0.15, options.words)
        for name, case in found.items():
            if name.startswith(("bf16", "int8")):
                continue  # For how instruction sets compare: ONNX Runtime has no products in bf16, and bench/int8 has its integers.
            if name not in best_ours or case["us"] < best_ours[name]["us"]:
                best_ours[name] = case
            seconds = best_of(case_of(case, options.threads), options.threads, 0.15)
            best_theirs[name] = min(best_theirs.get(name, float("inf")), seconds * 1e6)
    print(f"{options.threads} threads, onnxruntime {onnxruntime.__version__}, onnx {onnx.__version__}")
    print(f"{'case':36} {'times':>5} {'us':>10} {'GFLOP/s':>9} {'of peak':>8} {'theirs us':>10} {'ratio':>6}")
    sums = [0.0, 0.0]
    for name, case in best_ours.items():
        speed = case["flops"] / case["us"] * 1e-3
        share = 100 * speed / case["peak_gflops"]
        ratio = best_theirs[name] / case["us"]
        print(f"{name:36} {case['count']:5} {case['us']:10.1f} {speed:9.1f} {share:7.1f}% {best_theirs[name]:10.1f} {ratio:6.2f}")
        sums[0] += case["count"] * case["us"]
        sums[1] += case["count"] * best_theirs[name]
    if sums[0]:
        print(f"{'sum':36} {'':5} {sums[0]:10.1f} {'':9} {'':8} {sums[1]:10.1f} {sums[1] / sums[0]:6.2f}")


if __name__ == "__main__":
    main()
