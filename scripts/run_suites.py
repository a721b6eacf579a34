"""Runs the test suites of an existing build, for ./test.

A suite is a command that ends with the line `N passed, N failed[, N refused][, N skipped]`, or one of the two kinds
that are run here because they are many processes (GoogleTest binaries) or foreign (lit). One line a
suite is printed as it ends, then the details of what failed, then what was not run and why, then the total.

A test counts once: as passed only if it did what it is there for; as refused if what it holds is never supported, and that was said as it
should be; as skipped if something that it needs is not here, or if a list explains why it cannot pass.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LLVM = Path("/usr/lib/llvm-19")
SUITE_LIMIT_S = 1500
COUNTS = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) refused)?(?:, (\d+) skipped)?$", re.MULTILINE)
REAL_CONFIG = ROOT.parent / "shared/realworld/tt-xla/test_config"
VECTORS = ROOT.parent / "shared/conformance/stablehlo"


@dataclasses.dataclass
class Result:
    passed: int = 0
    failed: int = 0
    refused: int = 0
    skipped: int = 0
    details: str = ""  # what failed and why
    notice: str = ""  # what was skipped and why
    output: str = ""  # everything it said
    not_run: tuple[str, ...] = ()  # why the suite, or a part of it that counts for itself, did not run

    def counts(self) -> str:
        return f"{self.passed} passed, {self.failed} failed" + "".join(
            f", {count} {word}" for count, word in ((self.refused, "refused"), (self.skipped, "skipped")) if count)


def not_run(reason: str) -> Result:
    return Result(skipped=1, not_run=(reason,))


def execute(command: list[str | Path], env: dict[str, str]) -> tuple[int, str]:
    """Exit code and output; the whole process group is killed at the limit."""
    with subprocess.Popen([str(word) for word in command], cwd=ROOT, env=env, text=True, errors="replace", stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            output, _ = process.communicate(timeout=SUITE_LIMIT_S)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return 124, f"{output}\nstopped after {SUITE_LIMIT_S} s"
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def counted(command: list[str | Path], env: dict[str, str]) -> Result:
    """A command that counts for itself."""
    code, output = execute(command, env)
    matches = list(COUNTS.finditer(output))
    if not matches:
        return Result(failed=1, details=f"{output}\n{command[0]} ended with {code} and without saying what passed")
    counts = [int(group or 0) for group in matches[-1].groups()]
    if code != 0 and counts[1] == 0:
        counts[1] = 1
        output += f"\n{command[0]} ended with {code}"
    notice = "\n".join(line for line in output.splitlines() if line.startswith("SKIPPED"))
    return Result(*counts, output if counts[1] else "", notice, output)


def of_googletest(report: dict, code: int) -> Result:
    """What GoogleTest's JSON says; a test that skips itself is in none of its totals."""
    tests = [(suite["name"], test) for suite in report.get("testsuites", []) for test in suite["testsuite"]]
    failed = [test for _, test in tests if test.get("failures")]
    left_out = [f"{suite}.{test['name']}" for suite, test in tests
                if not test.get("failures") and (test.get("result") == "SKIPPED" or test.get("status") == "NOTRUN")]
    crashed = 1 if code != 0 and not failed else 0
    return Result(len(tests) - len(failed) - len(left_out), len(failed) + crashed, 0, len(left_out),
                  notice="\n".join(f"SKIPPED {name}" for name in left_out))


class Sanitizer:
    """What a tree that was built with sanitizers needs from outside: options, where reports go, what Python must preload."""

    # The MLIR libraries are not instrumented: a container of theirs looks overrun to ours, and what they take from an
    # allocator that our code shares with them stays poisoned.
    OPTIONS = {"asan": "detect_container_overflow=0:allow_user_poisoning=0:allocator_may_return_null=1",
               "tsan": f"second_deadlock_stack=1:suppressions={ROOT / 'tests/sanitizers/tsan.supp'}"}
    # Leaks are looked for where processes are ours from beginning to end and die of their own accord.
    LEAKS = {"unit"}
    # Warnings, of an allocation that failed say, are none.
    REPORT = re.compile(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer|runtime error: ")

    def __init__(self, build: Path):
        cache = build / "CMakeCache.txt"
        values = dict(re.findall(r"^(CUPEL_SANITIZE|CUPEL_SANITIZER_RUNTIME):\w+=(.*)$",
                                 cache.read_text() if cache.is_file() else "", re.MULTILINE))
        self.kind = {"ON": "asan", "thread": "tsan"}.get(values.get("CUPEL_SANITIZE", ""), "")
        self.runtime = values.get("CUPEL_SANITIZER_RUNTIME", "")
        self.reports = build / "test-output/sanitizer"

    def __bool__(self) -> bool:
        return bool(self.kind)

    def no_python(self) -> str:
        """Why Python cannot load our libraries."""
        return "with the thread sanitizer, what Python's, JAX's and PyTorch's threads order looks like a race" if self.kind == "tsan" else ""

    def environment(self, suite: str) -> dict[str, str]:
        if not self:
            return {}
        shutil.rmtree(self.reports / suite, ignore_errors=True)
        (self.reports / suite).mkdir(parents=True)
        # Reports go to files, one a process: those of a process that nobody listens to count as well.
        common = f"log_path={self.reports / suite / 'report'}:external_symbolizer_path={LLVM / 'bin/llvm-symbolizer'}"
        options = [self.OPTIONS[self.kind], common]
        if self.kind == "asan":
            options.append(f"detect_leaks={int(suite in self.LEAKS)}")
        return {f"{self.kind.upper()}_OPTIONS": ":".join(options),
                "UBSAN_OPTIONS": f"print_stacktrace=1:{common}",
                "LSAN_OPTIONS": f"suppressions={ROOT / 'tests/sanitizers/lsan.supp'}:print_suppressions=0"}

    def reported(self, suite: str) -> Result:
        """A failure for each process that had something to report."""
        result = Result()
        for path in sorted((self.reports / suite).glob("report.*")) if self else []:
            text = path.read_text(errors="replace")
            if self.REPORT.search(text):
                result.failed += 1
                result.details += f"{path}:\n{text if len(text) < 20000 else text[:20000] + ' [...]'}\n"
        return result


class Suites:
    def __init__(self, build: Path, mode: str, no_venv: str, no_browser: str = ""):
        self.no_browser = no_browser
        self.bin = build / "bin"
        self.build = build
        self.mode = mode
        self.no_venv = no_venv
        self.jobs = os.cpu_count() or 1
        self.python = sys.executable
        self.sanitizer = Sanitizer(build)
        self.env = dict(os.environ, CUPEL_BUILD=str(build))
        if mode == "full":
            self.env["CUPEL_LONG_TESTS"] = "1"

    def run(self, suite: str) -> Result:
        ordinary = self.env
        self.env = dict(ordinary, **self.sanitizer.environment(suite))
        try:
            result = getattr(self, suite)()
        finally:
            self.env = ordinary
        return total_of([result, self.sanitizer.reported(suite)]) if self.sanitizer else result

    def loading(self) -> dict[str, str]:
        """The environment of a Python process that loads libraries of the build tree."""
        return dict(self.env, LD_PRELOAD=self.sanitizer.runtime) if self.sanitizer else self.env

    def package(self) -> dict[str, str]:
        """The environment of one that uses the Python package of the source tree."""
        return dict(self.loading(), CUPEL_PLUGIN=str(self.build / "lib/pjrt_plugin_cupel.so"), CUPEL_LIBRARY=str(self.build / "lib/libcupel.so"),
                    CUPEL_BIN=str(self.bin))

    def counting(self) -> Result:
        return counted([self.python, ROOT / "tests/counting/check_counting.py", self.bin], self.env)

    def unit(self) -> Result:
        tests = sorted((self.bin / "unit").glob("*_test"))
        if not tests:
            return Result(failed=1, details=f"no test binary in {self.bin / 'unit'}")
        reports = self.build / "test-output/unit"
        reports.mkdir(parents=True, exist_ok=True)

        def one(test: Path) -> Result:
            report = reports / f"{test.name}.json"
            report.unlink(missing_ok=True)
            code, output = execute([test, "--gtest_brief=1", f"--gtest_output=json:{report}"], self.env)
            if not report.exists():
                return Result(failed=1, details=f"{test.name} ended with {code} before its tests did\n{output}")
            result = of_googletest(json.loads(report.read_text()), code)
            result.details = f"{test.name} ended with {code}\n{output}" if code else ""
            return result

        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            return total_of(list(pool.map(one, tests)))

    def lit(self) -> Result:
        report = self.build / "test-output/lit.json"
        report.parent.mkdir(parents=True, exist_ok=True)
        report.unlink(missing_ok=True)
        code, output = execute([self.python, LLVM / "build/utils/lit/lit.py", "-q", f"-j{self.jobs}",
                                "--order=lexical", "-o", report, ROOT / "tests/lit"], self.env)
        if not report.exists():
            return Result(failed=1, details=f"{output}\nlit ended with {code}")
        tests = json.loads(report.read_text())["tests"]
        passed = sum(test["code"] in ("PASS", "FLAKYPASS") for test in tests)
        left_out = [f"SKIPPED {test['name']}: {test['code']}" for test in tests if test["code"] in ("XFAIL", "UNSUPPORTED", "SKIPPED", "EXCLUDED")]
        failures = [test for test in tests if test["code"] in ("FAIL", "XPASS", "TIMEOUT", "UNRESOLVED")]
        details = "\n".join(f"{test['code']}: {test['name']}\n{test['output']}" for test in failures)
        if code != 0 and not failures:
            return Result(passed, 1, 0, len(left_out), f"{output}\nlit ended with {code}")
        return Result(passed, len(failures), 0, len(left_out), details, "\n".join(left_out))

    def cli(self) -> Result:
        return total_of([counted([self.python, ROOT / "tests/cli" / script, self.bin], self.env) for script in ("check_cli.py", "check_bench.py", "check_extremes.py", "check_planted.py")])

    def zoo(self) -> Result:
        """Discovery: on zoos made for it, on one made of the real configuration's keys, and on the real one where CUPEL_REAL_ZOO names a checkout."""
        results = [counted([self.python, ROOT / "tests/zoo/check_zoo.py", self.bin], self.env)]
        config, real = Path(self.env.get("CUPEL_REAL_CONFIG", REAL_CONFIG)), self.env.get("CUPEL_REAL_ZOO")
        if not config.is_dir():
            results.append(not_run(f"{config} is not there: the real configuration was not used (CUPEL_REAL_CONFIG names it elsewhere)"))
        if not real:
            results.append(not_run("CUPEL_REAL_ZOO names no checkout of tenstorrent/tt-forge-models: ids and selections of the real zoo were not compared"))
        else:
            results.append(counted([self.python, ROOT / "tests/zoo/check_real_zoo.py", self.bin, real, *([config] if config.is_dir() else [])], self.env))
        return total_of(results)

    def config(self) -> Result:
        """The configuration of the tests and the presets of CI jobs, from outside."""
        return counted([self.python, ROOT / "tests/config/check_config.py", self.bin], self.env)

    def results(self) -> Result:
        """The verbs that read the results store: show, diff, history, and triage and accept."""
        return total_of([counted([self.python, ROOT / "tests/results" / file, self.bin], self.env) for file in ("check_results.py", "check_triage.py")])

    def scale(self) -> Result:
        """More than one machine: results in a PostgreSQL server of the test's own; jobs of a CI; a Slurm cluster of its own, with kills; a lab, played."""
        lab, output = execute([self.bin / "bench_scale", "--strict"], self.env)
        played = Result(passed=1) if lab == 0 else Result(failed=1, details=output)
        # How fast records come in is for a quiet machine; questions have room enough to be judged anywhere.
        code, output = execute([self.bin / "bench_store", "--records", "20000", "--tests", "1000", "--strict-questions"], self.env)
        asked = Result(passed=1) if code == 0 else Result(failed=1, details=output)
        results = [counted([self.python, ROOT / "tests/scale" / file, self.bin], self.env) for file in ("check_store.py", "check_ci.py")]
        slurm = counted([self.python, ROOT / "tests/scale/check_slurm.py", self.bin, "--mode", self.mode], self.env)
        # Said among what was not run as well: no other suite sees it.
        slurm.not_run = tuple(line.removeprefix("SKIPPED: ") for line in slurm.notice.splitlines())
        return total_of([*results, slurm, played, asked])

    def pages(self) -> Result:
        """The pages in a browser, and their server under load, slow clients and hostile data."""
        if not self.no_browser and not (ROOT / ".cache/page-tests/installed").is_file():
            self.no_browser = ".cache/page-tests is not there (scripts/install-page-tests fetches it)"
        extension = counted([self.python, ROOT / "tests/pages/check_model_explorer.py", self.bin], self.env)
        if not self.no_browser:
            return total_of([counted(["node", ROOT / "tests/pages/check_pages.mjs", self.bin], self.env), extension])
        skipped = not_run(f"the pages were not opened in a browser: {self.no_browser}")
        if not shutil.which("node"):
            return total_of([extension, skipped])
        return total_of([counted(["node", ROOT / "tests/pages/check_pages.mjs", self.bin], dict(self.env, CUPEL_NO_BROWSER="1")), extension, skipped])

    def docs(self) -> Result:
        return counted([self.python, ROOT / "tests/docs/check_docs.py", self.bin], self.env)

    def conformance(self) -> Result:
        if not VECTORS.is_dir():
            return not_run("../shared/conformance/stablehlo is not there: StableHLO's conformance vectors were not run")
        result = Result()
        for tool in ("cupel_conformance", "cupel_interpret"):
            one = counted([self.bin / tool, "--vectors", VECTORS], self.env)
            exceptions = re.search(r"(\d+) exceptions", one.output)
            result.passed += one.passed
            result.failed += one.failed
            result.skipped += one.skipped + (int(exceptions[1]) if exceptions else 0)
            result.refused += one.refused
            result.output += one.output or one.details
        if result.skipped:
            result.notice = f"{result.skipped} of them are the exceptions that tests/conformance/exceptions.tsv explains"
        if result.failed:
            result.details = "\n".join(line for line in result.output.splitlines() if line.startswith("FAILED")) or result.output
        return result

    def reference(self) -> Result:
        """Programs of our own that check themselves, one an operation and one a trap, that none is missing, and that they notice errors."""
        folder = ROOT / "tests/reference"
        programs = counted([self.bin / "cupel", "eval", folder / "ops", folder / "traps", folder / "calls"], self.env)
        broken = counted([self.python, folder / "mutate.py", self.bin, "--elements", "1000" if self.mode == "full" else "3"], self.env)
        if self.no_venv:
            types = not_run(f"element types were not compared with ml_dtypes: {self.no_venv}")
        else:
            types = counted([ROOT / ".venv/bin/python", folder / "check_types.py", self.bin], self.env)
        return total_of([programs, counted([self.python, folder / "check_coverage.py"], self.env), broken, types])

    def runner(self) -> Result:
        """`cupel run`: outcomes, kills at random moments, resumed runs, Ctrl-C; verdicts; depths, and tables of operations."""
        return total_of([*(counted([self.python, ROOT / "tests/runner" / file, self.bin, "--mode", self.mode], self.env) for file in ("check_runner.py", "check_verdicts.py")),
                         counted([self.python, ROOT / "tests/runner/check_op_by_op.py", self.bin], self.env)])

    def device(self) -> Result:
        """cupel-device and the PJRT host against a plugin that misbehaves; failures kept and run again; StableHLO's vectors through our own."""
        bad = total_of([counted([self.python, ROOT / "tests/pjrt" / file], self.env) for file in ("check_device.py", "check_kept.py")]
                       + [counted([self.python, ROOT / "tests/planter/check_planter.py", self.build], self.env),
                          *(counted([self.python, ROOT / "tests/planter" / file, self.build, *(["--full"] if self.mode == "full" else [])], self.env)
                            for file in ("check_right.py", "check_explain.py"))])
        if not VECTORS.is_dir():
            return total_of([bad, not_run("../shared/conformance/stablehlo is not there: its vectors were not run through the plugin")])
        good = counted([self.bin / "cupel_on_plugin", "--vectors", VECTORS, "--plugin", self.build / "lib/pjrt_plugin_cupel.so"], self.env)
        return total_of([bad, good, self.compiled()])

    def compiled(self) -> Result:
        """The compiled device: StableHLO's vectors by their checks, random programs against the reference, every stage against the first."""
        tools = [self.bin / "cupel_on_plugin", "--vectors", VECTORS, "--plugin", self.build / "lib/pjrt_plugin_cupel.so", "--backend", "cpu", "--ratio"]
        programs = [VECTORS, ROOT / "zoo/programs", ROOT / "tests/reference/ops", ROOT / "tests/jax/data"]
        count = "20000" if self.mode == "full" else "300"
        guarded = [counted([self.bin / "cupel_random_programs", "500", "2000" if self.mode == "full" else "60"],
                           dict(self.env, CUPEL_GUARD_PAGES=end)) for end in ("end", "begin")]
        # In bf16 as kernels have it here, and as they have it where there are matrix registers.
        narrow = [counted([self.bin / "cupel_random_programs", "--kept", *options, "1000", "2000" if self.mode == "full" else "60"], self.env) for options in ([], ["--registers"])]
        # Most vectors are too small for machine code, unless all of it is asked for.
        return total_of([counted([*tools, "6"], self.env), counted([*tools, "60"], dict(self.env, CUPEL_MACHINE_CODE="always")), counted([self.bin / "cupel_random_programs", "0", count], self.env),
                         counted([self.bin / "cupel_random_programs", "--planted", "0", "30"], self.env), *guarded, *narrow,
                         self.stages(*programs, seeds=300)])

    def stages(self, *paths: Path, seeds: int = 0) -> Result:
        """Every stage of the compiler against the program it began with, of every program."""
        return counted([self.bin / "cupel_compare_stages", "0", str(seeds), "1", *paths], self.env)

    def plugin(self) -> Result:
        """The PJRT plugin, through JAX."""
        if self.no_venv:
            return not_run(f"the plugin was not run from JAX: {self.no_venv}")
        if reason := self.sanitizer.no_python():
            return not_run(f"the plugin was not run from JAX: {reason}")
        env = dict(self.loading(), CUPEL_PLUGIN=str(self.build / "lib/pjrt_plugin_cupel.so"))
        return counted([ROOT / ".venv/bin/python", ROOT / "tests/run_pytest.py", ROOT / "tests/jax_plugin"], env)

    def models(self) -> Result:
        """Model loaders: imported, run in torch, captured, lowered, and run on our device."""
        if self.no_venv:
            return not_run(f"model loaders were not run: {self.no_venv}")
        if reason := self.sanitizer.no_python():
            return not_run(f"model loaders were not run: {reason}")
        # Torch works on one core and some tests wait for what hangs: three processes keep two cores busy, and parts of about the same length end together.
        python = ROOT / ".venv/bin/python"
        files = {file.stem: file for file in sorted((ROOT / "tests/models").glob("test_*.py"))}
        parts = [[files.pop(name) for name in names if name in files] for names in (
            ("test_zoo",), ("test_faults", "test_environments"), ("test_captured", "test_parallel", "test_traced", "test_structure"))]
        pytest, procedures = [python, ROOT / "tests/run_pytest.py", "-W", "ignore"], [python, ROOT / "tests/triage/check_procedures.py", self.bin, "--mode", self.mode]
        commands = [[*pytest, *part] for part in (parts[0], parts[1], files.values(), parts[2])] + [procedures]
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            return total_of([*pool.map(lambda command: counted(command, self.loading()), commands)])

    def fuzz(self) -> Result:
        """Damaged programs and damaged ONNX models."""
        folders = [ROOT / "tests/fuzz/corpus", ROOT / "tests/jax/data", VECTORS / "vhlo"]
        # What suite onnx generates joins in a full run only: whether it is there must not decide what is tested.
        models = [ROOT / "tests/fuzz/onnx_corpus", *([self.build / "onnx-cases/node"] if self.mode == "full" else [])]
        quick = [] if self.mode == "full" else ["--quick"]
        return total_of([self.fuzzed("cupel_fuzz", folders, quick), self.fuzzed("cupel_onnx_fuzz", models, [])])

    def fuzzed(self, tool: str, folders: list[Path], options: list[str]) -> Result:
        code, output = execute([self.bin / tool, *(folder for folder in folders if folder.is_dir()),
                                *options], self.env)
        match = re.search(r"^fuzz: (\d+) inputs, (\d+) failed", output, re.MULTILINE)
        if not match:
            return Result(failed=1, details=f"{output}\n{tool} ended with {code}")
        inputs, failed = (int(group) for group in match.groups())
        return Result(inputs - failed, failed or int(code != 0), details=output if code else "")

    def onnx(self) -> Result:
        """The backend tests of the onnx package, each with the outcome that tests/onnx/expected.tsv promises; models against ONNX Runtime."""
        if self.no_venv:
            return not_run(f"ONNX's backend tests were not run: {self.no_venv}")
        cases = self.build / "onnx-cases"
        code, output = execute([ROOT / ".venv/bin/python", ROOT / "tests/onnx/generate_cases.py", cases], self.env)
        if code != 0:
            return Result(failed=1, details=f"{output}\ngenerate_cases.py ended with {code}")
        suite = counted([self.python, ROOT / "tests/onnx/check_onnx.py", self.bin, cases], self.env)
        verbs = [ROOT / ".venv/bin/python", ROOT / "tests/onnx/check_verbs.py", self.bin, "--plugin", self.build / "lib/pjrt_plugin_cupel.so"]
        models = [ROOT / ".venv/bin/python", ROOT / "tests/onnx_models/check_models.py", self.bin, self.build / "onnx-models"]
        return total_of([suite, counted(verbs, self.env), counted(models, self.env), self.stages(cases)])

    def torch(self) -> Result:
        """PyTorch's operator samples, programs and models as archives on the reference, torch.compile's backend, the testers."""
        if self.no_venv:
            return not_run(f"nothing of PyTorch was run: {self.no_venv}")
        python, cases, results = ROOT / ".venv/bin/python", self.build / "torch-cases", [self.instructions()]
        for dtype in ("float32", "bfloat16", "int32"):
            code, output = execute([python, ROOT / "tests/torch/export_opinfo.py", cases, "--dtype", dtype], self.env)
            if code != 0:
                results.append(Result(failed=1, details=f"{output}\nexport_opinfo.py --dtype {dtype} ended with {code}"))
            else:
                results.append(counted([self.python, ROOT / "tests/torch/check_opinfo.py", self.bin, cases / dtype], self.env))
                results.append(self.stages(cases / dtype))
        results.append(counted([python, ROOT / "tests/torch/check_programs.py", self.bin, self.build / "torch-programs"], self.env))
        results.append(counted([python, ROOT / "tests/torch/check_verbs.py", self.bin], self.env))
        results.append(counted([python, ROOT / "tests/torch/check_composites.py", self.bin], self.env))
        worker = self.bin / "cupel-worker"
        results.append(counted([python, ROOT / "tests/torch/check_aten.py", worker], self.env))
        for script in ("check_operators", "check_models"):
            results.append(counted([python, ROOT / f"tests/torch/{script}.py", "--worker", worker], self.env))
        env = self.package()
        if reason := self.sanitizer.no_python():
            return total_of([*results, not_run(f"torch.compile and the testers were not run: {reason}")])
        for folder in ("torch_compile", "testers"):
            results.append(counted([python, ROOT / "tests/run_pytest.py", ROOT / "tests" / folder], env))
        return total_of(results)

    def instructions(self) -> Result:
        """How torch, which computes what is expected, is held to instructions that it survives here."""
        python = ROOT / ".venv/bin/python"
        result = counted([python, ROOT / "tests/torch/check_instructions.py"], self.env)
        _, said = execute([python, ROOT / "python/cupel/worker/__main__.py", "instructions"], self.env)
        if "ONEDNN_MAX_CPU_ISA" in said:
            result.notice = f"{result.notice}\n{said.strip()}".strip()
        return result

    def codegen(self) -> Result:
        """Generated Python and C++: StableHLO's vectors, ONNX's tests and the zoo, structure, bad input, and calls from JAX and torch."""
        if self.no_venv:
            return not_run(f"generated code was not run: {self.no_venv}")
        if reason := self.sanitizer.no_python():
            return not_run(f"generated code was not run: {reason}")
        python, folder = ROOT / ".venv/bin/python", ROOT / "tests/codegen"
        full = ["--full"] if self.mode == "full" else []
        results = [counted([python, folder / "check_codegen.py", self.bin, *full], self.env),
                   counted([python, folder / "check_cpp.py", self.bin, *full], self.env),
                   counted([python, folder / "check_run.py", self.bin], self.env),
                   counted([python, ROOT / "tests/run_pytest.py", folder, "-W", "ignore"], self.package())]
        corpora = {"stablehlo": (120, 48), "onnx": (60, 24), "zoo": (3, 1)}
        if not VECTORS.is_dir():
            del corpora["stablehlo"]
            results.append(not_run("../shared/conformance/stablehlo is not there: no code of its vectors was generated"))
        code, output = execute([python, ROOT / "tests/onnx/generate_cases.py", self.build / "onnx-cases"], self.env)
        if code != 0:
            del corpora["onnx"]
            results.append(Result(failed=1, details=f"{output}\ngenerate_cases.py ended with {code}"))
        for corpus, samples in corpora.items():
            for language, sample in zip(("py", "cpp"), samples, strict=True):
                how = ["--full"] if self.mode == "full" else ["--sample", str(sample)]
                results.append(counted([python, folder / "coverage.py", self.bin, "--build", self.build, "--corpus", corpus, "--language", language, *how], self.env))
        return total_of(results)

    def opcases(self) -> Result:
        """Operator cases from YAML files, with torch for inputs and expected results."""
        if self.no_venv:
            return not_run(f"operator cases were not run: {self.no_venv}")
        return counted([ROOT / ".venv/bin/python", ROOT / "tests/opcases/check_opcases.py", self.bin], self.env)

    def jax(self) -> Result:
        """Exports that are checked in; if JAX is there, also those it makes now, and what its StableHLO thinks of ours."""
        check = [self.python, ROOT / "tests/jax/check_exports.py", self.bin]
        stored = counted([*check, ROOT / "tests/jax/data"], self.env)
        if self.no_venv:
            return total_of([stored, not_run(f"only the exports in tests/jax/data were read: {self.no_venv}")])
        fresh = self.build / "test-output/jax"
        code, output = execute([ROOT / ".venv/bin/python", ROOT / "tests/jax/export_programs.py", fresh], self.env)
        if code != 0:
            return total_of([stored, Result(failed=1, details=f"{output}\nexport_programs.py ended with {code}")])
        upstream = counted([ROOT / ".venv/bin/python", ROOT / "tests/jax/check_upstream.py", self.bin,
                            *sorted((ROOT / "zoo/programs").glob("*.mlir"))], self.env)
        differential = counted([ROOT / ".venv/bin/python", ROOT / "tests/jax/differential.py", self.bin,
                                "--cases", "20000" if self.mode == "full" else "300"], self.env)
        return total_of([stored, counted([*check, fresh], self.env), upstream, differential])


def total_of(results: list[Result]) -> Result:
    return Result(*(sum(getattr(r, count) for r in results) for count in ("passed", "failed", "refused", "skipped")),
                  "\n".join(r.details for r in results if r.details), "\n".join(r.notice for r in results if r.notice),
                  not_run=tuple(reason for r in results for reason in r.not_run))


def keep_details(build: Path, name: str, result: Result) -> None:
    """What failed in a suite, for whoever does not wait for the last one; of a suite that is right now nothing is left to read."""
    file = build / "test-output" / f"{name}.failed.txt"
    file.unlink(missing_ok=True)
    if result.failed:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(result.details.strip() + "\n")
        print(f"{'':<12} what failed: {file}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--mode", choices=["default", "quick", "full"], default="default")
    parser.add_argument("--no-venv", default="", metavar="REASON", help="what tests/requirements.txt lists cannot be used, and why")
    parser.add_argument("--no-browser", default="", metavar="REASON", help="what the tests of the pages need cannot be used, and why")
    parser.add_argument("--left-out", default="", metavar="SUITES", help="what the mode leaves out, for the last lines to name")
    parser.add_argument("suites", nargs="+")
    options = parser.parse_args()
    # Started in the background or by nohup we are deaf to Ctrl-C, and all that we start would be: tests of it would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    suites = Suites(options.build.resolve(), options.mode, options.no_venv, options.no_browser)
    results: dict[str, Result] = {}
    for name in options.suites:
        if sys.stdout.isatty():
            print(f"{name:<12} ...", end="\r", flush=True)
        begin = time.monotonic()
        try:
            result = suites.run(name)
        except OSError as error:
            result = Result(failed=1, details=str(error))
        results[name] = result
        print(f"{name:<12} {result.counts():<40} {time.monotonic() - begin:6.1f} s", flush=True)
        keep_details(options.build, name, result)

    for name, result in results.items():
        if result.failed:
            print(f"\n===== {name}: {result.failed} failed =====\n{result.details.strip()}")
    for name, result in results.items():
        if result.notice:
            print(f"\n!!!!! {name}: {result.counts()}\n{result.notice}")
    print()
    for name, result in results.items():
        for reason in result.not_run:
            print(f"NOT RUN {name}: {reason}")
    if options.left_out:
        print(f"NOT RUN {options.left_out}: left out by --{options.mode}")
    total = total_of(list(results.values()))
    print(total.counts())
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
