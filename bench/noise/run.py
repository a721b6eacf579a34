#!/usr/bin/env python3
"""What verdicts from noise cost: the bundled zoo with `cupel run`, with noise (cold, then from the cache) and without.

    python3 bench/noise/run.py build/bin [--device NAME] [--precision NAME] [--repeat N] [--strict]

The yardstick is the same run with `--noise=0`, measured in turn with the others, in seconds of processor time: cold against cold and cached against cached, each
with a cache of its own, so that neither finds what the other left there (golden results, machine code). Where the device is precise few results need
noise; so the same is measured on a device whose every result does, because it is wrong (the planter's), and without executions after the first. With
--strict the exit code is 1 where noise costs more than 2.2 times the run without (cold) or 1.05 times (from the cache).
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COLD, WARM = 2.2, 1.05


def seconds(command: list[str], cache: str) -> float:
    """Of processor time, of all processes: others on the machine do not count."""
    environment = os.environ | {"CUPEL_CACHE_DIR": cache}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(options: argparse.Namespace, what: str, device: str) -> bool:
    best = dict.fromkeys(("without", "cold", "without, cached", "warm"), 1e9)
    with tempfile.TemporaryDirectory() as folder:
        base = [str(options.bin / "cupel"), "run", str(ROOT / "zoo/programs"), "--device", device, "--precision", options.precision, "--quiet",
                "--results", f"{folder}/results", "--keep-failed", "none", "-j", "1"]
        for turn in range(options.repeat):
            for which in best:
                is_plain = which.startswith("without")
                best[which] = min(best[which], seconds(base + (["--noise=0"] if is_plain else []), f"{folder}/cache-{turn}-{is_plain}"))
    cold, warm = best["cold"] / best["without"], best["warm"] / best["without, cached"]
    print(f"{what}: without noise {best['without']:.2f} s, with it {best['cold']:.2f} s: {cold:.2f}x (at most {COLD}x); from the cache {best['without, cached']:.2f} s and {best['warm']:.2f} s: "
          f"{warm:.2f}x (at most {WARM}x)")
    return cold <= COLD and warm <= WARM


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path, help="where cupel lies")
    parser.add_argument("--device", default="cupel")
    parser.add_argument("--precision", default="bf16", help="coarse ones need noise for nearly every test")
    parser.add_argument("--repeat", type=int, default=15, help="a run takes tenths of a second: the best of many")
    parser.add_argument("--strict", action="store_true")
    options = parser.parse_args()
    planter = (options.bin / "../lib/planter_plugin.so").resolve()
    holds = [measure(options, options.device, options.device), measure(options, "every result needs it", f"{planter}?fault=scaled&num_devices=8")]
    return 1 if options.strict and not all(holds) else 0


if __name__ == "__main__":
    sys.exit(main())
