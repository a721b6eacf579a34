#!/usr/bin/env python3
"""Runs JAX's own test files on the platform `cupel` and compares with XLA's CPU backend.

The files are not part of Cupel: check out jax-ml/jax at the tag of the installed JAX and name its `tests` folder.
Each file runs in a process of its own; a test that crashes or hangs costs itself, the rest of its file goes on in a new
process. The denominator is what passes on the CPU; its outcomes are kept, so that it runs once. A run that was interrupted
is taken up where it stood.

Examples:
  run_jax_tests.py --tests jax/tests lax_test.py fft_test.py
  run_jax_tests.py --tests jax/tests --group linalg --results /tmp/jax
  run_jax_tests.py --tests jax/tests --group all -j 2 --timeout 120
  run_jax_tests.py --tests jax/tests --group all --sample 10 --markdown table.md   # every tenth test, chosen by a hash of its name
  run_jax_tests.py --tests jax/tests --group ops --sample 10 --rerun-failed        # only what did not pass last time
  run_jax_tests.py --tests jax/tests --group all --sample 10 --stored              # no test is run: the figures of the last time
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# What concerns a new backend, by subject. Files about Python-side matters only (documentation, pretty printing, ...) and
# about particular hardware are left out.
GROUPS = {
    "ops": """ann array_api dtypes fft image lax lax_numpy lax_numpy_einsum lax_numpy_indexing lax_numpy_operators lax_numpy_reducers
        lax_numpy_setops lax_numpy_ufuncs lax_numpy_vectorize lax_scipy lax_scipy_sparse lax_scipy_special_functions lax_vmap lax_vmap_op nn
        polynomial scipy_fft scipy_interpolate scipy_ndimage scipy_signal scipy_spatial scipy_stats sparse sparse_bcoo_bcsr sparsify
        unary_ops_accuracy x64_context""",
    "autodiff": "custom_api jet lax_autodiff ode optimizers scipy_optimize stax generated_fun",
    "control_flow": "lax_control_flow checkify custom_linear_solve custom_root error_check hijax mutable_array jaxpr_effects control_deps",
    "random": "random random_lax random_impl key_reuse stateful_rng blocked_sampler",
    "linalg": "linalg eigh svd qdwh lobpcg cholesky_update lax_scipy_spectral_dac",
    "runtime": """aot api array array_extensibility array_interoperability batching buffer_callback cache_key clear_backends compilation_cache core debug_nans debugger
        debugging_primitives device errors extend ffi jax_jit layout memories metadata multibackend name_stack pickle
        python_callback stack transfer_guard xla_interpreter xla_metadata""",
    "sharding": "custom_partitioning custom_partitioning_sharding_rule linalg_sharding mesh_utils multi_device pjit pmap shard_alike shard_map ragged_collective async_collectives",
    "export": "export export_back_compat shape_poly",
}  # fmt: skip
SHARDED = {"pjit", "pmap", "shard_map", "multi_device", "shard_alike", "linalg_sharding", "mesh_utils", "array", "layout", "memories", "export", "custom_partitioning_sharding_rule",
           "ragged_collective", "async_collectives", "debugging_primitives", "python_callback", "aot", "api", "cache_key", "compilation_cache", "jaxpr_effects", "checkify", "custom_partitioning", "pickle", "error_check", "hijax", "mutable_array", "debugger", "ffi"}


# How the tests are run, for the page of their figures; environment() and report_plugin.py do it.
SETTING = """JAX's tests are told that they run on a CPU: `device_under_test()` says `cpu`, so they ask of `cupel` the types, accuracies and features that JAX
asks of its own CPU backend, and skip what they skip there; those of saved programs use the ones saved for the CPU. JAX's CPU backend is there beside the
platform, which comes first (`JAX_PLATFORMS=cupel,cpu`; `--alone` leaves it out). Files that need several devices get eight, the others one. The message
that the platform is experimental is dropped, because some tests count messages. `transfer_guard_test` takes whatever is not named `cpu` for a device with a
memory of its own, and gets such devices (`CUPEL_HOST_READS=copied`). Nothing else of JAX or of its tests is changed.
"""

# Set by Ctrl-C: what runs is ended and kept as far as it came.
STOP = threading.Event()
SECONDS_BETWEEN_SAVES = 20


@dataclasses.dataclass
class Outcome:
    outcome: str  # passed, failed, skipped, crashed, timed out
    message: str = ""
    seconds: float = 0.0


def environment(platform: str, devices: int, options: argparse.Namespace) -> dict[str, str]:
    env = dict(os.environ)
    env.update(JAX_NUM_GENERATED_CASES=str(options.cases), TF_CPP_MIN_LOG_LEVEL="3", PYTHONFAULTHANDLER="0", OMP_NUM_THREADS="1")
    env["PYTHONPATH"] = os.pathsep.join([str(HERE), str(ROOT / "python"), *([env["PYTHONPATH"]] if env.get("PYTHONPATH") else [])])
    if platform == "cpu":
        env["JAX_PLATFORMS"] = "cpu"
        env["XLA_FLAGS"] = f"{env.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    else:
        env["JAX_PLATFORMS"] = platform if options.alone else f"{platform},cpu"
        env["JAX_PJRT_CLIENT_CREATE_OPTIONS"] = f"num_devices:{devices}"
        env["CUPEL_JAX_DUT"] = "cpu"
        if platform == "cupel":
            env["CUPEL_JAX_REGISTER"] = "1"
            env["CUPEL_NUM_DEVICES"] = str(devices)  # For topologies, which get no options of clients.
    return env


class File:
    """One of JAX's test files on one platform."""

    def __init__(self, path: Path, platform: str, options: argparse.Namespace):
        self.path, self.platform, self.options = path, platform, options
        self.outcomes: dict[str, Outcome] = {}
        self.only: list[str] | None = None
        self.problem = ""
        self.complete = True
        self.share = f"{options.sample:g}"  # Of the file's tests, in per cent.

    def run(self) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            restarts = 0
            while self._run_rest(Path(scratch), restarts) and not STOP.is_set():
                restarts += 1
                if restarts > self.options.restarts:
                    self.problem = f"gave up after {restarts} restarts"
                    return

    def _run_rest(self, scratch: Path, number: int) -> bool:
        """True if the process ended before its tests did."""
        log, done, output = scratch / f"log-{number}", scratch / "done", scratch / f"output-{number}"
        log.touch()
        done.write_text("\n".join(self.outcomes))
        env = environment(self.platform, 8 if self.path.stem.removesuffix("_test") in SHARDED else 1, self.options)
        if self.platform != "cpu" and self.path.stem == "transfer_guard_test":
            env["CUPEL_HOST_READS"] = "copied"  # These take whatever is not named `cpu` for a device with a memory of its own.
        env.update(CUPEL_JAX_LOG=str(log), CUPEL_JAX_DONE=str(done), CUPEL_JAX_SAMPLE=f"{round(10 * self.options.sample)}:{self.options.seed}")
        if self.only is not None:
            only = scratch / "only"
            only.write_text("\n".join(self.only))
            env["CUPEL_JAX_ONLY"] = str(only)
        command = [self.options.python, "-m", "pytest", "-q", "-x" if self.options.exitfirst else "-q", "--no-header", "-p", "report_plugin", "-p", "no:cacheprovider",
                   "--tb=no", "-W", "ignore", *(["-k", self.options.keyword] if self.options.keyword else []), self.path.name]
        with open(output, "wb") as sink:
            process = subprocess.Popen(command, cwd=self.path.parent, env=env, stdin=subprocess.DEVNULL, stdout=sink, stderr=subprocess.STDOUT, start_new_session=True)
        seen, running, since, finished, saved = 0, "", time.time(), False, time.time()
        verdict = ""
        while True:
            ended = process.poll() is not None
            text = log.read_text()
            lines = text[seen:].splitlines(keepends=True)
            for line in lines:
                if not line.endswith("\n"):
                    break
                seen += len(line)
                entry = json.loads(line)
                if entry["event"] == "start":
                    running, since = entry["id"], time.time()
                elif entry["event"] == "end":
                    old = self.outcomes.get(entry["id"])
                    if old is None or old.outcome == "passed":
                        self.outcomes[entry["id"]] = Outcome(entry["outcome"], entry["message"], entry["seconds"])
                    running, since = "", time.time()
                elif entry["event"] == "finished":
                    finished, running, since = True, "", time.time()
                elif entry["event"] == "collected":
                    since = time.time()
            if ended:
                break
            if STOP.is_set():
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                self.complete = False
                return False
            if self.only is None and time.time() - saved > SECONDS_BETWEEN_SAVES:
                save(self, complete=False)
                saved = time.time()
            if time.time() - since > self.options.timeout:
                verdict = "timed out"
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                break
            time.sleep(0.05)
        if running and running not in self.outcomes:
            code = process.returncode
            text = f"no end within {self.options.timeout} s" if verdict else f"the process ended with {f'signal {-code}' if code < 0 else f'code {code}'}"
            tail = output.read_bytes()[-1500:].decode(errors="replace")
            self.outcomes[running] = Outcome(verdict or "crashed", f"{text}; {tail}", time.time() - since)
            return True
        if not finished:
            self.problem = f"ended with {process.returncode} before its tests: " + output.read_bytes()[-400:].decode(errors="replace").replace("\n", " | ")
        elif process.returncode < 0:
            self.problem = f"died with signal {-process.returncode} after its last test"
        return False


def place(path: Path, platform: str, options: argparse.Namespace) -> Path:
    """Where the outcomes of a file are kept: apart for each choice of tests."""
    choice = f"{platform}-{options.cases}"
    if options.alone and platform != "cpu":
        choice += "-alone"
    if options.keyword:
        choice += "-" + re.sub(r"[^A-Za-z0-9]+", "_", options.keyword)
    if options.sample < 100:
        choice += f"-sample{options.sample:g}.{options.seed}"
    return options.results / choice / f"{path.stem}.json"


def load(path: Path, platform: str, options: argparse.Namespace) -> File | None:
    """What is kept of a file; with --stored whichever choice of tests has most outcomes."""
    kept = place(path, platform, options)
    if options.stored and not options.keyword:
        found = options.results.glob(f"{platform}-{options.cases}*/{path.stem}.json")
        kept = max(found, key=lambda one: len(json.loads(one.read_text())["outcomes"]), default=kept)
    if not kept.exists():
        return None
    file = File(path, platform, options)
    stored = json.loads(kept.read_text())
    file.problem = stored["problem"]
    file.complete = stored.get("complete", True)
    file.outcomes = {name: Outcome(*values) for name, values in stored["outcomes"].items()}
    file.share = kept.parent.name.partition("-sample")[2].rpartition(".")[0] or "100"
    return file


def save(file: File, complete: bool = True) -> None:
    kept = place(file.path, file.platform, file.options)
    kept.parent.mkdir(parents=True, exist_ok=True)
    temporary = kept.with_suffix(".new")
    temporary.write_text(json.dumps({"problem": file.problem, "complete": complete and file.complete, "outcomes": {name: dataclasses.astuple(outcome) for name, outcome in file.outcomes.items()}}))
    temporary.replace(kept)


def run_file(path: Path, platform: str, options: argparse.Namespace) -> File:
    """Outcomes of a file; those of the CPU are kept from earlier."""
    earlier = None if options.fresh else load(path, platform, options)
    if earlier and (options.stored or (platform == "cpu" and earlier.complete)):
        return earlier
    file = File(path, platform, options)
    if options.stored:
        file.problem = "nothing is kept of it"
        file.share = "0"
        return file
    if earlier and not earlier.complete:
        print(f"{path.name} on {platform}: {len(earlier.outcomes)} outcomes of an interrupted run are kept; --fresh begins anew", flush=True)
        file.outcomes = earlier.outcomes
    elif earlier and options.rerun_failed:
        file.only = [name for name, outcome in earlier.outcomes.items() if outcome.outcome not in ("passed", "skipped")]
        if not file.only:
            return earlier
    file.run()
    if file.only is not None:
        file.outcomes = earlier.outcomes | file.outcomes
    save(file)
    return file


@dataclasses.dataclass
class Score:
    share: str = ""
    wanted: int = 0
    passed: int = 0
    failed: list[tuple[str, Outcome]] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)

    def add(self, other: Score) -> None:
        self.wanted += other.wanted
        self.passed += other.passed
        self.failed += other.failed
        self.problems += other.problems

    def percent(self) -> float:
        return 100 * self.passed / self.wanted if self.wanted else 100.0

    def line(self) -> str:
        share = self.percent()
        kinds = collections.Counter(outcome.outcome for _, outcome in self.failed)
        return f"{self.passed:6} of {self.wanted:6} ({share:5.1f} %)" + "".join(f", {count} {kind}" for kind, count in sorted(kinds.items()))


def assume_passing(ours: File) -> File:
    """What the CPU would say if it passed all that is not skipped."""
    cpu = File(ours.path, "cpu", ours.options)
    cpu.outcomes = {name: Outcome("passed") for name, outcome in ours.outcomes.items() if outcome.outcome != "skipped"}
    return cpu


def ask_about_the_rest(ours: File) -> File:
    """What the CPU says about what did not pass here; what did is taken to pass there as well."""
    cpu = File(ours.path, "cpu", ours.options)
    cpu.only = [name for name, outcome in ours.outcomes.items() if outcome.outcome != "passed"]
    earlier = None if ours.options.fresh else load(ours.path, "cpu", ours.options)
    known = {name: earlier.outcomes[name] for name in cpu.only if name in earlier.outcomes} if earlier else {}
    cpu.only = [name for name in cpu.only if name not in known]
    if cpu.only and not ours.options.stored:
        cpu.run()
    cpu.outcomes = (earlier.outcomes if earlier else {}) | known | cpu.outcomes
    if cpu.outcomes:
        save(cpu)
    # In doubt, against us.
    unknown = {name: Outcome("passed") for name, outcome in ours.outcomes.items() if outcome.outcome != "skipped"}
    cpu.outcomes = unknown | cpu.outcomes | {name: Outcome("passed") for name, outcome in ours.outcomes.items() if outcome.outcome == "passed"}
    return cpu


def compare(cpu: File, ours: File) -> Score:
    score = Score(ours.share)
    for name, expected in cpu.outcomes.items():
        if expected.outcome != "passed":
            continue
        score.wanted += 1
        got = ours.outcomes.get(name, Outcome("not run", ours.problem))
        if got.outcome == "passed":
            score.passed += 1
        else:
            score.failed.append((name, got))
    if ours.problem:
        score.problems.append(f"{ours.path.name}: {ours.problem}")
    return score


def markdown(scores: dict[str, dict[str, Score]], options: argparse.Namespace) -> str:
    """The table of docs/reference/jax-tests.md."""
    import jax

    cpu = ("not run: what is not skipped is taken to pass there" if options.without_cpu
           else "run on what did not pass on `cupel`; what did is taken to pass there too" if options.cpu_rest
           else "run on the same machine")
    share = ("the share of each file's tests that the second table says" if options.stored
             else "all tests" if options.sample >= 100
             else f"{options.sample:g} % of each file's tests") + ", chosen by a hash of their names"
    lines = [f"JAX {jax.__version__}, {time.strftime('%Y-%m-%d')}; {share}; {options.cases} generated cases a test; XLA's CPU backend {cpu}.", "",
             SETTING,
             "| group | pass on the CPU | of these on `cupel` | per cent | files weighed by what was left out | crashed | timed out |",
             "|---|---:|---:|---:|---:|---:|---:|"]

    def row(name: str, score: Score, weighed: str = "") -> str:
        kinds = collections.Counter(outcome.outcome for _, outcome in score.failed)
        percent = f"{score.percent():.1f}" if score.wanted else ""
        return f"| {name} | {score.wanted} | {score.passed} | {percent} |{weighed} {kinds['crashed']} | {kinds['timed out']} |"

    def weigh(files: list[Score]) -> str:
        """A file of which a tenth was run counts ten times."""
        shares = [(score, 100 / float(score.share)) for score in files if score.wanted]
        wanted = sum(score.wanted * weight for score, weight in shares)
        return f" {100 * sum(score.passed * weight for score, weight in shares) / wanted:.1f} |" if wanted else " |"

    everything = Score()
    for group, files in scores.items():
        total = Score()
        for score in files.values():
            total.add(score)
        everything.add(total)
        lines.append(row(group, total, weigh(list(files.values()))))
    lines.append(row("**all**", everything, weigh([score for files in scores.values() for score in files.values()])))
    lines += ["", "| file | share run | pass on the CPU | of these on `cupel` | per cent | crashed | timed out |", "|---|---:|---:|---:|---:|---:|---:|"]
    for files in scores.values():
        for name, score in sorted(files.items()):
            lines.append(row(f"{name} | {score.share} %", score) if score.share != "0" else f"| {name} | not run | | | | | |")
    return "\n".join(lines) + "\n"


def summarise(failed: list[tuple[str, Outcome]], most: int) -> None:
    """The commonest messages, numbers and quoted parts made alike."""
    groups: dict[str, list[str]] = collections.defaultdict(list)
    for name, outcome in failed:
        first = outcome.message.strip().split("\n")[0][:200]
        groups[re.sub(r"0x[0-9a-f]+|\d+", "N", f"{outcome.outcome}: {first}")].append(name)
    for message, names in sorted(groups.items(), key=lambda item: -len(item[1]))[:most]:
        print(f"  {len(names):5}  {message}\n         e.g. {names[0]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="names of test files; or --group")
    parser.add_argument("--tests", type=Path, required=True, help="the `tests` folder of a checkout of JAX")
    parser.add_argument("--group", action="append", default=[], choices=[*GROUPS, "all"])
    parser.add_argument("--platform", default="cupel")
    parser.add_argument("--alone", action="store_true", help="JAX_PLATFORMS names the platform alone; usually JAX's CPU is there beside it, as in a user's process")
    parser.add_argument("--python", default=str(ROOT / ".venv/bin/python"))
    parser.add_argument("--results", type=Path, default=ROOT / "build/jax-suite", help="where outcomes are kept")
    parser.add_argument("--cases", type=int, default=10, help="generated cases of each parametrised test")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one test (and for collecting a file)")
    parser.add_argument("--restarts", type=int, default=40, help="how often a file may lose its process")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("-k", dest="keyword", default="", help="pytest's -k, for every file")
    parser.add_argument("--fresh", action="store_true", help="run the CPU again too, and take nothing from an interrupted run")
    parser.add_argument("--without-cpu", action="store_true", help="do not run the CPU: whatever is not skipped is taken to pass there (half the time)")
    parser.add_argument("--cpu-rest", action="store_true", help="run the CPU only on what did not pass here: what did is taken to pass there too")
    parser.add_argument("--sample", type=float, default=100, metavar="PERCENT", help="run about this share of each file's tests, chosen by a hash of their names")
    parser.add_argument("--seed", type=int, default=0, help="another sample of the same size")
    parser.add_argument("--rerun-failed", action="store_true", help="run only what did not pass the last time with the same choice of tests")
    parser.add_argument("--stored", action="store_true", help="run nothing, report what is kept")
    parser.add_argument("--markdown", type=Path, help="write the table of groups and files here")
    parser.add_argument("--failures", type=Path, help="write every failure (JSON lines) here")
    parser.add_argument("--exitfirst", action="store_true", help="stop a file at its first failure")
    parser.add_argument("--show", type=int, default=15, help="how many kinds of failures to show")
    parser.add_argument("--goal", type=float, default=0.0, help="exit with 1 below this per cent")
    options = parser.parse_args()
    options.results = options.results.resolve()
    names = [(name, "named") for name in options.files]
    for group, members in GROUPS.items():
        if group in options.group or "all" in options.group:
            names += [(f"{member}_test.py", group) for member in members.split()]
    if not names:
        parser.error("name files or a --group")
    work = []
    for name, group in names:
        path = (options.tests / Path(name).name).resolve()
        if path.exists():
            work.append((path, group))
        else:
            print(f"{path.name}: not in {options.tests}", file=sys.stderr)
    scores: dict[str, dict[str, Score]] = {group: {} for _, group in work}
    printing = threading.Lock()

    def one(item: tuple[Path, str]) -> None:
        path, group = item
        if STOP.is_set():
            return
        ours = run_file(path, options.platform, options)
        if STOP.is_set():
            return
        cpu = assume_passing(ours) if options.without_cpu else ask_about_the_rest(ours) if options.cpu_rest else run_file(path, "cpu", options)
        if STOP.is_set():
            return
        score = compare(cpu, ours)
        with printing:
            print(f"{path.name:40} {score.line()}", flush=True)
            scores[group][path.name] = score

    signal.signal(signal.SIGINT, lambda *_: STOP.set())
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        list(pool.map(one, work))
    if STOP.is_set():
        print("interrupted; the same command goes on from here", file=sys.stderr)
        return 130
    everything = Score()
    print()
    for group, files in scores.items():
        total = Score()
        for score in files.values():
            total.add(score)
        print(f"{group:40} {total.line()}")
        everything.add(total)
    print(f"{'all':40} {everything.line()}")
    for problem in everything.problems:
        print(f"  {problem}")
    summarise(everything.failed, options.show)
    if options.markdown:
        options.markdown.write_text(markdown(scores, options))
    if options.failures:
        options.failures.write_text("".join(json.dumps({"id": name, "outcome": outcome.outcome, "message": outcome.message}) + "\n" for name, outcome in everything.failed))
    print(f"{everything.passed} passed, {everything.wanted - everything.passed} failed")
    return int(bool(everything.wanted) and 100 * everything.passed / everything.wanted < options.goal)


if __name__ == "__main__":
    sys.exit(main())
