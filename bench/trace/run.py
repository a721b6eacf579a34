#!/usr/bin/env python3
"""What recording commands gains: small programs on the compiled device, with and without `enable_trace`, in turns.

    python3 bench/trace/run.py build/bin [--only WORD] [--seconds S] [--json FILE] [--strict]

The yardstick is the same program on the same device without a trace: `cupel bench` has both take turns in one session and holds their results
against the golden reference. Programs are those of zoo/programs that can be recorded, and chains of many small launches, of which a trace gains most. With
--strict the exit code is 1 where a trace costs more than a twentieth.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEVICE = "cupel?backend=cpu"
TRACED = f"{DEVICE}&enable_trace=true"
NAMES = ("mlp", "attention", "conv_net", "composite_rms_norm", "control_flow", "sort", "scatter")
MOST = 1.05


def chain(products: int, width: int) -> str:
    """Small layers, each a product and two launches behind it that cannot be one."""
    kind, column = f"tensor<4x{width}xf32>", f"tensor<{width}x4xf32>"
    lines = [f"func.func @main(%x0: {kind}, %w: tensor<{width}x{width}xf32>) -> {kind} {{"]
    for i in range(products):
        lines += [
            f"  %p{i} = stablehlo.dot_general %x{i}, %w, contracting_dims = [1] x [0] : ({kind}, tensor<{width}x{width}xf32>) -> {kind}",
            f"  %t{i} = stablehlo.tanh %p{i} : {kind}",
            f"  %r{i} = stablehlo.transpose %t{i}, dims = [1, 0] : ({kind}) -> {column}",
            f"  %s{i} = stablehlo.reshape %r{i} : ({column}) -> {kind}",
            f"  %x{i + 1} = stablehlo.add %s{i}, %x{i} : {kind}",
        ]
    return "\n".join([*lines, f"  return %x{products} : {kind}", "}"])


def measure(program: Path, options: argparse.Namespace) -> dict[str, float] | None:
    command = [str(options.bin / "cupel"), "bench", str(program), "--device", DEVICE, "--device", TRACED, "--seconds", str(options.seconds), "--rounds", "10",
               "--threads", "1", "--json", "-"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr[-2000:]}")
    if "not recorded" in done.stderr:
        print(f"{program.stem}: " + next(line for line in done.stderr.splitlines() if "not recorded" in line))
        return None
    (measured,) = json.loads(done.stdout)["models"]
    plain, traced = (one["p50_seconds"] for one in measured["contestants"])
    return {"without": plain, "traced": traced, "ratio": traced / plain}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path, help="where cupel lies")
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=2, help="of runs of each")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        programs = [ROOT / f"zoo/programs/{name}.mlir" for name in NAMES]
        for products, width in ((1, 8), (8, 8), (64, 8), (8, 128)):
            programs.append(Path(folder) / f"chain-{products}-of-{width}.mlir")
            programs[-1].write_text(chain(products, width))
        for program in programs:
            if options.only in program.stem and (found := measure(program, options)):
                results[program.stem] = found
                print(f"{program.stem}: {found['without'] * 1e6:.2f} us without, {found['traced'] * 1e6:.2f} us traced: {found['ratio']:.3f}x", flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")
    return int(options.strict and any(one["ratio"] > MOST for one in results.values()))


if __name__ == "__main__":
    sys.exit(main())
