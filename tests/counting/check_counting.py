"""Checks that ./test counts what is: a planted skip, refusal, failure or crash is counted as such, and what did not run is named at the end.

usage: check_counting.py BUILD/bin. Ends with `N passed, N failed[, N skipped]`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.argv[1]).resolve()
sys.path.insert(0, str(ROOT / "scripts"))

import run_suites  # noqa: E402

CHECKS: list[Callable[[Path], None]] = []


def check(function: Callable[[Path], None]) -> Callable[[Path], None]:
    CHECKS.append(function)
    return function


class Skip(Exception):
    """What a check needs is not here."""


def expect(condition: object, message: object) -> None:
    if not condition:
        raise AssertionError(str(message))


def script(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def run_planted(build: Path, *arguments: str) -> tuple[int, list[str]]:
    """The exit code and the lines of the unit suite over the test binaries that were planted in this build folder."""
    done = subprocess.run([sys.executable, ROOT / "scripts/run_suites.py", "--build", build, *arguments], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout.splitlines()


def planted_googletest(build: Path, name: str, tests: list[dict], code: int) -> None:
    report = json.dumps({"tests": len(tests), "failures": 0, "disabled": 0, "errors": 0, "testsuites": [{"name": "Planted", "testsuite": tests}]})
    script(build / f"bin/unit/{name}_test", f"#!/bin/sh\nfor word; do case $word in --gtest_output=json:*) cat > ${{word#*json:}} <<'END'\n{report}\nEND\nesac; done\nexit {code}\n")


PASSED = {"name": "Passes", "status": "RUN", "result": "COMPLETED"}
SKIPPED = {"name": "Skips", "status": "RUN", "result": "SKIPPED"}
DISABLED = {"name": "DISABLED_Rests", "status": "NOTRUN", "result": "SUPPRESSED"}
FAILED = {"name": "Fails", "status": "RUN", "result": "COMPLETED", "failures": [{"failure": "no", "type": ""}]}


@check
def a_googletest_skip_is_no_pass(folder: Path) -> None:
    planted_googletest(folder, "good", [PASSED, SKIPPED, DISABLED, PASSED], 0)
    code, lines = run_planted(folder, "unit")
    expect(code == 0 and lines[-1] == "2 passed, 0 failed, 2 skipped", lines)
    expect("SKIPPED Planted.Skips" in lines and "SKIPPED Planted.DISABLED_Rests" in lines, lines)


@check
def failures_and_crashes_fail(folder: Path) -> None:
    planted_googletest(folder, "good", [PASSED], 0)
    planted_googletest(folder, "bad", [PASSED, SKIPPED, FAILED], 1)
    planted_googletest(folder, "leaks", [PASSED], 23)
    script(folder / "bin/unit/dies_test", "#!/bin/sh\nkill -SEGV $$\n")
    code, lines = run_planted(folder, "unit")
    expect(code == 1 and lines[-1] == "3 passed, 3 failed, 1 skipped", lines)
    # Whoever does not wait for the last suite finds what failed beside the line of its own; until that suite is right.
    details = folder / "test-output/unit.failed.txt"
    expect(any(str(details) in line for line in lines) and "bad_test ended with 1" in details.read_text(), lines)
    for name in ("bad", "leaks", "dies"):
        (folder / f"bin/unit/{name}_test").unlink()
    code, lines = run_planted(folder, "unit")
    expect(code == 0 and lines[-1] == "1 passed, 0 failed" and not details.exists(), lines)


@check
def real_googletest_skips_are_seen(folder: Path) -> None:
    """GoogleTest itself writes the report: of a binary whose tests skip themselves where the real configuration is not."""
    real = next((BIN / "unit").glob("cupel_testbench_config_test"))
    (folder / "bin/unit").mkdir(parents=True)
    (folder / "bin/unit" / real.name).symlink_to(real)
    before = os.environ.get("CUPEL_REAL_CONFIG")
    os.environ["CUPEL_REAL_CONFIG"] = str(folder / "none")
    try:
        code, lines = run_planted(folder, "unit")
        listed = subprocess.run([real], capture_output=True, text=True, timeout=300).stdout
    finally:
        os.environ.pop("CUPEL_REAL_CONFIG")
        if before is not None:
            os.environ["CUPEL_REAL_CONFIG"] = before
    passed, skipped = listed.count("[       OK ]"), listed.count("[  SKIPPED ]") // 2  # Once as it happens, once at the end.
    expect(code == 0 and skipped > 2 and lines[-1] == f"{passed} passed, 0 failed, {skipped} skipped", (lines[-1], passed, skipped))


@check
def commands_count_for_themselves(folder: Path) -> None:
    def counted(text: str, code: int = 0) -> run_suites.Result:
        return run_suites.counted([script(folder / "suite", f"#!/bin/sh\ncat <<'END'\n{text}\nEND\nexit {code}\n")], dict(os.environ))

    def numbers(result: run_suites.Result) -> tuple[int, ...]:
        return result.passed, result.failed, result.refused, result.skipped

    both = counted("SKIPPED one: it is not here\n4 passed, 0 failed, 3 refused, 1 skipped")
    expect(numbers(both) == (4, 0, 3, 1) and both.notice == "SKIPPED one: it is not here" and both.counts() == "4 passed, 0 failed, 3 refused, 1 skipped", both)
    expect(numbers(counted("1 passed, 2 failed", 1)) == (1, 2, 0, 0), "failures")
    expect(numbers(counted("2 passed, 0 failed, 5 refused")) == (2, 0, 5, 0), "refusals")
    expect(numbers(counted("2 passed, 0 failed, 5 skipped", 1)) == (2, 1, 0, 5), "an exit code that says otherwise")
    expect(numbers(counted("all is well")) == (0, 1, 0, 0), "no counts")
    total = run_suites.total_of([both, run_suites.not_run("it rains"), counted("1 passed, 0 failed, 1 refused")])
    expect(numbers(total) == (5, 0, 4, 2) and total.not_run == ("it rains",), total)


@check
def what_did_not_run_is_named_at_the_end(folder: Path) -> None:
    planted_googletest(folder, "good", [PASSED], 0)
    code, lines = run_planted(folder, "--mode", "quick", "--left-out", "fuzz torch", "--no-venv", "no network", "unit", "opcases")
    expect(code == 0 and lines[-3:] == ["NOT RUN opcases: operator cases were not run: no network", "NOT RUN fuzz torch: left out by --quick",
                                        "1 passed, 0 failed, 1 skipped"], lines)
    code, lines = run_planted(folder, "--no-venv", "no network", "opcases")
    expect(code == 1 and lines[-1] == "0 passed, 0 failed, 1 skipped", lines)


@check
def listed_refusals_of_operator_samples_are_refusals(folder: Path) -> None:
    """The table is the real one; the cases say what it expects of them, but for one of each kind."""
    rows = [line.split("\t") for line in (ROOT / "tests/torch/expected-bfloat16.tsv").read_text().splitlines()]
    says = {row[0]: "REFUSED(never)" if row[1].startswith("refused") else f"FAILED {row[2]} is off" for row in rows}
    refused, failing = ([name for name in says if says[name].startswith(word)] for word in ("REFUSED", "FAILED"))
    expect(len(refused) > 2 and len(failing) > 1, says)
    says |= {"add/0": "PASSED", "add/1": "PASSED", "add/2": "REFUSED(never)", "sub/0": "FAILED output 0 is off", failing[0]: "FAILED output 7", refused[0]: "PASSED",
             **{f"mul/{i}": "PASSED" for i in range(1000)}}
    for name in says:
        script(folder / f"bfloat16/{name}.pt2", "")
    (folder / "says.json").write_text(json.dumps(says))
    script(folder / "bin/cupel-worker", f"#!{sys.executable}\n" + '''
import json, pathlib, sys
says = json.loads((pathlib.Path(__file__).parents[1] / "says.json").read_text())
for path in map(pathlib.Path, sys.argv[2:]):
    word, _, message = says[f"{path.parent.name}/{path.stem}"].partition(" ")
    print(word, path, end=f": {message}\\n" if message else "\\n")
''')
    done = subprocess.run([sys.executable, ROOT / "tests/torch/check_opinfo.py", folder / "bin", folder / "bfloat16"], capture_output=True, text=True, timeout=300)
    wanted = f"1002 passed, 4 failed, {len(refused) - 1} refused, {len(failing) - 1} skipped"
    expect(done.returncode == 1 and done.stdout.splitlines()[-1] == wanted, (wanted, done.stdout[-2000:], done.stderr))


@check
def listed_refusals_of_onnx_are_refusals(folder: Path) -> None:
    rows = [line.split("\t") for line in (ROOT / "tests/onnx/expected.tsv").read_text().splitlines()]
    outcomes = {row[0]: row[1] for row in rows}
    passing, refused = ([name for name in outcomes if outcomes[name].startswith(word)] for word in ("passed", "refused"))
    outcomes |= {passing[0]: "refused: random", passing[1]: "failed", refused[0]: "passed"}
    tests = [{"id": name, "outcome": "skipped", "notes": {"refusal": "never: " + outcome.removeprefix("refused: ")}} if outcome.startswith("refused") else
             {"id": name, "outcome": outcome} for name, outcome in outcomes.items()]
    (folder / "report.json").write_text(json.dumps({"tests": tests}))
    (folder / "operators-of-cases.tsv").write_text("".join(f"{row[0]}\t{row[2]}\n" for row in rows))
    (folder / "operators.tsv").write_text((ROOT / "tests/onnx/operators.tsv").read_text())
    script(folder / "bin/cupel", f"#!{sys.executable}\nimport shutil, sys\nshutil.copy({str(folder / 'report.json')!r}, sys.argv[sys.argv.index('--json') + 1])\n")
    done = subprocess.run([sys.executable, ROOT / "tests/onnx/check_onnx.py", folder / "bin", folder], capture_output=True, text=True, timeout=300)
    wanted = f"{len(passing) - 2} passed, 3 failed, {len(refused) - 1} refused"
    expect(done.returncode == 1 and done.stdout.splitlines()[-1] == wanted, (wanted, done.stdout[-2000:], done.stderr))


@check
def pytest_counts_skips_with_their_reasons(folder: Path) -> None:
    try:
        import pytest  # noqa: F401
        python = sys.executable
    except ImportError:
        python = str(ROOT / ".venv/bin/python")
        if not os.access(python, os.X_OK):
            raise Skip("there is no pytest") from None
    (folder / "test_planted.py").write_text(
        "import pytest\ndef test_good(): pass\ndef test_bad(): assert False\n@pytest.mark.skip(reason='too cold')\ndef test_skipped(): pass\n"
        "@pytest.mark.xfail(reason='known')\ndef test_known(): assert False\n")
    done = subprocess.run([python, ROOT / "tests/run_pytest.py", folder], capture_output=True, text=True, timeout=300, cwd=folder)
    lines = done.stdout.splitlines()
    expect(done.returncode == 1 and lines[-1] == "1 passed, 1 failed, 2 skipped", done.stdout)
    expect(any(line.startswith("SKIPPED") and "too cold" in line for line in lines), done.stdout)


def main() -> int:
    failed = skipped = 0
    for function in CHECKS:
        with tempfile.TemporaryDirectory(prefix="cupel-counting-") as folder:
            try:
                function(Path(folder))
            except Skip as reason:
                skipped += 1
                print(f"SKIPPED {function.__name__}: {reason}")
            except Exception as error:  # noqa: BLE001
                failed += 1
                print(f"FAILED {function.__name__}: {type(error).__name__}: {error}", flush=True)
    print(f"{len(CHECKS) - failed - skipped} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
