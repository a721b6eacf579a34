"""Imports ResNet-50 and a BERT-base-sized model (random weights) with Cupel and makes ONNX Runtime sessions of them.

Prints for each file the fastest of several of both, the ratio (the goal is at most 0.5), and the peak memory of a
process that imports once against the file's size (the goal is at most 200 MB more). Files are made once with torch's
exporter and kept: weights inside the file, and outside it as external data. Exits with 1 if a goal is missed.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
import warnings
from pathlib import Path

import onnx
import onnxruntime

RATIO_GOAL = 0.5
MEMORY_GOAL = 200 * 10**6


def make_resnet() -> tuple[object, tuple[object, ...]]:
    import torch
    from torch import nn

    class Bottleneck(nn.Module):
        def __init__(self, inside: int, width: int, stride: int) -> None:
            super().__init__()
            outside = 4 * width
            self.body = nn.Sequential(
                nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
                nn.Conv2d(width, outside, 1, bias=False), nn.BatchNorm2d(outside))
            self.skip = nn.Identity() if inside == outside else nn.Sequential(
                nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.body(x) + self.skip(x))

    layers: list[nn.Module] = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inside = 64
    for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            layers.append(Bottleneck(inside, width, stride if i == 0 else 1))
            inside = 4 * width
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inside, 1000)]
    return nn.Sequential(*layers).eval(), (torch.randn(1, 3, 224, 224),)


def make_bert() -> tuple[object, tuple[object, ...]]:
    import torch
    from transformers import BertConfig, BertModel

    model = BertModel(BertConfig(attn_implementation="eager")).eval()
    tokens = torch.randint(0, 30000, (1, 128))
    return model, (tokens, torch.ones_like(tokens))


def make_files(folder: Path) -> list[Path]:
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, make in (("resnet50", make_resnet), ("bert_base", make_bert)):
        inside, outside = folder / f"{name}.onnx", folder / f"{name}_external.onnx"
        files += [inside, outside]
        if inside.exists() and outside.exists():
            continue
        torch.manual_seed(1)
        module, inputs = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.onnx.export(module, inputs, dynamo=True, verbose=False)
        program.save(inside, external_data=False)
        program.save(outside, external_data=True)
    return files


def session_ms(path: Path, times: int) -> tuple[float, float]:
    """Fastest by the clock, and least time of processors, in milliseconds."""
    best, least = float("inf"), float("inf")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    for _ in range(times):
        begin, work = time.perf_counter(), time.process_time()
        onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        best = min(best, 1000 * (time.perf_counter() - begin))
        least = min(least, 1000 * (time.process_time() - work))
    return best, least


def import_once(tool: Path, path: Path, times: int) -> tuple[float, float, int]:
    """Fastest by the clock, and least time of processors, in milliseconds; the process's peak memory in bytes."""
    run = subprocess.run([tool, "import", path, str(times)], capture_output=True, text=True, check=False)
    match = re.search(r"import_ms ([\d.]+) cpu_ms ([\d.]+) peak_kib (\d+)", run.stdout)
    if not match:
        raise RuntimeError(f"{path}: {run.stderr.strip()}")
    return float(match[1]), float(match[2]), int(match[3]) * 1024


def size_of(path: Path) -> int:
    data = path.with_name(path.name + ".data")
    return path.stat().st_size + (data.stat().st_size if data.exists() else 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, default=Path("build/bin"), help="the folder of cupel_onnx")
    parser.add_argument("--folder", type=Path, default=Path("build/onnx-bench"), help="where the models are kept")
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    missed = 0
    print(f"onnxruntime {onnxruntime.__version__}, onnx {onnx.__version__}; fastest of {options.times}")
    for path in make_files(options.folder):
        session, session_cpu = session_ms(path, options.times)
        ours, cpu, _ = import_once(options.bin / "cupel_onnx", path, options.times)
        _, _, peak = import_once(options.bin / "cupel_onnx", path, 1)
        more = peak - size_of(path)
        missed += ours > RATIO_GOAL * session
        missed += more > MEMORY_GOAL
        print(f"{path.name:<24} import {ours:7.1f} ms, session {session:7.1f} ms, ratio {ours / session:4.2f} (of processor time {cpu / session_cpu:4.2f}); "
              f"file {size_of(path) / 1e6:5.1f} MB, peak {peak / 1e6:5.1f} MB ({more / 1e6:+.1f} MB)", flush=True)
    print("all goals met" if not missed else f"{missed} goals missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
