"""Jobs of a CI, from outside: a plan from measured durations, jobs that die, journals merged into one run, only what is open run again.

usage: check_ci.py BUILD/bin. Ends with `N passed, N failed`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CUPEL = Path(sys.argv[1]).resolve() / "cupel"
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
NAMES = [f"p{number}" for number in range(6)]


def expect(condition: bool, message: object) -> None:
    if not condition:
        raise AssertionError(message)


class Project:
    def __init__(self) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        (self.folder / "programs").mkdir()
        for name in NAMES:
            (self.folder / f"programs/{name}.mlir").write_text(PROGRAM)

    def cupel(self, *words: object, code: int = 0) -> str:
        done = subprocess.run([CUPEL, *map(str, words)], cwd=self.folder, capture_output=True, text=True, errors="replace", timeout=120, stdin=subprocess.DEVNULL)
        expect(done.returncode == code, f"{[str(word) for word in words]}: exit code {done.returncode}, wanted {code}: {done.stdout}{done.stderr}")
        return done.stdout if not code else done.stdout + done.stderr

    def outcomes(self, place: str, run: str) -> dict[str, tuple[str, str]]:
        tests = json.loads(self.cupel("show", run, "--json", "--results", place))["tests"]
        return {test["id"]: (test["outcome"], test.get("message", "")) for test in tests}

    def ingest(self, run: str, records: list[tuple[str, float]]) -> None:
        info = {"id": run, "started_at": 1763200000.0 + int(run[-1]), "device": "reference", "selected": len(records)}
        lines = [{"cupel_journal": 1, "run": info}]
        lines += [{"record": {"suite": name.split("::")[0], "id": name.split("::", 1)[1], "outcome": "passed", "seconds": seconds}} for name, seconds in records]
        (self.folder / "made.jsonl").write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
        self.cupel("results", "ingest", "made.jsonl", "--results", "lab")


def a_plan_comes_from_measured_durations() -> None:
    project = Project()
    (project.folder / "preset.json").write_text(json.dumps([{"runs-on": "cpu", "name": "all", "dir": ".", "test-mark": "", "parallel-groups": 2}]))
    project.ingest("20251115-000000-0001", [("programs::other", 1.0)])
    words = ("ci-matrix", "preset.json", "--plan", "jobs.json", "--zoo", ROOT / "zoo/models", "--results", "lab")
    matrix = json.loads(project.cupel(*words))
    plan = json.loads((project.folder / "jobs.json").read_text())
    tests = [test for job in plan["jobs"] for test in job["tests"]]
    expect(len(tests) > 10 and len(set(tests)) == len(tests), tests)
    expect([entry["job"] for entry in matrix] == [1, 2], matrix)
    # One takes long now and then, the others a second; one more was never measured.
    for run in range(2, 7):
        project.ingest(f"20251115-000000-000{run}", [(tests[0], 25000.0 if run == 4 else 10000.0), *((test, 1.0) for test in tests[1:-1])])
    matrix = json.loads(project.cupel(*words))
    again = json.loads((project.folder / "jobs.json").read_text())
    expect(sorted(test for job in again["jobs"] for test in job["tests"]) == sorted(tests), "another selection")
    expect(again["jobs"][0]["tests"] == [tests[0]], f"the first job has {len(again['jobs'][0]['tests'])} tests")
    expect(matrix[0]["timeout-minutes"] == 635, matrix)  # 1.5 times 25,000 s and ten minutes.
    expect(matrix[1]["timeout-minutes"] < 60, matrix)  # A second each; not four hours for the unknown one.
    listed = project.cupel("list", "--zoo", ROOT / "zoo/models", "--preset", "preset.json", "--format", "ids").split()
    expect(len(listed) == len(tests), (len(listed), len(tests)))


def a_job_that_dies_leaves_its_tests_and_only_they_run_again() -> None:
    project, run = Project(), "20261116-000000-0001"
    jobs = [{"name": f"all {number}/2", "arch": "", "estimated_seconds": 3.0, "timeout_minutes": 11,
             "tests": [f"programs::{name}.mlir" for name in NAMES[number - 1::2]]} for number in (1, 2)]
    (project.folder / "jobs.json").write_text(json.dumps({"cupel_jobs": 1, "run": run, "jobs": jobs}))
    (project.folder / "uploaded").mkdir()

    def run_job(job: str, place: str) -> None:
        project.cupel("run", "programs", "-q", "--keep-failed", "none", "--job", job, "--results", place, code=1)  # All unjudged makes it 1.
        for journal in (project.folder / place / "journals").glob("*.jsonl"):
            shutil.copy(journal, project.folder / "uploaded")

    # The first job ends; the second dies and uploads nothing.
    run_job("jobs.json:1", "job1")
    told = project.cupel("results", "merge", "uploaded", "--plan", "jobs.json", "--open", "open.json", "--results", "lab", code=1)
    expect(f"{run}: 6 tests of 1 journal, 3 without a result" in told, told)
    outcomes = project.outcomes("lab", run)
    died = {test.split("::")[1] for test in jobs[1]["tests"]}
    expect(len(outcomes) == 6, outcomes)
    for name, (outcome, message) in outcomes.items():
        expect((outcome, message) == ("not run", "job died: all 2/2 left no outcome of it") if name in died else outcome == "unjudged", (name, outcome, message))
    # Only what is open runs again, and the same run has all of it.
    again = json.loads((project.folder / "open.json").read_text())
    expect([job["tests"] for job in again["jobs"]] == [jobs[1]["tests"]], again)
    run_job("open.json:1", "job2")
    told = project.cupel("results", "merge", "uploaded", "--plan", "jobs.json", "--results", "lab")
    expect("6 tests of 2 journals, 0 without a result" in told, told)
    expect(all(outcome == "unjudged" for outcome, _ in project.outcomes("lab", run).values()), project.outcomes("lab", run))
    expect("nothing wrong" in project.cupel("results", "check", "--results", "lab"), "check")
    # Merging once more changes nothing.
    before = project.cupel("results", "export", run, "--results", "lab")
    project.cupel("results", "merge", "uploaded", "--plan", "jobs.json", "--results", "lab")
    expect(project.cupel("results", "export", run, "--results", "lab") == before, "a second merge changed something")


def what_is_wrong_is_told_in_one_line() -> None:
    project = Project()
    (project.folder / "no.json").write_text("{}")
    (project.folder / "no.jsonl").write_text("hello\n")
    for words, told in ((("run", "--job", "no.json:1"), "not a plan of jobs"), (("run", "--job", "no.json"), "write FILE:NUMBER"),
                        (("run", "--job", "nowhere:1"), "nowhere"), (("results", "merge", "no.jsonl"), "which run it is of"),
                        (("results", "merge", "programs"), "no journals"), (("results", "merge", "x", "--plan", "no.json"), "not a plan of jobs")):
        output = project.cupel(*words, "--results", "r", code=2)
        expect(told in output and len(output.strip().splitlines()) == 1, f"{words}: {output}")


def main() -> int:
    checks, failed = (a_plan_comes_from_measured_durations, a_job_that_dies_leaves_its_tests_and_only_they_run_again, what_is_wrong_is_told_in_one_line), 0
    for function in checks:
        try:
            function()
        except Exception as error:  # noqa: BLE001  (a check may fail in any way)
            failed += 1
            print(f"FAILED {function.__name__}: {type(error).__name__}: {error}")
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
