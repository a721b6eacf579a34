#!/usr/bin/env python3
"""Quantised models against ONNX Runtime: bench/int8/run.py BIN [--threads 1,2] [--only WORD] [--against PEER,...] [--seconds S] [--check].

Makes the models of make.py once (in BIN/../bench-int8), as QLinear operators and as QDQ, measures each with `cupel bench`, and prints a row for
each: times of our device and of the peers, and the ratio to the best of them, all in the same run. `--check` holds our results against the golden
reference first.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def measure(options: argparse.Namespace, model: Path, threads: int) -> dict:
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [options.bin / "cupel", "bench", model, "--threads", str(threads), "--seconds", str(options.seconds), "--rounds", "4", "--against", options.against,
                   "--python", sys.executable, "--json", report.name] + ([] if options.check else ["--no-check"])
        done = subprocess.run(command, capture_output=True, text=True)
        try:
            return json.loads(Path(report.name).read_text())["models"][0]
        except (ValueError, LookupError):
            return {"failure": (done.stderr.strip().splitlines() or ["no report"])[-1]}


def main() -> int:
    import make

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path, help="folder of the binaries")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, a row each")
    parser.add_argument("--only", default="", help="rows whose names hold this word; several: a,b")
    parser.add_argument("--against", default="onnxruntime")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    folder = options.bin.resolve().parent / "bench-int8"
    folder.mkdir(exist_ok=True)
    failed = 0
    for name in make.ROWS:
        for form in make.FORMS:
            if not any(word in f"{name}-{form}" for word in options.only.split(",")):
                continue
            model = folder / f"{name}-{form}.onnx"
            if not model.exists() and subprocess.run([sys.executable, HERE / "make.py", name, folder], capture_output=True).returncode:
                print(f"{model.stem:24} is not made", flush=True)
                failed += 1
                continue
            for threads in (int(count) for count in options.threads.split(",")):
                found = measure(options, model, threads)
                if "failure" in found:
                    print(f"{model.stem:24} failed: {found['failure']}", flush=True)
                    failed += 1
                    continue
                times = "  ".join(f"{one['name']} {one['p50_seconds'] * 1e3:.3f} ms ({one['min_seconds'] * 1e3:.3f})" for one in found["contestants"] if "p50_seconds" in one)
                wrong = " ".join(f"{one['name']} is wrong" for one in found["contestants"] if one.get("wrong"))
                ratio = found["contestants"][0].get("ratio_to_best_peer")
                print(f"{model.stem:24} {threads} {times}  {f'{ratio:.2f}' if ratio else ''} {wrong}".rstrip(), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
