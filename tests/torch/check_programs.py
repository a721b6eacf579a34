"""Exports programs, each about one thing an importer can get wrong, and runs them through Cupel's frontend on the reference.

usage: .venv/bin/python tests/torch/check_programs.py [--worker build/bin/cupel-worker] [--folder DIR] [-k NAME...]

Prints each case that is not as torch computes it, and `N passed, N failed` at the end.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worker", type=Path, default=ROOT / "build/bin/cupel-worker")
    parser.add_argument("--folder", type=Path, help="keep the cases here; exported anew only if it is empty")
    parser.add_argument("-k", action="append", metavar="NAME", help="only cases whose name contains this")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        failed = 0
        if not any(folder.glob("*/case.pt2")):
            command = [sys.executable, str(Path(__file__).with_name("export_programs.py")), str(folder)]
            for name in options.k or []:
                command += ["-k", name]
            exported = subprocess.run(command, capture_output=True, text=True, check=False)
            for line in exported.stdout.splitlines():
                if line.startswith("not exported"):
                    failed += 1
                    print(line)
            if exported.returncode:
                print(exported.stderr)
                return 1
        files = [str(path) for path in sorted(folder.glob("*/case.pt2"))
                 if not options.k or any(name in path.parent.name for name in options.k)]
        ran = subprocess.run([str(options.worker), "pt2-cases", *files], capture_output=True, text=True, check=False)
        passed = 0
        seen = set()
        for line in ran.stdout.splitlines():
            if line.startswith("PASSED "):
                passed += 1
            elif line.startswith(("FAILED ", "REFUSED(")):
                failed += 1
                print(line)
            else:
                continue
            seen.add(line.split(": ")[0].split(" ")[-1])
        if ran.returncode < 0:
            print(f"the worker died of signal {-ran.returncode} after {len(seen)} cases: {ran.stderr[-400:]}")
        if passed + failed < len(files):
            failed = len(files) - passed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
