"""How many operator cases a second `cupel run` takes, against torch.compile(op, backend="inductor") for each case.

usage: .venv/bin/python bench/opcases/run.py BUILD/bin [--cases N] [--sample N] [--jobs N] [--device NAME] [--strict]

Ours: one `cupel run` over all cases, from its start to its end: start of the workers and the import of torch, inputs, the expected result,
lowering, compiling, running, comparing, journal and store. The yardstick, in the same minute on the same machine: a process that has
imported torch and compiled one operator already compiles, runs and compares a sample of the same cases, spread evenly over them, with
Inductor's caches empty; its time a case is taken for the rest. With --strict the exit code says whether we are 100 times as fast.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
AIM = 100.0

UNARY = ("torch.exp", "torch.rsqrt", "torch.sigmoid", "torch.tanh", "torch.nn.functional.silu", "torch.nn.functional.gelu", "torch.neg", "torch.abs",
         "torch.sin", "torch.relu", "torch.square", "torch.floor")
BINARY = ("torch.add", "torch.sub", "torch.mul", "torch.div", "torch.pow", "torch.maximum")
SHAPES = ([8, 64], [2, 16, 32], [4, 4, 8, 8], [128], [3, 5, 7])


def cases() -> list[dict]:
    """Distinct cases as a model's extraction gives them: elementwise, reductions, products, shapes, normalisations."""
    made: list[dict] = []

    def add(op: str, *inputs: dict, **attrs: object) -> None:
        case: dict = {"name": f"case_{len(made)}", "op": op, "inputs": list(inputs)}
        if attrs:
            case["attrs"] = attrs
        made.append(case)

    def tensor(*shape: int) -> dict:
        return {"tensor": {"shape": list(shape)}}

    for shape in SHAPES:
        for op in UNARY:
            add(op, tensor(*shape))
        for op in BINARY:
            add(op, tensor(*shape), tensor(*shape))
            if op != "torch.maximum":
                add(op, tensor(*shape), {"value": 1.5})
        for op in ("torch.sum", "torch.mean", "torch.amax", "torch.softmax"):
            add(op, tensor(*shape), dim=-1)
        add("torch.nn.functional.layer_norm", tensor(*shape), {"value": [shape[-1]]})
        add("torch.reshape", tensor(*shape), {"value": [-1]})
        add("torch.cat", {"tensor_list": [{"shape": shape}, {"shape": shape}]}, dim=0)
        add("torch.unsqueeze", tensor(*shape), {"value": 0})
        add("torch.clamp", tensor(*shape), min=0.2, max=0.8)
    for rows in (4, 16, 32):
        for inner in (8, 24, 64):
            for columns in (8, 40):
                add("torch.matmul", tensor(rows, inner), tensor(inner, columns))
                add("torch.nn.functional.linear", tensor(2, rows, inner), tensor(columns, inner), tensor(columns))
    for size in (8, 16):
        for channels in (3, 8):
            add("torch.nn.functional.conv2d", tensor(1, channels, size, size), tensor(4, channels, 3, 3), padding=1)
            add("torch.nn.functional.max_pool2d", tensor(1, channels, size, size), {"value": 2})
    for heads in (1, 2, 4):
        add("torch.nn.functional.scaled_dot_product_attention", *(tensor(1, heads, 8, 16) for _ in range(3)))
    return made


INDUCTOR = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import torch
import torch._inductor.config
torch._inductor.config.fx_graph_cache = False
from cupel.worker.inputs import make_arguments
from cupel.worker.operators import resolve
cases = json.load(open(sys.argv[2]))
def run(case):
    function = resolve(case["op"])
    positional, named = make_arguments(case)
    expected = function(*positional, **named)
    torch._dynamo.reset()
    actual = torch.compile(function, backend="inductor", dynamic=False)(*positional, **named)
    torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-3)
run(cases[0])
for case in cases[1:]:
    begin = time.perf_counter()
    run(case)
    print(json.dumps([case["op"], time.perf_counter() - begin]), flush=True)
"""


def measure_ours(bin: Path, folder: Path, file: Path, options: argparse.Namespace) -> tuple[float, dict]:
    report = folder / "report.json"
    words = [bin / "cupel", "run", file, "-q", "-j", str(options.jobs), "--results", folder / "results", "--json", report, "--python", sys.executable]
    if options.device:
        words += ["--device", options.device]
    begin = time.perf_counter()
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seconds = time.perf_counter() - begin
    if not report.is_file():
        sys.exit(f"cupel run ended with {done.returncode}: {done.stdout}")
    return seconds, json.loads(report.read_text())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path)
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--sample", type=int, default=10, help="how many of them Inductor compiles")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="")
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    chosen = cases()[:options.cases]
    if len(chosen) < options.cases:
        sys.exit(f"there are {len(chosen)} cases")
    with tempfile.TemporaryDirectory(prefix="cupel-bench-") as name:
        folder = Path(name)
        # JSON is YAML.
        file = folder / "bench.yaml"
        file.write_text("model: bench\ndefault: {dtype: fp32, seed: 1, rtol: 1.0e-3, atol: 1.0e-3}\ncases:\n"
                        + "".join(f"  - {json.dumps(case)}\n" for case in chosen))
        seconds, report = measure_ours(options.bin.resolve(), folder, file, options)
        outcomes = report["summary"]["outcomes"]
        passed, ran = outcomes["passed"], report["summary"]["opcases"]["total"]["executed"]
        inside = report["summary"]["opcases"]["total"]["seconds_per_case"]
        sample = chosen[::max(1, len(chosen) // options.sample)][:options.sample]
        plain = [{"seed": 1, **case, "inputs": [as_sent(one) for one in case["inputs"]],
                  "attrs": {key: {"value": value} for key, value in case.get("attrs", {}).items()}} for case in [chosen[0], *sample]]
        (folder / "sample.json").write_text(json.dumps(plain))
        environment = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=str(folder / "inductor"), TORCHINDUCTOR_FORCE_DISABLE_CACHES="1")
        done = subprocess.run([sys.executable, "-c", INDUCTOR, str(ROOT / "python"), str(folder / "sample.json")], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        times = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
        if done.returncode != 0 or len(times) != len(sample):
            sys.exit(f"Inductor ended with {done.returncode}: {done.stderr[-2000:]}")
    theirs = sum(seconds_of for _, seconds_of in times) / len(times)
    ratio = theirs / (seconds / len(chosen))
    print(f"cases                      {len(chosen)}, {ran} ran, {passed} passed")
    print(f"cupel run, whole           {seconds:.2f} s, {len(chosen) / seconds:.1f} cases a second (a case itself {1e3 * inside:.2f} ms, {options.jobs} worker)")
    print(f"torch.compile, inductor    {theirs:.2f} s a case ({len(times)} of {len(chosen)} cases, import and first compile not counted), "
          f"{1 / theirs:.2f} cases a second")
    print(f"ratio                      {ratio:.0f}x (aim {AIM:.0f}x); without start-up {theirs / inside:.0f}x")
    return 1 if options.strict and (ratio < AIM or passed != len(chosen)) else 0


def as_sent(argument: dict) -> dict:
    """An input as the worker gets it, defaults filled in."""
    def filled(spec: dict) -> dict:
        return {"dtype": "float32", "init": "rand", **spec}
    if "tensor" in argument:
        return {"tensor": filled(argument["tensor"])}
    if "tensor_list" in argument:
        return {"tensor_list": [filled(spec) for spec in argument["tensor_list"]]}
    return argument


if __name__ == "__main__":
    sys.exit(main())
