"""Exports programs, runs them through Cupel's frontend on the reference, and feeds damaged copies of them to the reader.

usage: .venv/bin/python tests/torch/check_programs.py BUILD/bin FOLDER [-k NAME...] [--fuzz 10000]

export_programs.py (one thing an importer can get wrong each) writes the cases to FOLDER, anew when it,
its modules or torch have changed. Prints each case that is not as torch computes it, and `N passed, N failed` at the end.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCRIPTS = {"programs": HERE / "export_programs.py"}
THEIRS = [HERE / "program_cases.py", HERE / "written_views.py"]  # Modules of theirs.
FINISHED = "finished"
FUZZED = re.compile(r"^fuzz: (\d+) inputs, (\d+) failed", re.MULTILINE)


def stamp() -> str:
    texts = b"".join(script.read_bytes() for script in [*SCRIPTS.values(), *THEIRS])
    return f"{hashlib.sha256(texts).hexdigest()} torch {importlib.metadata.version('torch')}\n"


def export(folder: Path) -> int:
    """Writes the cases unless they are there; the number of those that could not be exported."""
    finished = folder / FINISHED
    if finished.exists() and finished.read_text() == stamp():
        return 0
    shutil.rmtree(folder, ignore_errors=True)
    failed = 0
    for kind, script in SCRIPTS.items():
        ran = subprocess.run([sys.executable, str(script), str(folder / kind)], capture_output=True, text=True, check=False)
        lines = [line for line in ran.stdout.splitlines() if line.startswith("not exported")]
        failed += len(lines) + (ran.returncode != 0)
        print("\n".join(lines + ([ran.stderr] if ran.returncode else [])))
    if not failed:
        finished.write_text(stamp())
    return failed


def run_cases(worker: Path, files: list[str]) -> tuple[int, int]:
    ran = subprocess.run([str(worker), "pt2-cases", *files], capture_output=True, text=True, check=False)
    lines = ran.stdout.splitlines()
    passed = sum(line.startswith("PASSED ") for line in lines)
    for line in lines:
        if line.startswith(("FAILED ", "REFUSED(")):
            print(line)
    if ran.returncode < 0:
        print(f"the worker died of signal {-ran.returncode} after {len(lines)} cases: {ran.stderr[-400:]}")
    return passed, len(files) - passed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-k", action="append", metavar="NAME", help="only cases whose name contains this")
    parser.add_argument("--fuzz", type=int, default=10000, metavar="N", help="damaged archives to read")
    options = parser.parse_args()
    failed = export(options.folder)
    files = [str(path) for path in sorted(options.folder.glob("*/*/case.pt2"))
             if not options.k or any(name in path.parent.name for name in options.k)]
    passed, more = run_cases(options.bin / "cupel-worker", files)
    failed += more
    if options.fuzz and files:
        ran = subprocess.run([str(options.bin / "cupel_torch_fuzz"), "--inputs", str(options.fuzz), *files], capture_output=True, text=True,
                             check=False)
        counts = FUZZED.search(ran.stdout)
        print("\n".join([line for line in ran.stderr.splitlines() if line.startswith("FAIL")] + ran.stdout.splitlines()[-1:]))
        if counts:
            inputs, broken = int(counts[1]), int(counts[2])
            passed, failed = passed + inputs - broken, failed + (broken or int(ran.returncode != 0))
        else:
            failed += 1
            print(f"cupel_torch_fuzz ended with {ran.returncode}: {ran.stderr[-400:]}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
