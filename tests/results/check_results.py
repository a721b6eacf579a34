"""The verbs that read the results store, end to end: show, diff, history, on journals as a run leaves them.

usage: check_results.py BUILD/bin. Ends with `N passed, N failed`.
"""

from __future__ import annotations

import json
import os
import pty
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
import xml.etree.ElementTree as ET
from pathlib import Path

CUPEL = Path(sys.argv[1]).resolve() / "cupel"
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def expect(condition: bool, message: object) -> None:
    if not condition:
        raise AssertionError(message)


def record(test: str, outcome: str = "passed", seconds: float = 0.25, **more) -> dict:
    suite, name = test.split("::", 1)
    stage = "done" if outcome == "passed" else "execute"
    return {"suite": suite, "id": name, "outcome": outcome, "seconds": seconds, "last_stage": stage, "started_at": 1763200000.0,
            "stages": [{"stage": "load", "seconds": 0.1}, {"stage": "execute", "seconds": seconds - 0.1}], **more}


LOW = {"output": 0, "passed": False, "pcc": 0.5, "pcc_threshold": 0.99, "pcc_asserted": True, "sentence": "pcc 0.5 < 0.99"}
FIRST = [record("programs::add.mlir"), record("programs::mul.mlir"), record("programs::sub.mlir", "failed", message="was wrong"),
         record("programs::slow.mlir", seconds=2), record("programs::old.mlir"),
         record("models::bert/pytorch-base-single_device-inference", comparisons=[{"output": 0, "passed": True, "pcc": 0.999}])]
SECOND = [record("programs::add.mlir", "failed", message="broke it's \u2713", error_class="invalid_argument", output="one\ntwo\x1b[31m\n" * 30,
                 comparisons=[LOW], reasons=[{"name": "DATA_MISMATCH_WRONG_PCC", "description": "too low"}]),
          record("programs::mul.mlir"), record("programs::sub.mlir"), record("programs::slow.mlir", seconds=5),
          record("programs::new.mlir"),
          record("models::bert/pytorch-base-single_device-inference", comparisons=[{"output": 0, "passed": True, "pcc": 0.992}])]
RUNS = {"20261114-081530-0000": (1763100000.0, FIRST), "20261115-081530-4f2a": (1763200000.0, SECOND)}


def write_journal(folder: Path, run: str, started: float, records: list[dict], *, ended: bool = True, tail: str = "") -> Path:
    info = {"id": run, "started_at": started, "selected": len(records), "device": "reference", "command_line": ["cupel", "run", "a b", "-R", "latest", "-j2", "programs::x", "--json=r.json"],
            "environment": {"git": "4df0411"}, "exit_code": -1}
    lines = [{"cupel_journal": 1, "run": info}, {"selected": len(records)}]
    lines += [{"record": line} for line in records]
    if ended:
        lines.append({"end": info | {"ended_at": started + 10, "exit_code": 1}})
    path = folder / "journals" / f"{run}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines) + tail)
    return path


class Project:
    """A folder with a store that holds both runs."""

    def __init__(self, runs: bool = True) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.store = self.folder / "results"
        if runs:
            for run, (started, records) in RUNS.items():
                write_journal(self.store, run, started, records)

    def cupel(self, *arguments: object, code: int | None = 0, results: bool = True) -> subprocess.CompletedProcess:
        words = [str(CUPEL), *map(str, arguments)] + (["--results", str(self.store)] if results else [])
        result = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, errors="replace", timeout=60, stdin=subprocess.DEVNULL)
        if code is not None:
            expect(result.returncode == code, f"{words[1:]}: exit code {result.returncode}, wanted {code}: {result.stdout}{result.stderr}")
        return result


@check
def lists_the_runs_newest_first():
    project = Project()
    result = project.cupel("show")
    lines = result.stdout.splitlines()
    expect([line.split()[0] for line in lines] == sorted(RUNS, reverse=True), lines)
    expect("5 passed, 1 failed" in lines[0], lines)
    expect("6 outcomes of run 20261114-081530-0000 came from its journal" in result.stderr, result.stderr)
    # Once imported, they are not imported again.
    expect(project.cupel("show").stderr == "", "imported twice")
    ids = [run["id"] for run in json.loads(project.cupel("show", "--json").stdout)]
    expect(ids == sorted(RUNS, reverse=True), ids)


@check
def sums_up_a_run():
    project = Project()
    text = project.cupel("show", "latest").stdout
    for part in ("Run 20261115-081530-4f2a", "6 tests selected in 10.0 s: 5 passed, 1 failed", "new failure  programs::add.mlir: passed -> failed",
                 "fixed        programs::sub.mlir", "slower       programs::slow.mlir: 2.0 s -> 5.0 s (2.5x)", "DATA_MISMATCH_WRONG_PCC",
                 "cupel run 'a b' -j2 programs::x -R latest --results", "git: 4df0411"):
        expect(part in text, f"{part!r} is not in:\n{text}")
    expect("\x1b" not in text, "escape sequences in a pipe")
    expect(project.cupel("show", "20261114").stdout.startswith("Run 20261114-081530-0000"), "a prefix")
    failed = project.cupel("show", "latest", "--failed").stdout.splitlines()
    expect(len(failed) == 1 and failed[0].startswith("FAILED        programs::add.mlir (0.25 s) at execute: DATA_MISMATCH_WRONG_PCC: broke"), failed)
    expect(len(project.cupel("show", "latest", "--all").stdout.splitlines()) == 6, "--all")
    expect(len(project.cupel("show", "latest", "--outcome", "passed").stdout.splitlines()) == 5, "--outcome")


@check
def shows_a_test():
    project = Project()
    text = project.cupel("show", "add.mlir").stdout
    for part in ("FAILED        programs::add.mlir", "reason       DATA_MISMATCH_WRONG_PCC: too low", "stages       load 0.10 s, execute 0.15 s",
                 "output 0     NOT OK: pcc 0.5 (required 0.99)", "pcc 0.5 < 0.99", "history      failed, passed (newest first)",
                 "last 20 of 60 lines", "\n  cupel run 'a b' -j2 programs::add.mlir --results"):
        expect(part in text, f"{part!r} is not in:\n{text}")
    expect("\x1b" not in text, "escape sequences of the test's own")
    expect(len(project.cupel("show", "add.mlir", "--output").stdout.splitlines()) > 60, "--output")
    expect(project.cupel("show", "add.mlir", "--run", "latest~1").stdout.startswith("PASSED"), "--run")
    both = json.loads(project.cupel("show", "programs::add.mlir", "--json").stdout)
    expect(both["test"]["comparisons"][0]["pcc"] == 0.5 and both["run"]["id"] == "20261115-081530-4f2a", both)
    node = "tests/runner/test_models.py::test_all_models_torch[bert/pytorch-base-single_device-inference]"
    expect("models::bert" in project.cupel("show", node).stdout, "pytest's spelling")


@check
def compares_runs():
    project = Project()
    text = project.cupel("diff", "latest~1", "latest", code=1).stdout
    expect(project.cupel("diff", code=1).stdout == text, "without arguments: the last two")
    for part in ("New failures: 1\n  programs::add.mlir: passed -> failed (DATA_MISMATCH_WRONG_PCC)", "Fixed: 1\n  programs::sub.mlir",
                 "Slower: 1\n  programs::slow.mlir: 2.0 s -> 5.0 s (2.50x)", "Other figures: 1\n  models::bert", "pcc 0.999 -> pcc 0.992",
                 "Only in the second: 1\n  programs::new.mlir: passed", "Only in the first: 1\n  programs::old.mlir: passed"):
        expect(part in text, f"{part!r} is not in:\n{text}")
    expect("No difference." in project.cupel("diff", "latest", "latest").stdout, "with itself")
    back = project.cupel("diff", "latest", "latest~1", code=1).stdout
    expect("New failures: 1\n  programs::sub.mlir" in back and "Faster: 1" in back, back)
    tolerant = project.cupel("diff", "latest~1", "--slower", "3", "--pcc-step", "0.1", code=1).stdout
    expect("Slower" not in tolerant and "Other figures" not in tolerant, tolerant)
    diff = json.loads(project.cupel("diff", "latest~1", "latest", "--json", code=1).stdout)
    expect([change["test"] for change in diff["new_failures"]] == ["programs::add.mlir"], diff)
    expect(diff["added"][0]["before"] is None and diff["figures"][0]["after"]["pcc"] == 0.992, diff)


@check
def tells_a_tests_history():
    project = Project()
    lines = project.cupel("history", "add.mlir").stdout.splitlines()
    expect(lines[0] == "programs::add.mlir" and len(lines) == 4, lines)
    expect(lines[2].split()[:2] == ["20261115-081530-4f2a", "failed"] and "0.5" in lines[2].split(), lines)
    expect(lines[3].split()[:2] == ["20261114-081530-0000", "passed"], lines)
    rows = json.loads(project.cupel("history", "add.mlir", "--json").stdout)
    expect([row["outcome"] for row in rows] == ["failed", "passed"] and rows[0]["pcc"] == 0.5, rows)
    expect(len(project.cupel("history", "add.mlir", "--limit", "1").stdout.splitlines()) == 3, "--limit")


@check
def writes_reports_of_a_run_that_is_over():
    project = Project()
    project.cupel("show", "latest", "--junitxml", "r.xml", "--json-file", "r.json", "--markdown", "r.md")
    suite = ET.parse(project.folder / "r.xml").getroot().find("testsuite")
    expect(suite.get("tests") == "6" and suite.get("failures") == "1", suite.attrib)
    report = json.loads((project.folder / "r.json").read_text())
    expect(report["schema"] == "cupel-results-1" and report["summary"]["outcomes"]["passed"] == 5 and len(report["tests"]) == 6, report["summary"])
    expect(json.loads(project.cupel("show", "latest", "--json").stdout) == report, "--json and --json-file")
    expect("### What changed" in (project.folder / "r.md").read_text(), "markdown")
    expect("cannot write" in project.cupel("show", "latest", "--junitxml", "no/such/r.xml", code=2).stderr, "an unwritable file")


@check
def says_what_is_wrong_in_one_line():
    project = Project()
    for arguments, parts in ((("show", "latest~9"), ["there are only 2 runs"]), (("show", "20261"), ["no run '20261'", "fits more than one run"]),
                             (("show", "ad.mlir"), ["no test 'ad.mlir'", "did you mean add.mlir?"]), (("show", "lates"), ["did you mean"]),
                             (("diff", "nope", "latest"), ["no run 'nope'"]), (("history", "programs::ad.mlir"), ["did you mean"]),
                             (("show", "latest", "--outcome", "pased"), ["did you mean 'passed'?"]), (("diff", "latest~9"), ["there are only"]),
                             (("diff", "latest", "--slower", "0.5"), ["--slower"]), (("show", "--nope"), ["--nope"]),
                             (("show", "add.mlir", "--run", "latest~7"), ["only 2 runs"])):
        result = project.cupel(*arguments, code=2)
        lines = [line for line in result.stderr.splitlines() if not line.startswith("note:")]
        expect(len(lines) == 1 and lines[0].startswith(f"cupel {arguments[0]}: error: "), lines)
        expect(any(part in lines[0] for part in parts), (arguments, lines))
    project.cupel("history", "old.mlir")
    expect("has no outcome in run" in project.cupel("show", "old.mlir", "--run", "latest", code=2).stderr, "a test that did not run then")


@check
def needs_a_store_and_makes_none():
    project = Project(runs=False)
    result = project.cupel("show", code=2)
    expect("no results store there; `cupel run` makes one" in result.stderr, result.stderr)
    expect(not project.store.exists(), "reading made a store")
    expect(".cupel/results" in project.cupel("show", code=2, results=False).stderr, "the default")


@check
def the_project_file_says_where_the_store_is():
    project = Project()
    project.cupel("show")
    (project.folder / "cupel.yaml").write_text("results: results\n")
    below = project.folder / "a/b"
    below.mkdir(parents=True)
    result = subprocess.run([CUPEL, "show", "latest"], cwd=below, capture_output=True, text=True)
    expect("6 tests selected" in result.stdout, result.stdout + result.stderr)
    (project.folder / "cupel.yaml").write_text("zoo: []\n")
    expect(f"{project.folder}/.cupel/results: no results store there" in subprocess.run(
        [CUPEL, "show"], cwd=below, capture_output=True, text=True).stderr, "beside the project file")
    (project.folder / "cupel.yaml").write_text("result: x\n")
    expect("cupel.yaml:1:1" in project.cupel("show", code=2, results=False).stderr, "a wrong project file")


@check
def a_killed_run_is_what_its_journal_says():
    project = Project()
    started, records = RUNS["20261115-081530-4f2a"]
    path = write_journal(project.store, "20261116-081530-0000", started + 86400, records[:3], ended=False, tail='{"record":{"suite":"progr')
    text = project.cupel("show", "latest").stdout
    expect("It did not end" in text and "3 tests selected: 2 passed, 1 failed" in text, text)
    write_journal(project.store, "20261116-081530-0000", started + 86400, records)
    text = project.cupel("show", "latest").stdout
    expect("6 tests selected in 10.0 s: 5 passed, 1 failed" in text and "did not end" not in text, text)
    path.write_text(path.read_text() + "rubbish\n")
    result = project.cupel("show", "latest")
    expect(":10: not a JSON object: rubbish" in result.stderr and "6 tests" in result.stdout, result.stderr)


@check
def reads_a_store_it_cannot_write():
    project = Project()
    project.cupel("show")
    database = project.store / "results.sqlite"
    with sqlite3.connect(database) as connection:
        expect(connection.execute("SELECT count(*) FROM outcomes").fetchone() == (12,), "outcomes")
        connection.execute("PRAGMA journal_mode = DELETE")
    if os.geteuid() == 0:
        # Root may write anything; the bit that keeps root out is not there on every file system.
        if subprocess.run(["chattr", "+i", database], capture_output=True).returncode != 0:
            return
        try:
            expect("6 tests selected" in project.cupel("show", "latest").stdout, "read-only")
        finally:
            subprocess.run(["chattr", "-i", database], check=True)
    else:
        database.chmod(0o444)
        expect("6 tests selected" in project.cupel("show", "latest").stdout, "read-only")
    database.chmod(0o644)
    database.write_bytes(b"x" * 5000)
    expect("is not a results store or is damaged" in project.cupel("show", code=2).stderr, "damaged")


@check
def colours_a_terminal_unless_told_not_to():
    project = Project()
    project.cupel("show")

    def on_terminal(**environment: str) -> str:
        env = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | {"TERM": "xterm"} | environment
        pid, descriptor = pty.fork()
        if pid == 0:
            os.chdir(project.folder)
            os.execve(CUPEL, [str(CUPEL), "show", "latest", "--results", str(project.store)], env)
        text = b""
        try:
            while chunk := os.read(descriptor, 65536):
                text += chunk
        except OSError:
            pass
        os.waitpid(pid, 0)
        os.close(descriptor)
        return text.decode()

    expect("\x1b[31m" in on_terminal(), "no colours on a terminal")
    expect("\x1b" not in on_terminal(NO_COLOR="1"), "NO_COLOR is not honoured")
    expect("\x1b" not in on_terminal(TERM="dumb"), "a dumb terminal got colours")


@check
def makes_the_environment_of_a_loader():
    """From a wheel that is made here: no network."""
    if subprocess.run([sys.executable, "-c", "import venv, pip"], capture_output=True).returncode:
        print("SKIPPED cupel cache make: needs Python's venv and pip")
        return
    project = Project(runs=False)
    cache, loader = project.folder / "cache", project.folder / "model/pytorch"
    loader.mkdir(parents=True)
    (loader / "loader.py").write_text("")
    make = ("cache", "make", loader / "loader.py", "--cache", cache, "--python", sys.executable)
    expect(project.cupel(*make, results=False).stdout.strip() == sys.executable, "nothing asked for: the base")
    wheel = project.folder / "cupel_demo-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("cupel_demo.py", "answer = 42\n")
        archive.writestr("cupel_demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: cupel_demo\nVersion: 1.0\n")
        archive.writestr("cupel_demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("cupel_demo-1.0.dist-info/RECORD", "")
    (loader / "requirements.txt").write_text(f"{wheel}\n")
    first = project.cupel(*make, "--verbose", results=False)
    python = first.stdout.strip()
    expect(python.startswith(str(cache.resolve())), first.stdout)
    expect("pip install" in first.stderr, f"--verbose said: {first.stderr}")
    answer = subprocess.run([python, "-c", "import cupel_demo; print(cupel_demo.answer)"], capture_output=True, text=True)
    expect(answer.stdout == "42\n", answer.stderr)
    base = subprocess.run([sys.executable, "-c", "import cupel_demo"], capture_output=True)
    expect(base.returncode != 0, "the base was written to")
    again = project.cupel(*make, "--verbose", results=False)
    expect(again.stdout.strip() == python and "pip install" not in again.stderr, "made twice")
    expect(project.cupel(*make, "--no-model-requirements", results=False).stdout.strip() == sys.executable, "--no-model-requirements")
    (loader / "requirements.txt").write_text(f"{project.folder}/nothing-1.0-py3-none-any.whl\n")
    failed = project.cupel(*make, results=False, code=1)
    expect("requirements: " in failed.stderr and "nothing-1.0" in failed.stderr, f"pip's words are missing: {failed.stderr}")


@check
def manages_the_cache_of_environments():
    project = Project(runs=False)
    cache = project.folder / "cache"
    expect(project.cupel("cache", "--cache", cache, results=False).stdout == f"0 environments, 0 B in {cache}\n", "an empty cache")
    for age, name in enumerate(("newest", "older", "oldest")):
        (cache / name / "bin").mkdir(parents=True)
        marker = cache / name / "cupel-environment"
        marker.write_text(f"{1 << 20}\n{name}==1\n")
        os.utime(marker, (1763200000 - age, 1763200000 - age))
    lines = project.cupel("cache", "--cache", cache, results=False).stdout.splitlines()
    expect([line.split()[0] for line in lines[:3]] == ["newest", "older", "oldest"], lines)
    expect(lines[3].startswith("3 environments, 3.0 MiB"), lines)
    expect("removed 1 environment, 1.0 MiB" in project.cupel("cache", "--cache", cache, "--limit", "2.5M", results=False).stdout, "--limit")
    left = json.loads(project.cupel("cache", "--cache", cache, "--json", results=False).stdout)
    expect([entry["key"] for entry in left] == ["newest", "older"], left)
    expect("removed 2 environments" in project.cupel("cache", "clear", "--cache", cache, results=False).stdout, "clear")
    expect(not list(cache.glob("*/bin")), "something is left")
    for wrong in ("5X", "-1", "nan", "", "1GG"):
        words = ["cache", "--cache", cache, f"--limit={wrong}"] if wrong else ["cache", "clea"]
        expect("error" in project.cupel(*words, code=2, results=False).stderr, wrong)


def main() -> int:
    failed = 0
    for function in CHECKS:
        try:
            function()
        except Exception as error:  # noqa: BLE001  (a check may fail in any way)
            failed += 1
            print(f"FAILED {function.__name__}: {type(error).__name__}: {error}")
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
