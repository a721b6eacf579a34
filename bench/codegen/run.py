#!/usr/bin/env python3
"""Times generated code beside torch and ONNX Runtime in one run, one thread each, and prints ratios.

usage: run.py BUILD/bin [--only WORD] [--seconds S] [--strict]

They take turns, so that they see the same neighbours; of each the best time of its thread counts. `bandwidth` is the memory traffic
that the kernel cannot do without, as a part of a triad's in the same run. A peer that is not installed is left out. --strict ends
with 1 if a kernel takes longer than its best peer.
"""

import os

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"

import argparse
import json
import subprocess
import sys
import time

ROWS, LENGTH = 4096, 1024


def best(work, seconds):
    work()
    least, end = float("inf"), time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.thread_time()
        work()
        least = min(least, time.thread_time() - begin)
    return 1e3 * least


def torch_cases():
    try:
        import torch
    except ImportError:
        return {}
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    functional = torch.nn.functional
    x, y, w = torch.randn(ROWS, LENGTH), torch.randn(ROWS, LENGTH), torch.randn(LENGTH)
    square, turned = torch.randn(2048, 2048), torch.empty(2048, 2048)
    return {
        "chain": lambda: torch.tanh(x) * y + torch.exp(-x),
        "gelu": lambda: functional.gelu(x),
        "softmax": lambda: torch.softmax(x, -1),
        "layer_norm": lambda: functional.layer_norm(x, (LENGTH,), w, w),
        "reduce_all": lambda: x.sum(),
        "reduce_columns": lambda: x.sum(0),
        "reduce_rows": lambda: x.sum(1),
        "transpose": lambda: turned.copy_(square.t()),
    }


def onnx_cases():
    try:
        import numpy as np
        import onnxruntime as ort
        from onnx import TensorProto, helper
    except ImportError:
        return {}
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    random = np.random.default_rng(1)

    def case(nodes, shapes, initializers=()):
        inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items()]
        output = helper.make_tensor_value_info("out", TensorProto.FLOAT, None)
        graph = helper.make_graph(nodes, "bench", inputs, [output], list(initializers))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        values = {name: random.standard_normal(shape, dtype=np.float32) for name, shape in shapes.items()}
        out = session.run(None, values)[0]
        binding = session.io_binding()  # Memory is there before the call, as it is for generated code.
        for name, value in values.items():
            binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(value))
        binding.bind_ortvalue_output("out", ort.OrtValue.ortvalue_from_numpy(np.asarray(out)))
        return lambda: session.run_with_iobinding(binding)

    node, axes = helper.make_node, lambda value: helper.make_tensor("axes", TensorProto.INT64, [1], [value])
    x = {"x": (ROWS, LENGTH)}
    return {
        "chain": case(
            [node("Tanh", ["x"], ["a"]), node("Mul", ["a", "y"], ["b"]), node("Neg", ["x"], ["c"]), node("Exp", ["c"], ["d"]), node("Add", ["b", "d"], ["out"])],
            {"x": (ROWS, LENGTH), "y": (ROWS, LENGTH)},
        ),
        "gelu": case([node("Gelu", ["x"], ["out"])], x),
        "softmax": case([node("Softmax", ["x"], ["out"], axis=-1)], x),
        "layer_norm": case([node("LayerNormalization", ["x", "w", "b"], ["out"], axis=-1)], {**x, "w": (LENGTH,), "b": (LENGTH,)}),
        "reduce_all": case([node("ReduceSum", ["x"], ["out"], keepdims=0)], x),
        "reduce_columns": case([node("ReduceSum", ["x", "axes"], ["out"], keepdims=0)], x, [axes(0)]),
        "reduce_rows": case([node("ReduceSum", ["x", "axes"], ["out"], keepdims=0)], x, [axes(1)]),
        "transpose": case([node("Transpose", ["x"], ["out"], perm=[1, 0])], {"x": (2048, 2048)}),
    }


def ours(binary, name, seconds):
    run = subprocess.run([binary, "--seconds", str(seconds), "--only", name], capture_output=True, text=True, check=True, env={**os.environ, "CUPEL_CODE_CACHE": "0"})
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    return lines[0], next(line for line in lines if line["name"] == name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    binary = os.path.join(options.binaries, "bench_codegen")
    peers = {"torch": torch_cases(), "onnxruntime": onnx_cases()}
    names = ["chain", "gelu", "softmax", "layer_norm", "reduce_all", "reduce_columns", "reduce_rows", "transpose"]
    slower = []
    print(f"{'kernel':15} {'made in':>8} {'time':>9} {'bandwidth':>10}", *(f"{name:>12}" for name in peers), f"{'ratio':>6}")
    for name in names:
        if options.only not in name:
            continue
        times = {peer: float("inf") for peer, cases in peers.items() if name in cases}
        mine, share, made = float("inf"), 0.0, float("inf")
        for _ in range(3):
            triad, line = ours(binary, name, options.seconds / 3)
            mine, made = min(mine, line["run_ms"]), min(made, line["compile_ms"])
            share = max(share, line["gigabytes_per_second"] / triad["gigabytes_per_second"])
            for peer in times:
                times[peer] = min(times[peer], best(peers[peer][name], options.seconds / 3))
        ratio = mine / min(times.values()) if times else float("nan")
        if ratio > 1:
            slower.append(name)
        cells = [f"{times[peer]:9.3f} ms" if peer in times else f"{'-':>12}" for peer in peers]
        print(f"{name:15} {made:5.1f} ms {mine:6.3f} ms {100 * share:8.0f} %", *cells, f"{ratio:6.2f}", flush=True)
    if slower:
        print("slower than the best peer:", ", ".join(slower))
    sys.exit(1 if options.strict and slower else 0)


main()
