"""`cupel triage` and `cupel accept` from outside, on journals as runs leave them: groups, honest numbers, what moved, every form of the report;
patches of a configuration, their guards, the ledger.

usage: check_triage.py BUILD/bin. Ends with `N passed, N failed`.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CUPEL = Path(sys.argv[1]).resolve() / "cupel"
ROOT = Path(__file__).resolve().parents[2]
CHECKS = []
DAY = 86400.0
BEGIN = 1763200000.0


def load_reader():
    spec = importlib.util.spec_from_file_location("read_xlsx", ROOT / "cupel/results/report/testdata/read_xlsx.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def check(function):
    CHECKS.append(function)
    return function


def expect(condition: bool, message: object) -> None:
    if not condition:
        raise AssertionError(message)


def model(name: str, outcome: str = "failed", *, variant: str = "base", reasons: tuple[str, ...] = (), pcc: float | None = None, threshold: float = 0.99,
          mode: str = "inference", **more) -> dict:
    fine = outcome in ("passed", "xpassed")
    found = {"suite": "models", "id": f"{name}/pytorch-{variant}-single_device-{mode}", "model_path": f"{name}/pytorch", "variant": variant,
             "framework": "pytorch", "run_mode": mode, "parallelism": "single_device", "outcome": outcome, "seconds": 0.25, "started_at": BEGIN,
             "last_stage": "done" if fine else "compare", "bringup_status": "PASSED" if fine else "INCORRECT_RESULT" if pcc else "FAILED_RUNTIME",
             "reasons": [{"name": reason, "description": reason.lower()} for reason in reasons]}
    if not fine:
        found["message"] = "RuntimeError: it broke"
    if pcc is not None:
        found["comparisons"] = [{"output": 0, "passed": fine, "pcc": pcc, "pcc_threshold": threshold, "pcc_asserted": True, "rule": "configured"}]
    return found | more


class Project:
    def __init__(self) -> None:
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.store = self.folder / "results"
        self.config = self.folder / "config"

    def run(self, day: int, records: list[dict], *, arch: str = "", device: str = "plugin.so", commit: str = "") -> str:
        started = BEGIN + day * DAY
        run = f"202611{day + 1:02d}-080000-0000" + (f"-{arch}" if arch else "")
        info = {"id": run, "started_at": started, "selected": len(records), "device": device, "arch": arch, "command_line": ["cupel", "run"],
                "environment": {"git": commit or f"commit{day}"}, "exit_code": -1}
        lines = [{"cupel_journal": 1, "run": info}, {"selected": len(records)}, *({"record": {"arch": arch, "device": device} | one} for one in records),
                 {"end": info | {"ended_at": started + 10, "exit_code": 1}}]
        path = self.store / "journals" / f"{run}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return run

    def configure(self, text: str, name: str = "torch/test_config_inference_single_device.yaml") -> Path:
        path = self.config / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("test_config:\n" + text)
        return path

    def cupel(self, *arguments: object, code: int = 0) -> subprocess.CompletedProcess:
        words = [str(CUPEL), *map(str, arguments), "--results", str(self.store)]
        result = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, errors="replace", timeout=60, stdin=subprocess.DEVNULL)
        expect(result.returncode == code, f"{words[1:]}: exit code {result.returncode}, wanted {code}: {result.stdout}{result.stderr}")
        return result

    def accept(self, *arguments: object, code: int = 0) -> subprocess.CompletedProcess:
        return self.cupel("accept", "--config", self.config, *arguments, code=code)


GUILTY = {"notes": {"guilty": "stablehlo.tanh", "guilty form": "stablehlo.tanh {accuracy = 1} : (tensor<4x8xbf16>) -> tensor<4x8xbf16>"}}
OTHER = {"notes": {"guilty": "stablehlo.tanh", "guilty form": "stablehlo.tanh {accuracy = 1} : (tensor<2x2xbf16>) -> tensor<2x2xbf16>"}}


def week() -> Project:
    project = Project()
    project.run(0, [model("a", "passed", pcc=0.999), model("b", "failed", reasons=("OOM",)), model("c", "passed"), model("old", "passed")])
    project.run(1, [model("a", "failed", pcc=0.5, reasons=("PCC", "NAN"), **GUILTY), model("b", "passed"), model("c", "failed", reasons=("OOM", "PCC")),
                    model("d", "failed", reasons=("OOM",)), model("d", "xfailed", mode="training", reasons=("PCC",)),
                    model("e", "failed", reasons=("UNCLASSIFIED",), message="core 7 is lost"), model("f", "failed", reasons=("UNCLASSIFIED",), message="core 12 is lost"),
                    model("g", "failed", pcc=0.4, **OTHER)])
    return project


@check
def groups_failures_and_counts_honestly():
    found = json.loads(week().cupel("triage", "--json").stdout)
    fixes = {fix["name"]: fix for fix in found["fixes"]}
    tanh = fixes["stablehlo.tanh"]
    expect((tanh["kind"], tanh["unlocks_tests"], tanh["unlocks_models"]) == ("operation", 2, 2), tanh)
    expect(tanh["shared"] == {"accuracy": "1", "rank": "2", "type": "bf16"}, tanh["shared"])
    oom = fixes["OOM"]
    # c needs PCC too, and d's other test does.
    expect((oom["unlocks_tests"], oom["unlocks_models"], oom["touches_tests"]) == (1, 0, 2), oom)
    expect((fixes["PCC"]["unlocks_tests"], fixes["PCC"]["unlocks_models"]) == (1, 0), fixes["PCC"])
    both = found["together"][0]
    expect([cause["name"] for cause in both["causes"]] == ["OOM", "PCC"] and both["unlocks_tests"] == 1 and both["models"] == ["c/pytorch-base", "d/pytorch-base"], both)
    shape = fixes["core N is lost"]
    expect((shape["kind"], shape["unlocks_tests"]) == ("message", 2), shape)
    expect(found["total"] == 8 and found["passing"] == 1, (found["total"], found["passing"]))
    expect([one["known"] for one in found["failing"] if one["test"].endswith("training")] == [True], "xfailed is known")


@check
def says_what_moved():
    project = week()
    found = json.loads(project.cupel("triage", "--json").stdout)
    expect([one["test"] for one in found["fixed"]] == ["models::b/pytorch-base-single_device-inference"], found["fixed"])
    new = {one["test"].split("::")[1].split("/")[0]: one["before"] for one in found["new_failures"]}
    expect(new == {"a": "passed", "c": "passed", "d": None, "e": None, "f": None, "g": None}, new)
    expect([(one["before"], one["now"]) for one in found["pcc_drift"]] == [(0.999, 0.5)], found["pcc_drift"])
    first = json.loads(project.cupel("triage", "20261101", "--json").stdout)
    expect(first["runs"] == ["20261101-080000-0000"] and not first["new_failures"] and "since" not in first, first)
    # Both runs: what began within them is told from the first.
    month = json.loads(project.cupel("triage", "--since", "2025-11-01", "--json").stdout)
    expect(len(month["runs"]) == 2 and month["total"] == 9, month["runs"])
    project.run(2, [model("b", "failed", reasons=("OOM",))], commit="same")
    project.run(3, [model("b", "passed")], commit="same")
    project.run(4, [model("b", "failed", reasons=("LATE",))], commit="same")
    month = json.loads(project.cupel("triage", "--since", "2025-11-01", "--json").stdout)
    expect([one["test"] for one in month["flaky"]] == ["models::b/pytorch-base-single_device-inference"], month["flaky"])
    # Whatever made a flaky test fail stands in its way.
    causes = [one["causes"] for one in month["failing"] if one["test"].startswith("models::b/")]
    expect([cause["name"] for cause in causes[0]] == ["LATE", "OOM"], causes)


@check
def writes_every_form():
    project = week()
    text = project.cupel("triage", "--xlsx", "t.xlsx", "--markdown", "t.md").stdout
    for part in ("7 of 8 tests fail (1 of them known) in run 20261102-080000-0000", "fixing stablehlo.tanh unlocks 2 tests, 2 models", "all: accuracy 1, rank 2, type bf16",
                 "fixing OOM unlocks 1 test, 0 models; 1 more needs something else too", "fixing OOM and PCC together unlocks 1 test more, 2 models",
                 "fixing core N is lost unlocks 2 tests", "New failures since", "PCC drift since"):
        expect(part in text, f"{part!r} is not in:\n{text}")
    page = (project.folder / "t.md").read_text()
    expect("| stablehlo.tanh | operation | 2 | 2 | 2 |" in page and "### Fixed: 1" in page, page)
    sheets = load_reader().sheets(str(project.folder / "t.xlsx"))
    expect(list(sheets) == ["Fix First", "Only Together", "Failures", "Guilty Operations", "Models", "New Failures", "Fixed", "Flaky", "Worse", "PCC Drift"], list(sheets))
    expect([sheets["Fix First"][place] for place in ("A1", "A2", "C2", "D2")] == ["Fix", "stablehlo.tanh", "2", "2"], sheets["Fix First"])
    rows = {text for place, text in sheets["Failures"].items() if re.fullmatch(r"A\d+", place)}
    expect("a/pytorch-base-single_device-inference" in rows and len(rows) == 8, rows)
    heads = [text for place, text in sheets["Failures"].items() if re.fullmatch(r"[A-Z]+1", place)]
    for column in ("Bringup Status", "Failing Reason", "Guilty Operation", "PCC", "PCC Threshold", "Error Message"):
        expect(column in heads, heads)
    guilty = sheets["Guilty Operations"]
    expect([guilty[place] for place in ("A1", "B1", "C1", "D1", "E1", "F1", "G1", "H1", "I1")] == [
        "Torch/SHLO Name", "Input Shapes", "Output Shapes", "Backend", "NumOps", "Status", "Models", "PCC", "ATOL"], guilty)
    expect(guilty["A2"] == "stablehlo.tanh" and guilty["G2"].startswith("1:") and "tensor<" in guilty["B2"] and "->" not in guilty["C2"], guilty)
    expect(sheets["Models"]["E3"] == "1" and sheets["Models"]["A3"] == "b/pytorch-base", sheets["Models"])


@check
def refuses_what_it_cannot_mean():
    project = week()
    for words, part in ((("--since", "yesterday-ish"), "no date"), (("nonsense",), "no run"), (("latest", "--since", "2d"), "exclude each other")):
        expect(part in project.cupel("triage", *words, code=2).stderr, words)
    project.cupel("triage", "--arch", "n150", code=4)
    expect("nowhere/t.xlsx" in project.cupel("triage", "--xlsx", "nowhere/t.xlsx", code=2).stderr, "a folder that is not there")


ENTRY = "  # keep me\n  a/pytorch-base-single_device-inference:\n    status: KNOWN_FAILURE_XFAIL  # since May\n    bringup_status: FAILED_RUNTIME\n    reason: \"old\"\n"


@check
def accepts_new_passes_as_a_patch_that_git_takes():
    project = Project()
    path = project.configure(ENTRY)
    for day in range(3):
        project.run(day, [model("a", "xpassed"), model("n", "passed")])
    before = path.read_text()
    result = project.accept()
    expect(path.read_text() == before, "nothing is written without --apply")
    for part in ("-    status: KNOWN_FAILURE_XFAIL  # since May", "+    status: EXPECTED_PASSING  # since May", "-    reason: \"old\"",
                 "+  n/pytorch-base-single_device-inference:"):
        expect(part in result.stdout, f"{part!r} is not in:\n{result.stdout}")
    expect("no known failure any more" in result.stderr and "promoted" in result.stderr, result.stderr)
    subprocess.run(["git", "apply", "--check", "-"], input=result.stdout, cwd=project.folder, text=True, check=True)
    stale = project.accept("--check", code=1)
    expect("stale: a/pytorch-base-single_device-inference" in stale.stdout and "2 entries, 0 held back" in stale.stdout, stale.stdout)
    project.accept("--apply")
    text = path.read_text()
    expect(text.startswith("test_config:\n  # keep me\n  a/pytorch-base-single_device-inference:\n    status: EXPECTED_PASSING  # since May\n"), text)
    expect(text.endswith("  n/pytorch-base-single_device-inference:\n    status: EXPECTED_PASSING\n") and "old" not in text, text)
    expect(project.accept("--check").stdout == "0 entries, 0 held back\n", "what was accepted is not stale")


@check
def accepts_failures_with_their_reason():
    project = Project()
    path = project.configure("  a/pytorch-base-single_device-inference:\n    status: EXPECTED_PASSING\n")
    for day in range(3):
        project.run(day, [model("a", "failed", message="TT_FATAL: core (3, 4) has 'no' \"room\"\nmore")])
    project.accept("--apply")
    shown = subprocess.run([str(CUPEL), "config", "show", "a/pytorch-base-single_device-inference", "--config", str(project.config)], capture_output=True, text=True)
    expect("TT_FATAL: core (3, 4) has 'no' \\\"room\\\"" in shown.stdout and "KNOWN_FAILURE_XFAIL" in shown.stdout and "FAILED_RUNTIME" in shown.stdout, shown.stdout + path.read_text())


@check
def holds_back_what_runs_do_not_agree_on():
    project = Project()
    project.configure(ENTRY)
    project.run(0, [model("a", "xpassed")])
    project.run(1, [model("a", "xpassed")])
    expect("held back: a/pytorch-base-single_device-inference: only 2 of 3 runs" in project.accept().stderr, "two runs")
    project.run(2, [model("a", "xpassed", flaky=True, attempts=2)])
    expect("flaky in run" in project.accept().stderr, "a flake")
    project.run(3, [model("a", "xfailed")])
    project.run(4, [model("a", "xpassed")])
    expect("xpassed in run 20261105-080000-0000 and xfailed in run 20261104-080000-0000" in project.accept().stderr, "disagreement")
    expect("+    status: EXPECTED_PASSING" in project.accept("--runs", 1, "a/pytorch-base-single_device-inference").stdout, "one run")
    project.accept("no/such-test", code=4)


@check
def architectures_that_differ_get_overrides():
    project = Project()
    path = project.configure(ENTRY)
    for day in range(3):
        project.run(day, [model("a", "xpassed")], arch="n150")
        project.run(day, [model("a", "xfailed")], arch="p150")
    project.accept("--apply")
    text = path.read_text()
    expect("    status: KNOWN_FAILURE_XFAIL  # since May" in text and "arch_overrides:\n      n150:\n        status: EXPECTED_PASSING" in text, text)
    show = [str(CUPEL), "config", "check", str(project.config), "--no-zoo"]
    checked = subprocess.run(show, capture_output=True, text=True)
    expect(checked.returncode == 0, checked.stdout)


@check
def lowers_thresholds_only_with_a_reason_and_a_ledger():
    project = Project()
    path = project.configure("  a/pytorch-base-single_device-inference:\n    status: EXPECTED_PASSING\n    required_pcc: 0.98 # measured\n")
    for day in range(3):
        project.run(day, [model("a", "failed", pcc=0.965, threshold=0.98)])
    expect("+    status: KNOWN_FAILURE_XFAIL" in project.accept().stdout, "never silently")
    expect("--why" in project.accept("--allow-lower-pcc", code=2).stderr, "a reason is wanted")
    result = project.accept("--allow-lower-pcc", "--why", "bfp8 weights", "--apply")
    expect("required_pcc: 0.96 # measured" in path.read_text(), path.read_text())
    ledger = [json.loads(line) for line in (project.config / "lowered-thresholds.jsonl").read_text().splitlines()]
    expect(len(ledger) == 1 and (ledger[0]["from"], ledger[0]["to"], ledger[0]["by"], ledger[0]["why"]) == (0.98, 0.96, 0.02, "bfp8 weights"), ledger)
    expect(len(ledger[0]["runs"]) == 3 and ledger[0]["when"].endswith("Z"), ledger)
    expect("+++ b/config/lowered-thresholds.jsonl" in result.stdout, result.stdout)
    # The next one is added below.
    for day in range(3, 6):
        project.run(day, [model("a", "failed", pcc=0.955, threshold=0.96)])
    project.accept("--allow-lower-pcc", "--why", "again", "--apply")
    ledger = (project.config / "lowered-thresholds.jsonl").read_text().splitlines()
    expect(len(ledger) == 2 and json.loads(ledger[1])["to"] == 0.95, ledger)


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
