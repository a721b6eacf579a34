"""Checks of `cupel run` from outside: outcomes and exit codes of real programs, runs that are killed and resumed, Ctrl-C.

usage: check_runner.py BUILD/bin [--mode quick|default|full] [--only WORD]. Ends with `N passed, N failed[, N skipped]`.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

PARSER = argparse.ArgumentParser(description=__doc__)
PARSER.add_argument("bin", type=Path)
PARSER.add_argument("--mode", choices=["default", "quick", "full"], default="default")
PARSER.add_argument("--only", default="", help="checks whose name holds this word")
OPTIONS = PARSER.parse_args()
BIN = OPTIONS.bin.resolve()
CUPEL = BIN / "cupel"
KILLED_RUNS = {"quick": 8, "default": 25, "full": 300}[OPTIONS.mode]
FINAL = {"passed", "failed", "xfailed", "xpassed", "skipped", "unjudged", "crashed", "timed out", "out of memory"}

CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def expect(condition: bool, message: object) -> None:
    if not condition:
        raise AssertionError(str(message))


class Skip(Exception):
    pass


class Place:
    """A folder with programs and results of its own, and its own copy of the fake worker, so that nobody else's processes count."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.programs = folder / "programs"
        self.programs.mkdir(parents=True)
        self.worker = folder / "fake-worker"
        shutil.copy(BIN / "tests/fake-worker", self.worker)

    def program(self, name: str, text: str) -> None:
        (self.programs / name).write_text(text)

    def fake(self, count: int, action: str = "compare pass") -> None:
        for i in range(count):
            self.program(f"t{i:04}.mlir", f"// fake: {action}\n")

    def command(self, *arguments: object) -> list[str]:
        return [str(CUPEL), "run", *map(str, arguments), "--results", str(self.folder / "results")]

    def environment(self, fake: bool) -> dict[str, str]:
        environment = dict(os.environ, TMPDIR=str(self.folder), CUPEL_CACHE=str(self.folder / "cache"))
        if fake:
            environment["CUPEL_WORKER"] = str(self.worker)
        return environment

    def run(self, *arguments: object, fake: bool = False) -> subprocess.CompletedProcess:
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, errors="replace", timeout=120, cwd=self.folder,
                              stdin=subprocess.DEVNULL, env=self.environment(fake))

    def start(self, *arguments: object, fake: bool = True) -> subprocess.Popen:
        return subprocess.Popen(self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.folder,
                                stdin=subprocess.DEVNULL, env=self.environment(fake), start_new_session=True)

    def journals(self) -> list[Path]:
        return sorted((self.folder / "results/journals").glob("*.jsonl"))

    def processes(self) -> list[str]:
        """Command lines of workers of ours that live."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if words[0] == str(self.worker).encode() and state not in "ZX":
                found.append(entry.name)
        return found


def outcomes(journal: Path) -> dict[str, list[str]]:
    """All outcomes that a journal holds for each test, in order. A torn line is one that was never finished."""
    found = collections.defaultdict(list)
    for line in journal.read_bytes().split(b"\n")[:-1]:
        entry = json.loads(line)
        if "record" in entry:
            record = entry["record"]
            found[f"{record['suite']}::{record['id']}"].append(record.get("outcome", "passed"))
    return found


def selection(journal: Path) -> list[str]:
    names = []
    for line in journal.read_bytes().split(b"\n")[:-1]:
        names += json.loads(line).get("select", [])
    return names


def report(place: Place, *arguments: object, fake: bool = False) -> tuple[subprocess.CompletedProcess, dict]:
    file = place.folder / "report.json"
    file.unlink(missing_ok=True)
    result = place.run(*arguments, "--json", file, fake=fake)
    expect(file.exists(), f"no report: {result.stdout}{result.stderr}")
    tests = json.loads(file.read_text())["tests"]
    return result, {test["id"]: test for test in tests}


PASSING = """func.func @main() {
  %a = stablehlo.constant dense<2> : tensor<i32>
  %b = stablehlo.add %a, %a : tensor<i32>
  check.expect_eq_const %b, dense<4> : tensor<i32>
  return
}
"""
FAILING = PASSING.replace("dense<4>", "dense<5>")
ENDLESS = """func.func @main() -> tensor<i32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.while(%i = %zero) : tensor<i32>
    cond {
      %true = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %true : tensor<i1>
    } do {
      stablehlo.return %i : tensor<i32>
    }
  return %0 : tensor<i32>
}
"""
GREEDY = """func.func @main() -> tensor<65536x65536xf64> {
  %0 = stablehlo.iota dim = 0 : tensor<65536x65536xf64>
  return %0 : tensor<65536x65536xf64>
}
"""
DOUBLE = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
SORTING = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.abs %a : tensor<f32>
    %q = stablehlo.abs %b : tensor<f32>
    %less = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) {dimension = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
"""


def safetensors(values: list[float]) -> bytes:
    data = struct.pack(f"<{len(values)}f", *values)
    header = json.dumps({"0": {"dtype": "F32", "shape": [len(values)], "data_offsets": [0, len(data)]}}).encode()
    header += b" " * (-len(header) % 8)
    return struct.pack("<Q", len(header)) + header + data


@check
def real_programs_end_in_their_outcomes(place: Place) -> None:
    place.program("a_pass.mlir", PASSING)
    place.program("b_fail.mlir", FAILING)
    place.program("c_endless.mlir", ENDLESS)
    place.program("d_greedy.mlir", GREEDY)
    place.program("e_syntax.mlir", "func.func @main() {")
    place.program("f_chunks.mlir", f"{PASSING}// -----\n{FAILING}// -----\n{PASSING}")
    place.program("g_double.mlir", DOUBLE)
    place.program("h_right.mlir", DOUBLE)
    place.program("i_wrong.mlir", DOUBLE)
    for name, factor in (("h_right", 2), ("i_wrong", -2)):
        (place.programs / f"{name}.inputs.safetensors").write_bytes(safetensors([1, 2, 3, 4]))
        (place.programs / f"{name}.expected.safetensors").write_bytes(safetensors([factor * i for i in (1, 2, 3, 4)]))
    result, tests = report(place, place.programs, "--timeout", 2, "--memory", "1G", "-j", 2, "--junitxml", place.folder / "junit.xml")
    expect(result.returncode == 1, f"exit code {result.returncode}: {result.stderr}")
    expected = {"a_pass": ("passed", "done"), "b_fail": ("failed", "compare"), "c_endless": ("timed out", "execute"),
                "d_greedy": ("out of memory", "execute"), "e_syntax": ("failed", "frontend"), "g_double": ("unjudged", "done"),
                "h_right": ("passed", "done"), "i_wrong": ("failed", "compare")}
    for name, (outcome, stage) in expected.items():
        found = [test for id, test in tests.items() if name in id]
        expect(len(found) == 1, f"{name}: {len(found)} tests in {list(tests)}")
        got = (found[0].get("outcome"), found[0].get("last_stage"))
        expect(got == (outcome, stage), f"{name}: {got} instead of {(outcome, stage)}: {found[0].get('message')}")
    chunks = [test.get("outcome") for id, test in sorted(tests.items()) if "f_chunks" in id]
    expect(chunks == ["passed", "failed", "passed"], f"chunks ended as {chunks}")
    wrong = next(test for id, test in tests.items() if "i_wrong" in id)
    expect(wrong["comparisons"][0]["pcc"] < 0, f"the figures are missing: {wrong}")
    expect(len(tests) == 11, f"{len(tests)} tests")
    counts = {key: int(value) for key, value in next(ElementTree.parse(place.folder / "junit.xml").iter("testsuite")).items()
              if key in ("tests", "failures", "errors", "skipped")}
    expect(counts["tests"] == 11 and counts["failures"] + counts["errors"] == 6, f"JUnit counts {counts}")


@check
def exit_codes(place: Place) -> None:
    place.program("pass.mlir", PASSING)
    good = place.run(place.programs)
    expect(good.returncode == 0, f"0 expected: {good.stdout}{good.stderr}")
    expect(place.run(place.programs, "-k", "nothing_like_this").returncode == 4, "4 where nothing is selected")
    for bad in (["--timeout", "-1"], ["--stage-timeout", "nowhere=3"], ["--memory", "much"], ["--shard", "3/2"], ["-k", "("], ["/no/such/path"],
                ["--resume"], ["--resume", "no-such-run"], ["--no-such-option"]):
        result = place.run(*([] if "--resume" in bad or "/no/such/path" in bad else [place.programs]), *bad)
        expect(result.returncode == 2, f"{bad}: exit code {result.returncode}: {result.stdout}{result.stderr}")
        expect(result.stderr.strip() != "", f"{bad}: nothing said")


@check
def an_unknown_device_is_told_before_tests_run(place: Place) -> None:
    place.program("pass.mlir", PASSING)
    for name, words in {"no-such-device": "n300", "no/such/plugin.so": "no such file", "cupel?x": "NAME=VALUE", "n300?=1": "NAME=VALUE"}.items():
        result = place.run(place.programs, "--device", name)
        expect(result.returncode == 2 and name in result.stderr and words in result.stderr, f"{result.returncode}: {result.stderr}")
    expect(not place.journals(), "a run was begun")


@check
def what_failed_is_run_again(place: Place) -> None:
    place.program("a.mlir", PASSING)
    place.program("b.mlir", FAILING)
    place.run(place.programs)
    place.program("c.mlir", PASSING)
    _, tests = report(place, place.programs, "-R", "latest")
    expect(sorted(Path(id).stem for id in tests) == ["b", "c"], f"-R latest ran {sorted(tests)}")
    # A run of one test makes nothing of the others unknown.
    place.run(place.programs, "-k", "a")
    _, tests = report(place, place.programs, "-R", "latest")
    expect(sorted(Path(id).stem for id in tests) == ["b"], f"after a partial run -R latest ran {sorted(tests)}")


@check
def killed_runs_go_on(place: Place) -> None:
    """The runner is killed with SIGKILL at random moments, resumed, and killed again; at last it is let live."""
    random.seed(OPTIONS.mode + str(KILLED_RUNS))
    count = 60
    place.fake(count)
    place.program("t0003.mlir", "// fake: execute abort\n")
    place.program("t0007.mlir", "// fake: compare fail\n")
    place.program("t0011.mlir", "// fake: execute sleep 0.02\n")
    began = time.time()
    whole = place.run(place.programs, "-j", 2, fake=True)
    whole_seconds = time.time() - began
    truth = outcomes(place.journals()[0])
    expect(len(truth) == count and whole.returncode == 1, f"the run that is not killed: {whole.stdout}{whole.stderr}")
    kills = 0
    for number in range(KILLED_RUNS):
        for old in place.journals():
            old.unlink()
        arguments = [place.programs, "-j", 2]
        for attempt in range(10):
            process = place.start(*arguments)
            if attempt < random.choice((1, 1, 2)):
                time.sleep(random.uniform(0, whole_seconds))
                if process.poll() is None:
                    kills += 1
                process.send_signal(signal.SIGKILL)
            out, errors = process.communicate(timeout=100)
            if process.returncode in (0, 1):
                break
            if place.journals() and b'{"end":' in place.journals()[0].read_bytes():
                break  # Killed when everything was done already.
            if place.journals() and selection(place.journals()[0]) and b'"selected"' in place.journals()[0].read_bytes():
                arguments = ["--resume"]
            else:  # Killed before it had begun: nothing is there to go on with.
                for old in place.journals():
                    old.unlink()
        expect(process.returncode in (1, -signal.SIGKILL), f"run {number} ended with {process.returncode}: {out[-500:]}{errors[-500:]}")
        journals = place.journals()
        expect(len(journals) == 1, f"run {number}: {len(journals)} journals")
        found = outcomes(journals[0])
        expect(set(found) == set(selection(journals[0])) and len(found) == count, f"run {number}: {count - len(found)} outcomes are lost")
        for name, all_of_it in found.items():
            final = [outcome for outcome in all_of_it if outcome in FINAL]
            expect(len(final) == 1, f"run {number}: {name} has the outcomes {all_of_it}")
            expect(final == truth[name], f"run {number}: {name} ended as {final} instead of {truth[name]}")
    for _ in range(100):
        if not place.processes():
            break
        time.sleep(0.05)
    expect(not place.processes(), f"workers outlived their runner: {place.processes()}")
    expect(kills >= KILLED_RUNS // 4, f"only {kills} of {KILLED_RUNS} runs were still there to be killed")
    print(f"     {kills} kills in {KILLED_RUNS} runs")


def interrupted(place: Place, signals: int) -> subprocess.Popen:
    place.fake(20, "execute sleep 0.3")
    process = place.start(place.programs, "-j", 2)
    for _ in range(400):
        if place.journals() and len(outcomes(place.journals()[0])) >= 2:
            break
        time.sleep(0.02)
    for _ in range(signals):
        process.send_signal(signal.SIGINT)
        time.sleep(0.002)
    return process


@check
def ctrl_c_once_ends_in_order(place: Place) -> None:
    process = interrupted(place, 1)
    out, errors = process.communicate(timeout=30)
    expect(process.returncode == 1, f"exit code {process.returncode}: {out}{errors}")
    counted = collections.Counter(outcome for all_of_it in outcomes(place.journals()[0]).values() for outcome in all_of_it)
    expect(sum(counted.values()) == 20, f"outcomes {counted}")
    expect(counted["passed"] >= 2 and counted["not run"] >= 1 and counted["passed"] + counted["interrupted"] + counted["not run"] == 20, counted)
    expect("20 tests selected" in out, f"no summary: {out}")
    again = place.run("--resume", fake=True)
    expect(again.returncode == 0, f"resumed: {again.stdout}{again.stderr}")
    finals = [[o for o in all_of_it if o in FINAL] for all_of_it in outcomes(place.journals()[0]).values()]
    expect(all(final == ["passed"] for final in finals), finals)
    done = place.run("--resume", fake=True)
    expect(done.returncode == 2, "nothing is left to go on with")


@check
def ctrl_c_twice_stops_at_once(place: Place) -> None:
    process = interrupted(place, 2)
    began = time.time()
    out, errors = process.communicate(timeout=30)
    expect(time.time() - began < 5, "it took long")
    # The first may have ended everything in order before the second came.
    expect(process.returncode in (5, 1), f"exit code {process.returncode}: {out}{errors}")
    kept = outcomes(place.journals()[0])
    expect(all("passed" in kept[name] for name in kept if kept[name] and kept[name][0] == "passed"), kept)
    again = place.run("--resume", fake=True)
    expect(again.returncode == 0, f"resumed: {again.stdout}{again.stderr}")
    finals = [[o for o in all_of_it if o in FINAL] for all_of_it in outcomes(place.journals()[0]).values()]
    expect(len(finals) == 20 and all(final == ["passed"] for final in finals), finals)


@check
def output_that_nobody_reads_costs_no_outcome(place: Place) -> None:
    place.fake(200)
    process = place.start(place.programs, "-j", 2)
    process.stdout.close()
    process.wait(timeout=60)
    process.stderr.close()
    expect(len(outcomes(place.journals()[0])) == 200, "outcomes are missing")


@check
def two_runs_at_once_share_a_store(place: Place) -> None:
    place.fake(100)
    both = [place.start(place.programs) for _ in range(2)]
    for process in both:
        out, errors = process.communicate(timeout=100)
        expect(process.returncode == 0, f"{out[-300:]}{errors}")
    expect([len(outcomes(journal)) for journal in place.journals()] == [100, 100], "outcomes are missing")


@check
def flaky_tests_are_told(place: Place) -> None:
    place.program("flaky.mlir", f"// fake: execute flaky {place.folder}/mark\n")
    result, tests = report(place, place.programs, "--retries", 2, fake=True)
    test = next(iter(tests.values()))
    expect(result.returncode == 0 and test.get("flaky") and test["message"] == "flaky: passed on try 2 of 3", test)
    expect("flaky" in result.stdout.lower() and "try 2 of 3" in result.stdout, result.stdout)


def plugin(name: str) -> Path:
    path = BIN.parent / "lib" / name
    if not path.exists():
        raise Skip(f"{path} is not built")
    return path


@check
def a_plugin_that_lies_gets_no_tests(place: Place) -> None:
    """The fault plugin gives every program its arguments back: the known-good program shows it."""
    place.program("pass.mlir", PASSING)
    result, tests = report(place, place.programs, "--device", plugin("fault_plugin.so"))
    test = next(iter(tests.values()))
    expect(result.returncode == 1 and test.get("outcome") == "not run" and "known to be good" in test["message"], test)


@check
def programs_run_on_our_plugin(place: Place) -> None:
    plugin("pjrt_plugin_cupel.so")
    place.program("a_pass.mlir", PASSING)
    place.program("b_fail.mlir", FAILING)
    place.program("c_double.mlir", DOUBLE)
    place.program("d_sort.mlir", SORTING)
    place.program("e_sorted_sum.mlir", SORTING.replace("return %r", "%s = stablehlo.add %r, %x : tensor<4xf32>\n  return %s"))
    # The compiled device is judged by the reference, but where it borrows the reference's kernels; on these alone nothing is.
    for device, outcomes in (("cupel", {"c_double": "passed", "d_sort": "unjudged", "e_sorted_sum": "passed"}),
                             ("cupel?backend=reference", {"c_double": "unjudged", "d_sort": "unjudged", "e_sorted_sum": "unjudged"})):
        result, tests = report(place, place.programs, "--device", device)
        got = {Path(id).stem: test.get("outcome") for id, test in tests.items()}
        expect(got == {"a_pass": "passed", "b_fail": "failed"} | outcomes, f"{device}: {got}: {result.stdout}")
        double = next(test for id, test in tests.items() if "c_double" in id)
        expect(double["comparisons"][0]["pcc"] > 0.999 and "reference" in double["notes"]["expectation"], double)
        mixed = next(test for id, test in tests.items() if "e_sorted_sum" in id)
        expect(device != "cupel" or "stablehlo.sort ran on the reference's kernels" in mixed["notes"]["not judged"], mixed["notes"])


@check
def unjudged_is_not_passed(place: Place) -> None:
    """A run of which nothing was judged is not green; beside a judged test an unjudged one is named, and --strict makes it count."""
    place.program("double.mlir", DOUBLE)
    result, tests = report(place, place.programs, "--junitxml", place.folder / "junit.xml")
    test = next(iter(tests.values()))
    expect(result.returncode == 1 and test["outcome"] == "unjudged" and test["bringup_status"] == "UNKNOWN", result.stdout)
    expect("no test of this run was judged" in result.stdout and "UNJUDGED: 1 test ran" in result.stdout, result.stdout)
    skipped = ElementTree.parse(place.folder / "junit.xml").find(".//testcase/skipped")
    expect(skipped is not None and skipped.get("message").startswith("unjudged: no expectation"), "JUnit")
    place.program("pass.mlir", PASSING)
    result = place.run(place.programs)
    expect(result.returncode == 0 and "1 passed, 1 unjudged" in result.stdout and "programs::double.mlir no expectation" in result.stdout, result.stdout)
    expect(place.run(place.programs, "--strict").returncode == 1, "--strict")


@check
def the_bundled_programs_are_judged(place: Place) -> None:
    """Each by values from elsewhere, on the reference as on our plugin."""
    plugin("pjrt_plugin_cupel.so")
    for device in ("reference", "cupel"):
        result, tests = report(place, Path(__file__).resolve().parents[2] / "zoo/programs", "--device", device, "--strict")
        expect(result.returncode == 0 and len(tests) >= 13, f"{device}: {result.stdout}")
        others = {id: test["outcome"] for id, test in tests.items() if test["outcome"] != "passed" or test["notes"]["expectation"] != "the file beside it"}
        expect(not others, f"{device}: {others}")


@check
def failures_are_explained_by_the_operation_to_blame(place: Place) -> None:
    """A device on which exponentials go through bfloat16: that operation is to blame, and is saved alone."""
    steps = ["abs %x : tensor<8xf32>", "negate %0 : tensor<8xf32>", "convert %1 : (tensor<8xf32>) -> tensor<8xf64>", "abs %2 : tensor<8xf64>",
             "exponential %3 : tensor<8xf64>", "negate %4 : tensor<8xf64>", "sqrt %6 : tensor<8xf64>"]
    body = "".join(f"  %{i if i < 6 else 7} = stablehlo.{step}\n" for i, step in enumerate(steps)).replace("  %7", "  %6 = stablehlo.abs %5 : tensor<8xf64>\n  %7")
    place.program("doubles.mlir", f"func.func @main(%x: tensor<8xf32>) -> tensor<8xf64> {{\n{body}  return %7 : tensor<8xf64>\n}}\n")
    # An architecture that holds f64 in f32 is off in whatever it hands over: no operation is to blame.
    _, tests = report(place, place.programs, "--device", "n300", "--precision", "f32/f32/f64", "--explain", 1)
    test = next(iter(tests.values()))
    expect(test["outcome"] == "failed" and "guilty" not in test["notes"] and "no operation" in test["notes"]["explained"], test["notes"])
    narrow = ("--device", f"{plugin('operation_planter.so')}?op=stablehlo.exponential&effect=narrow")
    result, tests = report(place, place.programs, *narrow, "--explain", 1, "--junitxml", place.folder / "junit.xml", "--markdown", place.folder / "page.md")
    test = next(iter(tests.values()))
    expect(result.returncode == 1 and test["outcome"] == "failed" and test["notes"].get("guilty") == "stablehlo.exponential", test)
    expect("doubles.mlir:6:" in test["notes"]["explained"] and "alone is wrong" in test["notes"]["explained"], test["notes"])
    expect("explained: stablehlo.exponential" in result.stdout and 'name="guilty" value="stablehlo.exponential"' in (place.folder / "junit.xml").read_text(), result.stdout)
    page = (place.folder / "page.md").read_text()
    expect("### Explained" in page and "explained: stablehlo.exponential" in page, page)
    # What is known already leaves its turn to a failure that is new.
    place.program("later.mlir", "func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {\n  %0 = stablehlo.exponential %x : tensor<8xf32>\n  return %0 : tensor<8xf32>\n}\n")
    _, both = report(place, place.programs, *narrow, "--explain", 1, "-j", 1)
    expect(len(both) == 2 and all("explained" in one["notes"] for one in both.values()), both)
    (place.programs / "later.mlir").unlink()
    again, reduced = report(place, test["notes"]["reduced"], *narrow)
    expect(again.returncode == 1 and next(iter(reduced.values()))["error_class"] == "wrong_result", again.stdout)
    # Where nothing fails, nothing is explained; nor without being asked.
    expect("explained" not in report(place, place.programs, *narrow)[0].stdout, "not asked")


@check
def narrow_devices_are_judged_piece_by_piece(place: Place) -> None:
    plugin("pjrt_plugin_cupel.so")
    programs = Path(__file__).resolve().parents[2] / "zoo/programs"
    _, tests = report(place, programs, "--device", "cupel", "--precision", "bf16")
    by_pieces = {id: test["notes"].get("by pieces", "") for id, test in tests.items()}
    expect(sum("pieces are right when they are fed right values" in note for note in by_pieces.values()) >= 10, by_pieces)
    _, tests = report(place, programs, "--device", "cupel")
    expect(not any("by pieces" in test["notes"] for test in tests.values()), "f32 devices are judged whole")
    _, tests = report(place, programs / "mlp.mlir", "--device", "cupel", "--pieces", 3)
    expect(next(iter(tests.values()))["notes"]["by pieces"].startswith("3 of 3 pieces are right"), tests)
    # Who asks for pieces is told where there are none.
    (place.folder / "checks_itself.mlir").write_text(PASSING)
    result, _ = report(place, place.folder / "checks_itself.mlir", programs / "mlp.mlir", "--device", "cupel", "--pieces", 3)
    said = json.loads((place.folder / "report.json").read_text())["summary"]["not_judged_by_pieces"]
    expect(said == {"it checks itself": 1} and "1 test was not judged by pieces, as a whole alone: it checks itself" in result.stdout, result.stdout)



@check
def products_in_bf16_are_judged_as_what_they_are(place: Place) -> None:
    """precision=bf16 of our own device: by its name, by an option, by what it says of itself; each record says bf16."""
    ours = plugin("pjrt_plugin_cupel.so")
    mlp = Path(__file__).resolve().parents[2] / "zoo/programs/mlp.mlir"
    # As anybody's plugin it declares nothing, is handed the option with every program, and says what it did.
    for how in (("--device", "cupel?precision=bf16"), ("--device", "cupel", "--option", "precision=bf16"), ("--device", ours, "--option", "precision=bf16")):
        result, tests = report(place, mlp, *how)
        test = next(iter(tests.values()))
        expect(result.returncode == 0 and {one["precision"] for one in test["comparisons"]} == {"bf16/f32"}, test)
        expect(test["notes"]["precision"].startswith("bf16/f32, ") and "product" in test["notes"]["precision"], test)
    # It is computed so, and not judged so alone: by the limits of f32 it is wrong.
    result, tests = report(place, mlp, "--device", "cupel?precision=bf16", "--precision", "f32")
    expect(result.returncode == 1 and next(iter(tests.values()))["outcome"] == "failed", tests)
    _, tests = report(place, mlp, "--device", "cupel")
    test = next(iter(tests.values()))
    expect("precision" not in test["notes"] and test["comparisons"][0]["precision"] == "f32", test)
    expect(place.run(mlp, "--device", "cupel?precision=tf32").returncode == 2, "no such precision")


@check
def noise_judges_where_no_comparator_is_named(place: Place) -> None:
    """The strict rule by default, upstream's correlation for the asking, and each says so in every report."""
    place.program("double.mlir", DOUBLE)
    inputs = [1.5, -2.25, 3.125, 4.75]
    (place.programs / "double.inputs.safetensors").write_bytes(safetensors(inputs))

    def judge(scale: float, *arguments: object) -> tuple[subprocess.CompletedProcess, dict, dict]:
        (place.programs / "double.expected.safetensors").write_bytes(safetensors([scale * 2 * x for x in inputs]))
        result, tests = report(place, place.programs, "--junitxml", place.folder / "junit.xml", "--markdown", place.folder / "summary.md", *arguments)
        summary = json.loads((place.folder / "report.json").read_text())["summary"]
        test = next(iter(tests.values()))
        return result, test, summary

    result, test, summary = judge(1)
    expect(result.returncode == 0 and test["comparisons"][0]["rule"] == "strict" and test["comparisons"][0]["precision"] == "f32", test)
    expect("Judged by: strict where no comparator" in result.stdout and summary["comparison"].startswith("strict"), result.stdout)
    result, test, _ = judge(1.25)
    wrong = test["comparisons"][0]
    expect(result.returncode == 1 and test["outcome"] == "failed" and test["reasons"][0]["name"] == "DATA_MISMATCH_NOISE", test)
    expect("beyond 8x noise" in wrong["sentence"] and "looks like: scaled by 0.8" in wrong["sentence"] and wrong["worst_in_noise"] > 8, wrong)
    result, test, summary = judge(1.25, "--compare", "pcc")
    lax = test["comparisons"][0]
    expect(result.returncode == 0 and lax["rule"] == "pcc" and lax["strict_passed"] is False and "strict: " in lax["sentence"], test)
    expect(summary["passed_only_as_configured"] == 1 and "1 test passes by its own comparators alone" in result.stdout, result.stdout)
    expect("Passed by their own comparators alone: 1" in (place.folder / "summary.md").read_text(), "Markdown")
    junit = (place.folder / "junit.xml").read_text()
    expect("strict_error_message" in junit and 'name="comparison" value="pcc 0.99 where' in junit, junit)
    expect(judge(1.25, "--compare", "pcc", "--strict")[0].returncode == 1, "--strict")
    (place.folder / "cupel.yaml").write_text("comparison: pcc\n")
    expect(judge(1.25)[1]["comparisons"][0]["rule"] == "pcc", "cupel.yaml")
    expect(judge(1.25, "--compare", "strict")[0].returncode == 1, "an option says more than the project")
    (place.folder / "cupel.yaml").unlink()
    # A coarser device has wider limits; so it has where nobody measures.
    expect(judge(1.01)[0].returncode == 1 and judge(1.01, "--precision", "bf16")[0].returncode == 0, "--precision")
    expect(judge(1.01, "--device", "reference?precision=bf16")[1]["comparisons"][0]["precision"] == "bf16", "?precision=")
    result, test, _ = judge(1.25, "--noise", 0)
    expect("limits from the declared precision f32 alone" in test["comparisons"][0]["sentence"], test)
    for arguments in (("--precision", "f31"), ("--compare", "closely"), ("--noise", 1000), ("--device", "cupel?precision=f31")):
        expect(place.run(place.programs, *arguments).returncode == 2, arguments)


@check
def what_the_strict_rule_says_is_told_of_every_execution(place: Place) -> None:
    """A device that is wrong now and then, behind a comparator that does not see it; one whose limits are wide; and the name of what varies."""
    planter = plugin("planter_plugin.so")
    place.program("double.mlir", DOUBLE)
    config = place.folder / "test_config_lax.yaml"
    config.write_text("test_config:\n  double.mlir: {required_pcc: 0.97}\n")
    flaky = ("--device", f"{planter}?fault=flaky")
    result, tests = report(place, place.programs, *flaky, "--config", config)
    lax = next(iter(tests.values()))["comparisons"][0]
    expect(result.returncode == 0 and lax["strict_passed"] is False and "strict: with other inputs: " in lax["sentence"], tests)
    expect("1 test passes by its own comparators alone" in result.stdout, result.stdout)
    result, tests = report(place, place.programs, *flaky)
    test = next(iter(tests.values()))
    expect(result.returncode == 1 and test["error_class"] == "not_deterministic" and "which is right" in test["message"], test)
    # What is left of small numbers beside a large one.
    place.program("double.mlir", DOUBLE.replace("return %0", "%c = stablehlo.constant dense<1.0e6> : tensor<4xf32>\n  %s = stablehlo.add %0, %c : tensor<4xf32>\n"
                                                "  %t = stablehlo.subtract %s, %c : tensor<4xf32>\n  return %t"))
    result, tests = report(place, place.programs, "--device", f"{planter}?fault=scaled_a_little")
    test, summary = next(iter(tests.values())), json.loads((place.folder / "report.json").read_text())["summary"]
    expect(test["outcome"] == "passed" and "% noise in f32" in test["notes"]["ill-conditioned"] and summary["ill_conditioned"] == 1, test)
    expect("1 test is ill-conditioned, and limits are wide" in result.stdout, result.stdout)


@check
def our_plugin_presents_architectures(place: Place) -> None:
    plugin("pjrt_plugin_cupel.so")
    place.program("pass.mlir", PASSING)
    for arguments, device in ((("--device", "n300"), "cupel?arch=n300"), (("--device", "cupel", "--arch", "n150"), "cupel?arch=n150"),
                              (("--device", "cupel?num_devices=2", "--arch", "n150"), "cupel?num_devices=2"), (("--device", "cpu"), "cupel")):
        result = place.run(place.programs, *arguments)
        expect(result.returncode == 0 and f" on {device}" in result.stdout.splitlines()[0], f"{arguments}: {result.stdout}{result.stderr}")


@check
def golden_results_are_computed_once_for_all_devices(place: Place) -> None:
    plugin("pjrt_plugin_cupel.so")
    for number in range(4):
        size = 300 + number
        place.program(f"p{number}.mlir", f"""func.func @main(%x: tensor<{size}x300xf32>, %y: tensor<300x300xf32>) -> tensor<{size}x300xf32> {{
  %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<{size}x300xf32>, tensor<300x300xf32>) -> tensor<{size}x300xf32>
  %t = stablehlo.tanh %z : tensor<{size}x300xf32>
  return %t : tensor<{size}x300xf32>
}}
""")
    kept = place.folder / "kept"

    def run(device: str) -> dict[str, tuple[int, int]]:
        """What the golden cache holds after a run: each file with its inode, which another writing of it would change."""
        environment = place.environment(fake=False) | {"CUPEL_CACHE_DIR": str(kept)}
        environment.pop("CUPEL_GOLDEN_CACHE", None)
        result = subprocess.run(place.command(place.programs, "--device", device, "-j", 1), capture_output=True, text=True, timeout=300, cwd=place.folder,
                                stdin=subprocess.DEVNULL, env=environment)
        expect(result.returncode == 0 and "4 passed" in result.stdout, result.stdout + result.stderr)
        last = sorted((place.folder / "results/journals").glob("*.jsonl"))[-1]
        records = [json.loads(line)["record"] for line in last.read_text().splitlines() if '"record"' in line]
        remembered.append([record.get("notes", {}).get("golden remembered", "no") for record in records])
        return {str(path.relative_to(kept)): (path.stat().st_ino, path.stat().st_size) for path in (kept / "golden").rglob("*") if path.is_file()}

    remembered: list[list[str]] = []
    first = run("cupel?backend=cpu")
    expect(len(first) >= 4, f"the golden results of 4 programs are kept: {first}")
    second = run("cupel?backend=cpu&num_threads=1")
    expect({name: place for name, place in second.items() if name in first} == first, "a golden result was computed again")
    expect(len(second) == len(first), f"{len(second) - len(first)} golden results were computed for the second device")
    expect(remembered == [["no"] * 4, ["yes"] * 4], remembered)
    shown = subprocess.run([str(CUPEL), "cache", "show", "golden", "--verify", "--json"], capture_output=True, text=True, env=place.environment(False) | {"CUPEL_CACHE_DIR": str(kept)})
    row = json.loads(shown.stdout)[0]
    expect((row["kind"], row["entries"], row["damaged"]) == ("golden", len(first), 0) and row["bytes"] <= row["limit"], row)
    # A damaged one is noticed, and computed again.
    (kept / next(iter(first))).write_bytes(b"rubbish")
    shown = subprocess.run([str(CUPEL), "cache", "show", "golden", "--verify", "--json"], capture_output=True, text=True, env=place.environment(False) | {"CUPEL_CACHE_DIR": str(kept)})
    expect(json.loads(shown.stdout)[0]["damaged"] == 1, shown.stdout)
    expect(len(run("cupel?backend=cpu")) == len(first), "it is there again")
    subprocess.run([str(CUPEL), "cache", "prune", "--limit", "0"], check=True, capture_output=True, env=place.environment(False) | {"CUPEL_CACHE_DIR": str(kept)})
    expect(not [path for path in (kept / "golden").rglob("*") if path.is_file()], "prune leaves nothing")


@check
def small_golden_results_are_computed_once_too(place: Place) -> None:
    """Also those for the other inputs that a test is looked at with, and the noise of each."""
    plugin("pjrt_plugin_cupel.so")
    for number in range(6):
        operation = ("tanh", "sine", "exponential", "logistic", "cosine", "sqrt")[number]
        place.program(f"p{number}.mlir", f"""func.func @main(%x: tensor<{number + 2}x3xf32>) -> tensor<{number + 2}x3xf32> {{
  %t = stablehlo.{operation} %x : tensor<{number + 2}x3xf32>
  %z = stablehlo.add %t, %x : tensor<{number + 2}x3xf32>
  return %z : tensor<{number + 2}x3xf32>
}}
""")
    environment = place.environment(fake=False) | {"CUPEL_CACHE_DIR": str(place.folder / "kept")}
    environment.pop("CUPEL_GOLDEN_CACHE", None)
    evaluations = []
    for device in ("cupel?backend=cpu", "cupel?backend=cpu&num_threads=1"):
        result = subprocess.run(place.command(place.programs, "--device", device, "-j", 2), capture_output=True, text=True, timeout=300, cwd=place.folder,
                                stdin=subprocess.DEVNULL, env=environment)
        expect(result.returncode == 0 and "6 passed" in result.stdout, result.stdout + result.stderr)
        last = sorted((place.folder / "results/journals").glob("*.jsonl"))[-1]
        records = [json.loads(line)["record"] for line in last.read_text().splitlines() if '"record"' in line]
        evaluations.append([int(record.get("notes", {}).get("reference evaluations", 0)) for record in records])
    expect(min(evaluations[0]) >= 2 and evaluations[1] == [0] * 6, f"evaluations by the reference: {evaluations}")


@check
def a_killed_run_is_accounted_for_by_the_next(place: Place) -> None:
    place.fake(20, "execute sleep 0.2")
    process = place.start(place.programs, "-j", 2)
    for _ in range(400):
        if place.journals() and len(outcomes(place.journals()[0])) >= 2:
            break
        time.sleep(0.02)
    time.sleep(0.1)  # The next two have begun and last twice as long.
    process.kill()
    process.communicate()
    place.fake(20)
    second = place.run(place.programs, fake=True)
    expect(second.returncode == 0 and "was killed" in second.stderr, second.stderr)
    counted = collections.Counter(outcome for all_of_it in outcomes(place.journals()[0]).values() for outcome in all_of_it)
    expect(sum(counted.values()) == 20 and counted["interrupted"] >= 1 and counted["not run"] >= 1, counted)
    again = place.run("--resume", fake=True)
    expect(again.returncode == 0, f"{again.stdout}{again.stderr}")
    finals = [[o for o in all_of_it if o in FINAL] for all_of_it in outcomes(place.journals()[0]).values()]
    expect(all(final == ["passed"] for final in finals), finals)


def main() -> int:
    passed = failed = skipped = 0
    for function in CHECKS:
        if OPTIONS.only not in function.__name__:
            continue
        folder = Path(tempfile.mkdtemp(prefix="cupel-runner-"))
        try:
            began = time.time()
            function(Place(folder))
            print(f"ok   {function.__name__} ({time.time() - began:.1f} s)", flush=True)
            passed += 1
        except Skip as reason:
            print(f"SKIPPED {function.__name__}: {reason}", flush=True)
            skipped += 1
        except Exception as error:  # noqa: BLE001 - one check must not end the others.
            print(f"FAIL {function.__name__}: {type(error).__name__}: {str(error)[:2000]}", flush=True)
            failed += 1
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


sys.exit(main())
