"""Runs on a Slurm cluster of the test's own: as one run, followed again, cancelled, resumed, told what is wrong; and with everything killed that can be.

usage: check_slurm.py BUILD/bin [--mode quick|default|full] [--only WORD] [--rounds N] [--seed N]. Ends with `N passed, N failed[, N skipped]`.
A round of disturbances is a run during which daemons, nodes, tasks, workers, the database, its connections and the one who follows are killed and the
shared disk is filled; afterwards its report must be that of an undisturbed run on one machine.
"""

from __future__ import annotations

import argparse
import collections
import fcntl
import json
import os
import pty
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import private_slurm  # noqa: E402
from disturbances import KINDS, Disturbances  # noqa: E402
from lab import Lab, Project, expect  # noqa: E402

PARSER = argparse.ArgumentParser(description=__doc__)
PARSER.add_argument("bin", type=Path)
PARSER.add_argument("--mode", choices=["default", "quick", "full"], default="default")
PARSER.add_argument("--only", default="", help="checks whose name holds this word")
PARSER.add_argument("--rounds", type=int, default=0)
PARSER.add_argument("--seed", type=int, default=int(time.time()))
OPTIONS = PARSER.parse_args()
BIN = OPTIONS.bin.resolve()
FULL = OPTIONS.mode == "full"
ROUNDS = OPTIONS.rounds or (50 if FULL else 3)
QUICK, SLOW = (2000, 50) if FULL else (300, 24)
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def once_each(project: Project, run: str) -> None:
    """The run's journal has every selected test exactly once."""
    names = collections.Counter()
    for line in (project.folder / f"results/journals/{run}.jsonl").read_text().splitlines():
        record = json.loads(line).get("record")
        if record:
            names[record["id"]] += 1
    expect(names and set(names.values()) == {1}, [name for name, count in names.items() if count != 1])
    expect(len(names) == len(list((project.folder / "programs").iterdir())), len(names))


@check
def a_run_on_slurm_reports_as_one_on_this_machine(lab):
    project = Project(lab, 120, 4)
    here = project.cupel(*project.run_words("--json", "here.json"), code=1)
    output = project.cupel(*project.run_words("--on", "slurm", "--json", "there.json", "--junitxml", "there.xml"), code=1)
    run = project.runs()[-1]
    tail = next(line for line in here.splitlines() if "passed" in line and "failed" in line)
    # How long it took may differ, and what came out of it may not.
    counts = lambda line: re.sub(r" in [^:]*:", ":", line)  # noqa: E731
    reports_the_same = lambda text: any(counts(line) == counts(tail) for line in text.splitlines())  # noqa: E731
    expect(reports_the_same(output), f"{tail}\n{output}")
    local, there = (json.loads((project.folder / name).read_text()) for name in ("here.json", "there.json"))
    for field in ("outcomes", "reasons", "bad", "judged", "total", "selected", "bringup_statuses"):
        expect(local["summary"].get(field) == there["summary"].get(field), (field, local["summary"].get(field), there["summary"].get(field)))
    said = lambda report: [(t["id"], t["outcome"], t.get("message"), t.get("last_stage"), t.get("reasons"), t.get("bringup_status")) for t in report["tests"]]  # noqa: E731
    expect(said(local) == said(there), "a test differs")
    expect((project.folder / "there.xml").is_file(), "no JUnit report")
    once_each(project, run)
    # `show` finds the log, and the log the test.
    shown = project.cupel("show", "programs::q0007.mlir")
    log = Path(next(line.split(None, 1)[1] for line in shown.splitlines() if line.strip().startswith("log ")))
    expect("q0007.mlir" in log.read_text() and any(f"node         {node}" in shown for node in lab.slurm.NODES), shown)
    # Nothing was submitted twice, all six slots had work, and Slurm has nothing left.
    lines = [json.loads(line) for line in (project.folder / f"results/slurm/{run}/submissions.jsonl").read_text().splitlines()]
    expect([next(iter(line)) if "submit" not in line else "submit" for line in lines].count("submit") == 1, lines)
    expect(len({path.name.split(".")[2] for path in (project.folder / f"results/slurm/{run}/journals").iterdir()}) >= 2, "only one node took part")
    expect(not lab.slurm.tool("squeue", "-h", "-t", "running"), "something runs still")
    # Attaching once more reports once more.
    expect(reports_the_same(project.cupel("run", "--attach", run, code=1)), "attach to what has ended")


@check
def whoever_leaves_may_come_back_cancel_and_resume(lab):
    project = Project(lab, 60, 16)
    process = project.start(*project.run_words("--on", "slurm"))
    project.wait_for(10, process)
    # The laptop is closed.
    process.send_signal(signal.SIGHUP)
    output, _ = process.communicate(timeout=30)
    run = project.runs()[-1]
    expect(process.returncode == 5 and f"cupel run --attach {run} follows it" in output, output)
    # Of two that follow, whichever comes second is told so, and the other goes on.
    followers = [project.start("run", "--attach", run) for _ in range(2)]
    deadline = time.monotonic() + 20
    while all(each.poll() is None for each in followers) and time.monotonic() < deadline:
        time.sleep(0.02)
    second, following = sorted(followers, key=lambda each: each.poll() is None)
    expect(second.returncode == 2 and following.poll() is None, [each.returncode for each in followers])
    expect("is being followed by another process" in second.stdout.read(), "nobody said that another follows")
    following.kill()
    following.wait()
    # Called off from anywhere; what there is of it is reported.
    output = project.cupel("run", "--cancel", run, code=1)
    outcomes = project.outcomes(run)
    expect(len(outcomes) == 76 and {"not run"} & set(outcomes.values()) or "interrupted" in outcomes.values(), collections.Counter(outcomes.values()))
    once_each(project, run)
    lab.slurm.wait(lambda: not lab.slurm.tool("squeue", "-h", "-t", "running,pending"), 20, "cancelled jobs live")
    kept = {path.name: path.read_bytes() for path in (project.folder / f"results/slurm/{run}/journals").iterdir()}
    # It goes on where it was; what had its outcome keeps it.
    project.cupel("run", "--resume", run, code=1)
    expect(set(project.outcomes(run).values()) == {"passed", "failed", "crashed"}, collections.Counter(project.outcomes(run).values()))
    for name, text in kept.items():
        expect((project.folder / f"results/slurm/{run}/journals/{name}").read_bytes().startswith(text[:-1]), f"{name} was changed")
    once_each(project, run)


@check
def nobody_needs_to_follow(lab):
    project = Project(lab, 30, 3, "  local:\n    chunk_seconds: 1\n    stale_seconds: 3\n    local_journal: true\n")
    process = project.start(*project.run_words("--on", "slurm:local"))
    project.wait_for(3, process)
    process.kill()
    process.wait()
    run = project.runs()[-1]
    lab.slurm.wait((project.folder / f"results/journals/{run}.jsonl").is_file, 60, "no task ended the run")
    once_each(project, run)
    expect(len(project.outcomes(run)) == 33 and set(project.outcomes(run).values()) == {"passed", "failed", "crashed"}, project.outcomes(run))


class Terminal(threading.Thread):
    """A command on a terminal of its own, whose output somebody always reads."""

    def __init__(self, project: Project, *words: object) -> None:
        super().__init__(daemon=True)
        self.said = ""
        self.ours, theirs = pty.openpty()
        self.process = subprocess.Popen(project.words(*words), cwd=project.folder, env=project.environment | {"TERM": "xterm"}, stdin=theirs, stdout=theirs,
                                        stderr=theirs, start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(theirs)
        self.start()

    def run(self) -> None:
        try:
            while text := os.read(self.ours, 65536):
                self.said += text.decode(errors="replace")
        except OSError:
            pass  # It has ended.

    def type(self, text: bytes) -> None:
        os.write(self.ours, text)

    def wait_for(self, word: str) -> None:
        end = time.monotonic() + 60
        while word not in self.said:
            expect(time.monotonic() < end and self.is_alive(), f"waiting for '{word}': {self.said[-1500:]}")
            time.sleep(0.1)

    def close(self) -> int:
        code = self.process.wait(60)
        self.join(10)
        os.close(self.ours)
        return code


@check
def ctrl_c_asks(lab):
    project = Project(lab, 20, 24)
    first = Terminal(project, *project.run_words("--on", "slurm"))
    project.wait_for(5)
    first.type(b"\x03")
    first.wait_for("[c]ancel it")
    first.type(b"l\n")
    first.wait_for("the run goes on in Slurm")
    expect(first.close() == 5, first.said[-1000:])
    run = project.runs()[-1]
    second = Terminal(project, "run", "--attach", run)
    second.wait_for("/44")  # The bar counts what the tasks did meanwhile.
    second.type(b"\x03")
    second.wait_for("[c]ancel it")
    second.type(b"c\n")
    second.wait_for("tests selected")
    expect(second.close() == 1, second.said[-1000:])
    expect(len(project.outcomes(run)) == 44, project.outcomes(run))
    once_each(project, run)


@check
def tests_that_ran_twice_are_told_and_the_first_counts(lab):
    project = Project(lab, 20, 0)
    project.cupel(*project.run_words("--on", "slurm"), code=1)
    run = project.runs()[-1]
    journals = project.folder / f"results/slurm/{run}/journals"
    lines = [line for path in sorted(journals.iterdir()) for line in path.read_text().splitlines()]
    record = next(json.loads(line)["record"] for line in lines if line.startswith('{"record":') and '"passed"' in line)
    # Another task ran it at the same time and ended later, otherwise.
    head = json.loads(lines[0])
    head["run"]["shard"] = "9_9.0.n9.1"
    later = dict(record, outcome="failed", started_at=record["started_at"] + 5, message="another result")
    (journals / "9_9.0.n9.1.jsonl").write_text("\n".join(json.dumps(line, separators=(",", ":")) for line in (head, {"record": later})) + "\n")
    output = project.cupel("run", "--attach", run, code=1)
    expect(f"programs::{record['id']} ran twice and ended differently: a flake" in output, output)
    line = next(line for line in (project.folder / f"results/journals/{run}.jsonl").read_text().splitlines() if line.startswith('{"record":') and f'"{record["id"]}"' in line)
    merged = json.loads(line)["record"]
    expect(merged["outcome"] == "passed" and merged["flaky"] and merged["notes"]["ran twice"] == "failed in 9_9.0.n9.1", merged)


@check
def a_device_that_is_bad_gets_no_tests(lab):
    project = Project(lab, 10, 0, "    drain: true\n")
    plugin = project.folder / "no_plugin.so"
    plugin.write_bytes(b"not a library")
    process = project.start(*project.run_words("--on", "slurm", "--device", plugin))
    try:
        lab.slurm.wait(lambda: lab.slurm.tool("sinfo", "-h", "-o", "%D %t").split() == ["3", "drain"], 60, "bad nodes are not drained")
        expect("cupel: " in lab.slurm.tool("sinfo", "-h", "-R", "-o", "%E"), "without a reason")
        process.send_signal(signal.SIGINT)  # Nobody is there to be asked: it is called off.
        output, _ = process.communicate(timeout=60)
        expect(process.returncode == 1 and "bad node n" in output, output)
        expect(set(project.outcomes(project.runs()[-1]).values()) == {"not run"}, project.outcomes(project.runs()[-1]))
    finally:
        if process.poll() is None:
            process.kill()
        lab.settle()


@check
def what_is_wrong_is_told_in_one_line(lab):
    project = Project(lab, 3, 0, "  nowhere:\n    partition: nosuch\n  greedy:\n    partition: lab\n    gres: nosuch\n  huge:\n    partition: lab\n    memory: 900G\n"
                                 "  arch:\n    gres: \"accel:{arch}\"\n")
    for words, told, environment in (
            (("--on", "slurm:nowhere"), "sinfo lists those there are", {}), (("--on", "slurm:greedy"), "gres of profile 'greedy'", {}),
            (("--on", "slurm:huge"), "no node has so much", {}), (("--on", "slurm:arch"), "give --arch", {}),
            (("--on", "slurm:other"), "there are: default, nowhere", {}), (("--on", "ssh"), "there are slurm and slurm:PROFILE", {}),
            (("--on", "slurm"), "which is not there", {"SLURM_CONF": "/nowhere/slurm.conf"}),
            (("--on", "slurm"), "is not on the PATH", {"PATH": "/nowhere"}),
            (("--attach", "2020"), "no run '2020' on Slurm", {}), (("--task", "nowhere:0"), "nowhere", {}), (("--task", "x"), "write FOLDER:CHUNK", {})):
        output = project.cupel("run", *(("programs",) if "--on" in words else ()), *words, code=2, **environment)
        lines = [line for line in output.strip().splitlines() if not line.startswith("Run ") and " on Slurm: " not in line]
        expect(told in output and len(lines) == 1, f"{words}: {output}")
    expect(not project.runs(), f"a run was left behind: {project.runs()}")
    if lab.disk.is_own:
        lab.disk.fill()
        output = project.cupel("run", "programs", "--on", "slurm", code=2)
        lab.disk.free()
        expect(re.search("full|room|space", output) and len(output.strip().splitlines()) == 1, output)
        expect(not project.runs(), f"a run was left behind: {project.runs()}")
    lab.slurm.kill("slurmctld")
    output = project.cupel("run", "programs", "--on", "slurm", code=2)
    expect("slurmctld" in output and len(output.strip().splitlines()) == 1, output)
    lab.settle()


WRONG = """func.func @main() {
  %a = stablehlo.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %0 = stablehlo.abs %a : tensor<2xf32>
  check.expect_eq_const %0, dense<[1.0, 3.0]> : tensor<2xf32>
  return
}
"""


@check
def nodes_that_take_no_jobs_are_named(lab):
    project = Project(lab, 6, 0)
    for node in lab.slurm.NODES:
        lab.slurm.tool("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=the door is open")
    process = project.start(*project.run_words("--on", "slurm"))
    said = ""
    end = time.monotonic() + 60
    while "the door is open" not in said:
        expect(time.monotonic() < end and select.select([process.stdout], [], [], 60)[0], f"nothing was said: {said}")
        said += process.stdout.readline()
        expect(process.poll() is None, said)
    expect("n1,n2,n3 take no jobs: the door is open" in said and "State=RESUME" in said, said)
    for node in lab.slurm.NODES:
        lab.slurm.tool("scontrol", "update", f"NodeName={node}", "State=RESUME")
    output, _ = process.communicate(timeout=60)
    expect(process.returncode == 0 and "6 passed" in output, f"exit code {process.returncode}: {output}")
    lab.settle()


def field(shown: str, label: str) -> str:
    """What `cupel show` says behind a word."""
    return next((line.split(None, 1)[1] for line in shown.splitlines() if line.startswith(f"  {label} ")), "")


@check
def a_submit_that_was_killed_is_resumed_and_nothing_submitted_twice(lab):
    for moment, first in (("before", ""), ("after", '"$real" "$@"; ')):
        project = Project(lab, 20, 2)
        (project.folder / "tools").mkdir()
        # The first one takes along the `cupel` that called it: before the job is Slurm's, or before anybody has heard its number.
        (project.folder / "tools/sbatch").write_text(f'#!/bin/sh\nreal={shutil.which("sbatch", path=private_slurm.PATH)}\n[ -e "$0.killed" ] && exec "$real" "$@"\n'
                                                     f': > "$0.killed"; {first}kill -9 $PPID\n')
        (project.folder / "tools/sbatch").chmod(0o755)
        project.environment["PATH"] = f"{project.folder}/tools:{private_slurm.PATH}"
        process = project.start(*project.run_words("--on", "slurm"))
        output, _ = process.communicate(timeout=60)
        expect(process.returncode == -9, f"{moment}: {process.returncode}: {output}")
        run = project.runs()[-1]
        project.cupel("run", "--attach", run, code=1)
        once_each(project, run)
        arrays = {line.split()[0] for line in lab.slurm.tool("squeue", "-h", "-t", "all", "-o", "%F %j").splitlines() if f"cupel-{run}-" in line}
        expect(len(arrays) == 1, f"{moment}: {arrays}")


@check
def failures_are_kept_where_show_finds_them(lab):
    """With Cupel's own worker: whichever node it was, the test runs again from where `show` says that it is."""
    project = Project(lab, 0, 0)
    for name in ("a", "b", "c"):
        (project.folder / f"programs/{name}.mlir").write_text(WRONG)
    del project.environment["CUPEL_WORKER"]
    project.cupel("run", "programs", "-q", "--on", "slurm", code=1)
    run = project.runs()[-1]
    folders = set()
    for name in ("a", "b", "c"):
        shown = project.cupel("show", f"programs::{name}.mlir")
        kept, log = Path(field(shown, "workload")), Path(field(shown, "log"))
        expect(kept.parent == project.folder / "results/failed" / run and (kept / "program.mlirbc").is_file(), shown)
        expect(log.is_file() and f"{name}.mlir" in log.read_text(), shown)
        folders.add(kept)
    expect(len(folders) == 3, folders)
    again = project.cupel("run", folders.pop(), "--keep-failed", "none", code=1)
    expect("1 failed" in again, again)


@check
def a_run_that_goes_on_is_shown(lab):
    project = Project(lab, 30, 18)
    process = project.start(*project.run_words("--on", "slurm"))
    project.wait_for(10, process)
    run = project.runs()[-1]
    line = next(line for line in project.cupel("show").splitlines() if line.startswith(run))
    expect("without outcome (goes on in Slurm)" in line and "passed" in line, line)
    shown = project.cupel("show", run)
    expect(f"cupel run --attach {run} follows it" in shown and "48 tests selected" in shown, shown)
    expect(0 < len(project.outcomes(run)) < 48, len(project.outcomes(run)))
    journals = (project.folder / f"results/slurm/{run}/journals").glob("*.jsonl")
    record = next(json.loads(line)["record"] for path in journals for line in path.read_text().splitlines() if line.startswith('{"record":'))
    for words in ((), ("--run", run)):
        shown = project.cupel("show", f"programs::{record['id']}", *words)
        expect(field(shown, "run").startswith(run) and Path(field(shown, "log")).is_file(), shown)
    expect(process.poll() is None, "it had ended before it was looked at")
    process.communicate(timeout=120)
    expect("goes on" not in project.cupel("show") and len(project.outcomes(run)) == 48, project.cupel("show"))


@check
def a_cluster_goes_with_its_test(lab):
    """However that ends: no daemon runs on, and no folder stays."""
    script = "import sys, time; sys.path.insert(0, sys.argv[1]); import private_slurm; print(private_slurm.Slurm().folder, flush=True); time.sleep(600)"
    test = subprocess.Popen([sys.executable, "-c", script, Path(__file__).parent], stdout=subprocess.PIPE, text=True)
    folder = Path(test.stdout.readline().strip())
    daemons = [int(path.read_text()) for path in (*folder.glob("spool/*.pid"), folder / "munge/pid")]
    expect(len(daemons) == 5, daemons)
    test.kill()
    test.wait()
    is_gone = lambda process: not Path(f"/proc/{process}/cmdline").exists() or not Path(f"/proc/{process}/cmdline").read_bytes()  # noqa: E731
    lab.slurm.wait(lambda: not folder.exists() and all(map(is_gone, daemons)), 30, f"{folder} or its daemons {daemons} live on")


def disturbed_round(lab: Lab, number: int, kinds: list[str], chance: random.Random) -> str:
    project = Project(lab, QUICK, SLOW)
    project.use_database(f"round{number}")
    expected = undisturbed(project)
    began = time.monotonic()
    process = project.start(*project.run_words("--on", "slurm"))
    disturbances = Disturbances(lab, kinds, chance, 12 if FULL else 4.5)
    # A controller that was away for 45 s and comes back with an old state takes a minute to learn what has ended.
    said, code, deadline = "", None, began + 240
    try:
        while code is None:
            now = time.monotonic() - began
            expect(now + began < deadline, f"no end with {disturbances.done}; {project.ended()} outcomes; {lab.slurm.tool('squeue', check=False)}{lab.slurm.tool('sinfo', '-N', '-o', '%N %T %E', check=False)}")
            disturbances.step(now, process)
            if process.poll() is not None:
                output = process.stdout.read()
                said += output
                code = process.returncode
                # Killed, or the disk was full or Slurm away for longer than it waits: somebody comes back.
                if code in (-9, 2, 5) and now + began < deadline:
                    disturbances.repair_all() if code == 2 else None
                    code = None
                    runs = project.runs()
                    is_begun = runs and (project.folder / f"results/slurm/{runs[-1]}/run.json").is_file()
                    process = project.start(*(("run", "--attach", runs[-1]) if is_begun else project.run_words("--on", "slurm")))
            time.sleep(0.1)
    finally:
        if process.poll() is None:
            process.kill()
            said += process.communicate()[0]
        disturbances.repair_all()
    seconds = time.monotonic() - began
    lab.settle()
    story = f"round {number}: {'+'.join(disturbances.done)}: {seconds:.0f} s"
    expect(code == 1, f"{story}: exit code {code}: {said[-3000:]}")
    run = project.runs()[-1]
    project.cupel("results", "ingest")
    outcomes = project.outcomes(run)
    differ = {name: (expected.get(name), outcomes.get(name)) for name in expected.keys() | outcomes.keys() if expected.get(name) != outcomes.get(name)}
    expect(not differ, f"{story}: {len(differ)} differ: {dict(list(differ.items())[:5])}: {said[-2500:]}")
    once_each(project, run)
    expect("nothing wrong" in project.cupel("results", "check"), f"{story}: the store is not whole")
    shutil.rmtree(project.folder)
    return story


EXPECTED: dict[str, str] = {}


def undisturbed(project: Project) -> dict[str, str]:
    """What a run on this machine gives; always the same programs, so it is done once."""
    if not EXPECTED:
        place, project.place = project.place, "local"
        project.cupel(*project.run_words(), code=1)
        EXPECTED.update(project.outcomes())
        project.place = place
        expect(collections.Counter(EXPECTED.values()) == {"passed": QUICK + SLOW - QUICK // 50 - QUICK // 100, "failed": QUICK // 50, "crashed": QUICK // 100}, collections.Counter(EXPECTED.values()))
    return EXPECTED


@check
def nothing_is_lost_whatever_is_killed(lab):
    chance = random.Random(OPTIONS.seed)
    print(f"seed {OPTIONS.seed}", flush=True)
    # All kinds have their turn in the first rounds; what comes after is chance.
    deck = list(KINDS)
    chance.shuffle(deck)
    share = -(-len(deck) // 3)
    for number in range(ROUNDS):
        kinds = deck[number * share:(number + 1) * share] if number < 3 else chance.choices(KINDS, k=chance.randint(1, 5))
        print(disturbed_round(lab, number, kinds, chance), flush=True)


def main() -> int:
    if reason := private_slurm.missing():
        print(f"SKIPPED: no run on Slurm was tested: {reason}")
        print(f"0 passed, 0 failed, {len(CHECKS)} skipped")
        return 0
    lab, failed, chosen = Lab(BIN), 0, [each for each in CHECKS if OPTIONS.only in each.__name__]
    try:
        if not lab.disk.is_own:
            print("SKIPPED: no file system could be mounted: no shared disk was filled", flush=True)
        if not lab.postgres:
            print("SKIPPED: no PostgreSQL: no database was killed", flush=True)
        for function in chosen:
            began = time.monotonic()
            try:
                function(lab)
                print(f"{function.__name__}: {time.monotonic() - began:.1f} s", flush=True)
            except Exception as error:  # noqa: BLE001  (a check may fail in any way)
                failed += 1
                print(f"FAILED {function.__name__}: {type(error).__name__}: {error}", flush=True)
                lab.settle()
    finally:
        lab.close()
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
