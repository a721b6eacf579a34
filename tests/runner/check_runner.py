"""Checks of `cupel run` from outside: outcomes and exit codes of real programs, runs that are killed and resumed, Ctrl-C.

usage: check_runner.py BUILD/bin [--mode quick|default|full] [--only WORD]. Ends with `N passed, N failed[, N skipped]`.
"""

from __future__ import annotations

import collections
import random
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from runs import DOUBLE, ENDLESS, FAILING, GREEDY, OPTIONS, PASSING, SORTING, Place, check, expect, main, outcomes, plugin, report, safetensors, selection

KILLED_RUNS = {"quick": 8, "default": 25, "full": 300}[OPTIONS.mode]
FINAL = {"passed", "failed", "xfailed", "xpassed", "skipped", "unjudged", "crashed", "timed out", "out of memory"}


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


@check
def a_plugin_that_lies_gets_no_tests(place: Place) -> None:
    """The fault plugin gives every program its arguments back: the known-good program shows it."""
    place.program("pass.mlir", PASSING)
    result, tests = report(place, place.programs, "--device", plugin("fault_plugin.so"))
    test = next(iter(tests.values()))
    expect(result.returncode == 1 and test.get("outcome") == "not run" and "known to be good" in test["message"], test)


@check
def an_option_that_a_plugin_does_not_know_is_no_fault_of_the_device(place: Place) -> None:
    """Somebody else's plugin, as far as the runner knows: its compiler refuses what it does not know, and is well without it."""
    place.program("pass.mlir", PASSING)
    result, tests = report(place, place.programs, "--device", plugin("planter_plugin.so"), "--option", "nonsense=1")
    test = next(iter(tests.values()))
    expect(result.returncode == 1 and test.get("outcome") == "not run", test)
    expect("only with the options of this run (nonsense=1): PJRT_Client_Compile: INVALID_ARGUMENT: No such compile option: 'nonsense'" in test["message"], test)
    expect(test["reasons"][0]["name"] == "OPTION_REFUSED", test)


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
def our_plugin_presents_architectures(place: Place) -> None:
    plugin("pjrt_plugin_cupel.so")
    place.program("pass.mlir", PASSING)
    for arguments, device in ((("--device", "n300"), "cupel?arch=n300"), (("--device", "cupel", "--arch", "n150"), "cupel?arch=n150"),
                              (("--device", "cupel?num_devices=2", "--arch", "n150"), "cupel?num_devices=2"), (("--device", "cpu"), "cupel")):
        result = place.run(place.programs, *arguments)
        expect(result.returncode == 0 and f" on {device}" in result.stdout.splitlines()[0], f"{arguments}: {result.stdout}{result.stderr}")


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


sys.exit(main())
