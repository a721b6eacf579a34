#!/usr/bin/env python3
"""Generated C++ against torch eager: run.py BIN [--threads 1,2] [--only WORD] [--folder DIR] [--runs N] [--strict]

Each model is exported, generated, built by one g++ line, held against torch and the compiled device, and measured in turns with torch on the
same threads. A ratio above 1 is faster than torch. --strict fails where one is below, and where the compiled device is farther than 1e-5. --cpu takes the processor's time in
place of the clock's: what can be said on a machine that others use too.
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "bench/models")]

import nets  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

ROUNDS = 4
MOST_DISTANCE = 1e-5  # From the compiled device.


class BasicBlock(nn.Module):
    def __init__(self, inner: int, outer: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nets.conv(inner, outer, 3, stride, act=nn.ReLU()), nets.conv(outer, outer, 3))
        self.skip = nets.conv(inner, outer, 1, stride) if stride > 1 or inner != outer else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.body(x) + self.skip(x))


@nets.seeded
def resnet18() -> nets.Built:
    layers: list[nn.Module] = [nets.conv(3, 64, 7, 2, act=nn.ReLU()), nn.MaxPool2d(3, 2, 1)]
    inner = 64
    for outer in (64, 128, 256, 512):
        layers += [BasicBlock(inner, outer, 1 if outer == 64 else 2), BasicBlock(outer, outer, 1)]
        inner = outer
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)]
    return nn.Sequential(*layers), (torch.randn(1, 3, 224, 224),)


@nets.seeded
def gpt2_block() -> nets.Built:
    layer = nets.PreNormLayer(768, 12, "tanh")
    layer.forward = functools.partial(layer.forward, causal=True)
    return layer, (torch.randn(1, 128, 768),)


MODELS = {"resnet18": resnet18, "gpt2_block": gpt2_block, "mobilenet_v2": nets.mobilenet_v2, "bert_base_s128": nets.bert_base_s128}


def prepare(name: str, folder: Path) -> tuple[nn.Module, tuple[torch.Tensor, ...], Path, str]:
    from cupel.torch import codegen_cpp

    module, inputs = MODELS[name]()
    out = folder / name
    codegen_cpp(module, *inputs, export_path=out)
    began = time.perf_counter()
    subprocess.run(["g++", "-std=c++17", "-O3", "-march=native", "-Wall", "-Wextra", "-Werror", "-o", "model", "main.cpp", "-pthread"], cwd=out, check=True)
    seconds = time.perf_counter() - began
    subprocess.run(["strip", "model"], cwd=out, check=True)
    size = (out / "model").stat().st_size / 1e3
    return module, inputs, out, f"built in {seconds:.1f} s, {size:.0f} kB, main.cpp {len((out / 'main.cpp').read_text().splitlines())} lines"


def distances(module: nn.Module, inputs: tuple[torch.Tensor, ...], out: Path) -> tuple[float, float]:
    """From torch eager and from the compiled device, as shares of the largest number."""
    from cupel.torch.backend import backend
    from safetensors.torch import load_file

    subprocess.run([out / "model", "--save", out / "result.safetensors"], check=True, capture_output=True)
    actual = next(iter(load_file(out / "result.safetensors").values()))

    def distance(model: Callable[..., Any]) -> float:
        with torch.no_grad():
            expected = model(*inputs)
        expected = expected[0] if isinstance(expected, tuple) else expected
        return float((actual - expected).abs().max() / expected.abs().max())

    return distance(module), distance(torch.compile(module, backend=backend))


def ours(out: Path, threads: int, runs: int) -> float:
    done = subprocess.run([out / "model", "--runs", str(runs)], capture_output=True, text=True, check=True, env=dict(os.environ, OPS_THREADS=str(threads)))
    return float(re.search(r"median of \d+, best ([\d.]+)", done.stdout)[1])


def ours_cpu(out: Path, threads: int, runs: int) -> float:
    """Of runs beyond the first two, which map and pack weights."""

    def seconds(count: int) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([out / "model", "--runs", str(count)], capture_output=True, check=True, env=dict(os.environ, OPS_THREADS=str(threads)))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return 1000 * (seconds(2 + runs) - seconds(2)) / runs


def eager_cpu(module: nn.Module, inputs: tuple[torch.Tensor, ...], threads: int, runs: int) -> float:
    torch.set_num_threads(threads)
    with torch.no_grad():
        module(*inputs)
        began = time.process_time()
        for _ in range(runs):
            module(*inputs)
    return 1000 * (time.process_time() - began) / runs


def eager(module: nn.Module, inputs: tuple[torch.Tensor, ...], threads: int, runs: int) -> float:
    torch.set_num_threads(threads)
    times = []
    with torch.no_grad():
        for _ in range(runs):
            began = time.perf_counter()
            module(*inputs)
            times.append(1000 * (time.perf_counter() - began))
    return min(times[1:])


def main() -> int:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=Path)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench/standalone")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--prepare", action="store_true", help="generate and build only")
    parser.add_argument("--prepared", action="store_true", help="measure what was built")
    parser.add_argument("--cpu", action="store_true", help="the processor's time")
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    os.environ["CUPEL_COMMAND"] = str(options.bin.resolve() / "cupel")
    options.folder.mkdir(parents=True, exist_ok=True)
    slower = far = 0
    for name in (n for n in MODELS if options.only in n):
        if options.prepared:
            (module, inputs), out = MODELS[name](), options.folder / name
        else:
            module, inputs, out, said = prepare(name, options.folder)
            from_torch, from_device = distances(module, inputs, out)
            far += from_device > MOST_DISTANCE
            print(f"{name}: {said}, {from_torch:.1e} from torch, {from_device:.1e} from the compiled device", flush=True)
        for threads in () if options.prepare else map(int, options.threads.split(",")):
            mine_of, theirs_of = (ours_cpu, eager_cpu) if options.cpu else (ours, eager)
            pairs = [(mine_of(out, threads, options.runs), theirs_of(module, inputs, threads, options.runs)) for _ in range(ROUNDS)]
            # The best of each: what disturbs a round makes it slower, never faster.
            mine, theirs = min(p[0] for p in pairs), min(p[1] for p in pairs)
            slower += theirs < mine
            print(f"{name}, {threads} thread{'s' if threads > 1 else ''}: {mine:.1f} ms, torch eager {theirs:.1f} ms: {theirs / mine:.2f} x", flush=True)
    return int(options.strict and slower + far > 0)


if __name__ == "__main__":
    sys.exit(main())
