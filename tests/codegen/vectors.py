"""Generates code of programs that check themselves, and runs it: each is right or refused by name.

    vectors.py --cupel build/bin/cupel [--language py|cpp] [--sample N] FOLDER_OR_FILE...

Of a self-checking program every check must hold in the generated code, and at least one must have been
made. A refusal must name the operation, and leave nothing behind.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import hashlib
import io
import json
import os
import pathlib
import re
import runpy
import subprocess
import sys
import tempfile

import cpp_batches

SEPARATOR = "// -----"
REFUSAL = re.compile(r"(stablehlo|chlo|check|interpreter|sdy|func)\.[a-z_]+|custom call of @|calls itself|elements of type \w+, for which no code is generated|type \w+ does not exist")

SUMS = re.compile(r"stablehlo\.(dot|conv|fft|reduce|cholesky|triangular|batch_norm|einsum)")


def programs_in(paths: list[pathlib.Path]) -> list[tuple[str, str]]:
    """(name, text) of every program: files hold several, separated by a line."""
    found = []
    for path in paths:
        files = sorted(path.rglob("*.mlir")) if path.is_dir() else [path]
        for file in files:
            parts = file.read_text().split(SEPARATOR)
            for number, part in enumerate(parts):
                name = f"{file.parent.name}/{file.name}" + (f"#{number}" if len(parts) > 1 else "")
                if re.search(r"check\.(expect|eq)", part):
                    found.append((name, part))
    return found


def run_python(folder: pathlib.Path) -> str:
    """What is wrong with the folder's main.py; empty if nothing is."""
    for name in [n for n in sys.modules if n == "ops" or n.startswith("ops.")]:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    output = io.StringIO()
    arguments, sys.argv = sys.argv, ["main.py"]
    try:
        with contextlib.redirect_stdout(output):
            runpy.run_path(str(folder / "main.py"), run_name="__main__")
    except Exception as error:  # noqa: BLE001 - whatever generated code raises is its failure
        return f"{type(error).__name__}: {error}"
    finally:
        sys.argv = arguments
        sys.path.remove(str(folder))
    held = re.search(r"(\d+) checks hold", output.getvalue())
    return "" if held and int(held[1]) > 0 else "no check was made"


def run_cpp(command: list[str], folder: pathlib.Path) -> str:
    """What is wrong with what the folder's main.cpp was built to."""
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, env=dict(os.environ, OPS_THREADS="2"))
    except subprocess.TimeoutExpired:
        return "takes longer than two minutes"
    if ran.returncode:
        return f"exit code {ran.returncode}: {(ran.stderr or ran.stdout).strip()[-300:]}"
    held = re.search(r"(\d+) checks hold", ran.stdout)
    return "" if held and int(held[1]) > 0 else "no check was made"


def generate(cupel: str, language: str, name: str, text: str, place: pathlib.Path) -> tuple[str, str, str] | None:
    """Writes the folder `out` of a program; an outcome if that is the end of it."""
    place.mkdir()
    program, folder = place / "program.mlir", place / "out"
    program.write_text(text)
    made = subprocess.run([cupel, "codegen", language, str(program), "-o", str(folder)], capture_output=True, text=True)
    if made.returncode == 0:
        return None
    message = made.stderr.strip().splitlines()[-1] if made.stderr.strip() else "no message"
    if folder.exists() or list(place.glob("out*")):
        return name, "wrong", "refused, but something was written"
    if made.returncode != 1 or not REFUSAL.search(message):
        return name, "wrong", f"refused without a name (exit code {made.returncode}): {message}"
    return name, "refused", message.split("program.mlir", 1)[-1]


def judge(job: tuple[str, str, list[tuple[str, str]]]) -> list[tuple[str, str, str]]:
    """(name, right | near | refused | wrong, why) of each program of a batch."""
    cupel, language, programs = job
    outcomes, folders = [], {}
    with tempfile.TemporaryDirectory(prefix="codegen-") as scratch:
        for number, (name, text) in enumerate(programs):
            place = pathlib.Path(scratch) / str(number)
            if ended := generate(cupel, language, name, text, place):
                outcomes.append(ended)
            else:
                folders[place / "out"] = (name, text)
        built = cpp_batches.build_all(list(folders), pathlib.Path(scratch)) if language == "cpp" else {}
        for folder, (name, text) in folders.items():
            command, why = built.get(folder, ([], ""))
            if why:
                outcomes.append((name, "wrong", why))
                continue

            def run(folder: pathlib.Path = folder, command: list[str] = command) -> str:
                return run_cpp(command, folder) if command else run_python(folder)

            os.environ.pop("OPS_CHECK_TOLERANCE", None)
            why = run()
            if "units in the last place" in why and SUMS.search(text):
                # The check asks for the roundings of one order of a sum; 1e-5 is what generated code promises.
                os.environ["OPS_CHECK_TOLERANCE"] = "1e-5"
                if not run():
                    outcomes.append((name, "near", why))
                    continue
            outcomes.append((name, "wrong" if why else "right", why))
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("paths", nargs="+", type=pathlib.Path)
    parser.add_argument("--cupel", required=True)
    parser.add_argument("--language", choices=["py", "cpp"], default="py")
    parser.add_argument("--sample", type=int, help="only so many programs, chosen by their names")
    parser.add_argument("--goal", type=float, default=0.95, help="the part that must be generated")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--list", action="store_true", help="print every refusal too")
    options = parser.parse_args()
    programs = programs_in(options.paths)
    if options.sample:
        programs.sort(key=lambda p: hashlib.sha256(p[0].encode()).hexdigest())
        programs = programs[: options.sample]
    size = 4 if options.language == "py" else 16  # A batch of C++ is one binary.
    jobs = [(options.cupel, options.language, programs[at : at + size]) for at in range(0, len(programs), size)]
    counts: collections.Counter[str] = collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        outcomes = [outcome for batch in pool.map(judge, jobs) for outcome in batch]
    for name, outcome, why in outcomes:
        counts[outcome] += 1
        if outcome == "wrong" or (options.list and outcome == "refused"):
            print(f"{outcome}: {name}: {why}")
    total = max(1, len(outcomes))
    generated = total - counts["refused"]
    print(f"{total} programs as {'Python' if options.language == 'py' else 'C++'}: {counts['right']} right, {counts['near']} right but for the order of sums, {counts['refused']} refused by name, "
          f"{counts['wrong']} wrong; {100 * generated / total:.1f} % generated")  # fmt: skip
    if generated < options.goal * total:
        print(f"FAILED: less than {100 * options.goal:.0f} % were generated")
        counts["wrong"] += 1
    print(f"{counts['right'] + counts['near']} passed, {counts['wrong']} failed, {counts['refused']} refused")
    if options.json:
        options.json.write_text(json.dumps(outcomes, indent=1))
    return int(counts["wrong"] > 0 or not outcomes)


if __name__ == "__main__":
    sys.exit(main())
