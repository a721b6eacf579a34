#!/usr/bin/env python3
"""What the levels of optimization are worth: run.py BIN [--threads 1] [--only WORD] [--seconds S] [--runs-on ARCH] [--strict]

Each model is exported once and measured by `cupel bench` at levels 0, 1 and 2 in turns, after all three were held against
the golden reference. A ratio above 1 is faster than level 0. --strict fails where level 1 is slower than level 0, where
level 2 is slower than level 1 by more than a tenth (it moves buffers, on a processor without SRAM nothing else), or where a result is wrong.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench/standalone"), str(ROOT / "bench/models")]

import torch  # noqa: E402

MODELS = ("mlp", "gpt2_block", "resnet18", "mobilenet_v2")
LEVELS = (0, 1, 2)


def mlp() -> tuple[torch.nn.Module, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    layers = [part for size in (64, 256, 256, 256) for part in (torch.nn.LazyLinear(size), torch.nn.GELU(), torch.nn.LayerNorm(size))]
    model, x = torch.nn.Sequential(*layers).eval(), torch.randn(16, 64)
    model(x)
    return model, (x,)


def exported(name: str, folder: Path) -> Path:
    file = folder / f"{name}.pt2"
    if not file.is_file():
        import run as standalone

        module, inputs = mlp() if name == "mlp" else standalone.MODELS[name]()
        with torch.no_grad():
            torch.export.save(torch.export.export(module, inputs), folder / f"{name}.new.pt2")
        (folder / f"{name}.new.pt2").rename(file)
    return file


def measured(cupel: Path, file: Path, arch: str, threads: str, seconds: str) -> list[dict]:
    devices = [word for level in LEVELS for word in ("--device", f"{arch}{'&' if '?' in arch else '?'}optimization_level={level}")]
    done = subprocess.run([cupel, "bench", file, *devices, "--threads", threads, "--seconds", seconds, "--json", "-"], capture_output=True, text=True)
    if done.returncode not in (0, 1) or not done.stdout.strip():
        raise SystemExit(f"cupel bench ended with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout)["models"][0]["contestants"]


def main() -> int:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("bin", type=Path)
    parser.add_argument("--threads", default="1")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", default="3")
    parser.add_argument("--runs-on", default="cupel?backend=cpu", metavar="ARCH", help="n150 and its like have an SRAM to place buffers in")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/bench/levels")
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    wrong = 0
    for name in (name for name in MODELS if options.only in name):
        rows = measured(options.bin / "cupel", exported(name, options.folder), options.runs_on, options.threads, options.seconds)
        failures = [row["failure"] for row in rows if row.get("failure")]
        if failures:
            print(f"{name}: not run: {failures[0]}")
            wrong += 1
            continue
        base, one, two = (row["p50_seconds"] for row in rows)
        wrong += one > base or two > 1.1 * one or any(row["wrong"] for row in rows)
        compiled = ", ".join(f"{row['compile_seconds']:.2f}" for row in rows)
        print(f"{name}: level 0 {1000 * base:.3f} ms, level 1 {base / one:.2f} x, level 2 {base / two:.2f} x; compiled in {compiled} s"
              + ("; a result is WRONG" if any(row["wrong"] for row in rows) else ""), flush=True)  # fmt: skip
    return int(options.strict and wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
