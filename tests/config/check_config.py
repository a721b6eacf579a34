"""`cupel config` and `cupel ci-matrix` from outside: findings, exit codes, JSON, the zoo, hostile files, speed.

usage: check_config.py BUILD/bin. Ends with `N passed, N failed[, N skipped]`. The real configuration is used where it
lies in ../shared (or CUPEL_REAL_CONFIG, CUPEL_REAL_PRESETS); without it those checks are skipped.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CUPEL = Path(sys.argv[1]).resolve() / "cupel"
ROOT = Path(__file__).resolve().parents[2]
REAL = ROOT.parent / "shared/realworld/tt-xla"
CONFIG = Path(os.environ.get("CUPEL_REAL_CONFIG", REAL / "test_config"))
PRESETS = Path(os.environ.get("CUPEL_REAL_PRESETS", REAL / "test-matrix-presets"))
SANITIZED = 'san"' in subprocess.run([CUPEL, "version", "--json"], capture_output=True, text=True).stdout

CHECKS = []

LOADER = '''
from enum import StrEnum
from ...base import ForgeModel
from ...config import ModelConfig, ModelGroup, ModelInfo

class ModelVariant(StrEnum):
    BASE = "Base"
    LARGE = "Large_v2"

class ModelLoader(ForgeModel):
    _VARIANTS = {ModelVariant.BASE: ModelConfig(pretrained_model_name="x/base"), ModelVariant.LARGE: ModelConfig(pretrained_model_name="x/large")}
    DEFAULT_VARIANT = ModelVariant.BASE

    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo(model="WonderNet", variant=variant, group=ModelGroup.RED)
'''


def check(function):
    CHECKS.append(function)
    return function


class Skip(Exception):
    pass


def run(*arguments, **options) -> subprocess.CompletedProcess:
    options = {"capture_output": True, "text": True, "errors": "replace", "timeout": 60, "stdin": subprocess.DEVNULL} | options
    return subprocess.run([str(CUPEL), *map(str, arguments)], **options)


def expect(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def entry(model: str, variant: str, fields: str = "status: EXPECTED_PASSING") -> str:
    return f"  {model}/pytorch-{variant}-single_device-inference:\n" + "".join(f"    {line}\n" for line in fields.splitlines())


def configuration(folder: Path, text: str, name: str = "torch/test_config_inference_single_device.yaml") -> Path:
    write(folder / "config" / name, "test_config:\n" + text)
    return folder / "config"


def zoo(folder: Path) -> Path:
    write(folder / "zoo/wondernet/pytorch/loader.py", LOADER)
    return folder / "zoo"


@check
def a_good_configuration_passes(folder: Path) -> None:
    result = run("config", "check", configuration(folder, entry("a", "x")))
    expect(result.returncode == 0, result.stdout + result.stderr)
    expect(result.stdout == "1 entry in 1 file, 0 placeholders: 0 errors, 0 warnings, 0 notes\n", result.stdout)


@check
def a_run_refuses_values_that_it_cannot_take(folder: Path) -> None:
    models = zoo(folder)
    wanted = {"required_pcc: 98": "required_pcc: 98 is out of range; from -1 to 1 [C014]", "required_pcc: '0.98'": "[C011]", "optimization_level: 3": "from 0 to 2 [C014]",
              "batch_size: 0": "at least 1 [C014]", "assert_atol: 1": "[C011]", "arch_overrides:\n  n150:\n    required_atol: -1": "at least 0 [C014]"}
    for number, (field, sentence) in enumerate(wanted.items()):
        path = configuration(folder / str(number), entry("wondernet", "Base", "status: EXPECTED_PASSING\n" + field))
        # No test of that model is meant: what stands there would be wrong all the same.
        for selected in ("Base", "Large_v2"):
            result = run("run", "--zoo", models, "--config", path, "-k", selected, "--device", "reference", "--results", folder / "results")
            line = 4 + field.count("\n")
            expect(result.returncode == 2, f"{field}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
            expect(f"{path}/torch/test_config_inference_single_device.yaml:{line}:" in result.stderr and sentence in result.stderr, result.stderr)
        listed = run("list", "--zoo", models, "--config", path)
        expect(listed.returncode == 0 and sentence in listed.stderr, f"{field}: {listed.stdout}{listed.stderr}")
    path = configuration(folder / "unknown", entry("wondernet", "Base", "status: EXPECTED_PASSING\nrequired_pc: 0.98"))
    result = run("run", "--zoo", models, "--config", path, "-k", "none", "--device", "reference", "--results", folder / "results")
    expect(result.returncode != 2 and "warning" in result.stderr, f"a field of another version stops the run: {result.stderr}")


@check
def findings_have_a_place_a_hint_and_a_code(folder: Path) -> None:
    path = configuration(folder, entry("a", "x", "status: EXPECTED_PASSING\nrequired_pc: 0.98"))
    result = run("config", "check", path)
    line = f"{path}/torch/test_config_inference_single_device.yaml:4:5: error: required_pc: unknown field; did you mean required_pcc? [C010]"
    expect(result.returncode == 1, f"exit code {result.returncode}")
    expect(result.stdout.splitlines()[0] == line, result.stdout)


@check
def strict_fails_for_warnings(folder: Path) -> None:
    path = configuration(folder, entry("a", "x", "status: KNOWN_FAILURE_XFAIL"))
    expect(run("config", "check", path).returncode == 0, "warnings fail without --strict")
    expect(run("config", "check", path, "--strict").returncode == 1, "warnings pass with --strict")
    notes = configuration(folder / "n", entry("a", "x", "status: EXPECTED_PASSING\nassert_pcc: true"))
    expect(run("config", "check", notes, "--strict").returncode == 0, "notes fail with --strict")
    expect("[C051]" in run("config", "check", notes).stdout, "the note is not shown")
    expect("[C051]" not in run("config", "check", notes, "-q").stdout, "the note is shown with -q")


@check
def json_says_the_same(folder: Path) -> None:
    path = configuration(folder, entry("a", "x", "status: EXPECTED_PASSING\nmarkers: push") + entry("b", "y", "status: NOT_SUPPORTED_SKIP"))
    result = run("config", "check", path, "--json")
    answer = json.loads(result.stdout)
    expect(result.returncode == 1 and answer["passed"] is False, result.stdout)
    expect((answer["files"], answer["entries"], answer["errors"], answer["warnings"], answer["notes"]) == (1, 2, 1, 1, 0), result.stdout)
    found = [(d["code"], d["severity"], d["line"], d["column"]) for d in answer["diagnostics"]]
    expect(found == [("C011", "error", 4, 14), ("C040", "warning", 6, 5)], str(found))


@check
def further_architectures_can_be_made_known(folder: Path) -> None:
    path = configuration(folder, entry("a", "x", "status: EXPECTED_PASSING\nsupported_archs: [m7]"))
    expect("[C031]" in run("config", "check", path).stdout, "m7 is known")
    expect(run("config", "check", path, "--known-arch", "m7").returncode == 0, "m7 is not known")


@check
def the_zoo_tells_what_is_out_of_date(folder: Path) -> None:
    path = configuration(folder, entry("wondernet", "Base") + entry("wondernet", "Large"))
    write(path / "torch/test_config_placeholders.yaml",
          "PLACEHOLDER_MODELS:\n  acme/WonderNet-Large-v2:\n    bringup_status: NOT_STARTED\n  Other:\n    bringup_status: NOT_STARTED\n")
    result = run("config", "check", path, "--zoo", zoo(folder))
    expect(result.returncode == 1, result.stdout + result.stderr)
    expect("wondernet/pytorch-Large-single_device-inference is the id of no test; closest: "
           "wondernet/pytorch-Large_v2-single_device-inference" in result.stdout, result.stdout)
    expect("the zoo has acme/WonderNet-Large-v2 by now" in result.stdout and "has Other by now" not in result.stdout, result.stdout)
    expect("11 of 12 tests have no entry" in result.stdout, result.stdout)
    listed = run("config", "check", path, "--zoo", zoo(folder), "--missing").stdout
    expect(listed.count("has no entry [C061]") == 11, listed)


@check
def the_project_names_what_is_not_given(folder: Path) -> None:
    configuration(folder, entry("wondernet", "Nobody"))
    zoo(folder)
    write(folder / "cupel.yaml", "zoo: zoo\nconfig: config\n")
    result = run("config", "check", cwd=folder)
    expect("[C060]" in result.stdout, result.stdout + result.stderr)
    expect("[C060]" not in run("config", "check", "--no-zoo", cwd=folder).stdout, "--no-zoo compares")
    shown = json.loads(run("config", "show", "wondernet/pytorch-Nobody-single_device-inference", cwd=folder).stdout)
    expect(shown["wondernet/pytorch-Nobody-single_device-inference"]["status"] == "EXPECTED_PASSING", str(shown))


@check
def show_applies_overrides(folder: Path) -> None:
    path = configuration(folder, entry("a", "x", "status: EXPECTED_PASSING\nrequired_pcc: 0.9\narch_overrides:\n  n150:\n    required_pcc: 0.8"))
    name = "a/pytorch-x-single_device-inference"
    values = [json.loads(run("config", "show", name, "--config", path, *arch).stdout)[name]["required_pcc"] for arch in ([], ["--arch", "n150"])]
    expect(values == [0.9, 0.8], str(values))
    result = run("config", "show", "a/pytorch-y-single_device-inference", "--config", path)
    expect(result.returncode == 1 and f"has no entry; closest: {name}" in result.stderr, result.stderr)


@check
def every_code_is_explained(folder: Path) -> None:
    codes = [line.split()[0] for line in run("config", "explain").stdout.splitlines()]
    expect(len(codes) > 30, str(codes))
    for code in codes:
        result = run("config", "explain", code)
        expect(result.returncode == 0 and result.stdout.startswith(f"{code}: "), result.stdout + result.stderr)
        expect(f"\n## {code}\n" in (ROOT / "docs/reference/config-diagnostics.md").read_text(), f"{code} is not in the reference")
    result = run("config", "explain", "C9x")
    expect(result.returncode == 2 and "no diagnostic has the code C9x" in result.stderr, result.stderr)


@check
def bad_command_lines_are_one_line(folder: Path) -> None:
    for arguments in (["config"], ["config", "chekc"], ["config", "check"], ["config", "show"], ["ci-matrix"], ["ci-matrix", folder / "none.json"],
                      ["ci-matrix", "--runner", "x", folder]):
        result = run(*arguments, cwd=folder)
        expect(result.returncode == 2 and len(result.stderr.splitlines()) == 1, f"{arguments}: {result.returncode} {result.stderr!r}")
    result = run("config", "check", folder / "none")
    expect(result.returncode == 1 and "[C001]" in result.stdout, result.stdout + result.stderr)


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))


@check
def hostile_files_are_refused_with_a_place(folder: Path) -> None:
    files = {
        "deep.yaml": "[" * 1000000,
        "nested.yaml": "".join(" " * i + "a:\n" for i in range(2000)),
        "bomb.yaml": "a: &a [1]\n" + "".join(f"{chr(c)}: &{chr(c)} [{', '.join(['*' + chr(c - 1)] * 9)}]\n" for c in range(98, 110)),
        "large.yaml": "a: \"" + "x" * 100_000_000 + "\"\n",
        "scalar.yaml": "a: \"" + "x" * 2_000_000 + "\"\n",
        "truncated.yaml": "test_config:\n  a/pytorch-x-single_device-inference:\n    markers: [push, \"",
        "many.yaml": "test_config:\n" + "".join(f"  e{i}: 1\n" for i in range(100000)),
    }
    for name, text in files.items():
        path = write(folder / name, text)
        begin = time.perf_counter()
        result = run("config", "check", path, preexec_fn=None if SANITIZED else limited)
        expect(result.returncode == 1, f"{name}: exit code {result.returncode}: {result.stderr[:200]}")
        first = result.stdout.splitlines()[0]
        expect(first.startswith(f"{path}") and ": error: " in first, f"{name}: {first[:200]}")
        expect(len(result.stdout) < 300_000, f"{name}: {len(result.stdout)} bytes of output")
        expect(SANITIZED or time.perf_counter() - begin < 10, f"{name} takes {time.perf_counter() - begin:.1f} s")
    (folder / "bytes.yaml").write_bytes(b"test_config:\n  a: \xff\xfe\n")
    expect(":2:6: error: bytes that are not UTF-8" in run("config", "check", folder / "bytes.yaml").stdout, "bytes that are not UTF-8")
    (folder / "loop").mkdir()
    (folder / "loop/again").symlink_to(folder / "loop")
    expect("[C001]" in run("config", "check", folder / "loop").stdout, "a folder that contains itself")


@check
def a_matrix_has_a_job_for_each_group(folder: Path) -> None:
    write(folder / "one.json", '[{"runs-on": "n150", "name": "a", "parallel-groups": 2, "shared-runners": "true"}]')
    path = write(folder / "all.json", '[{"include": ["one.json"]}, {"runs-on": "mine", "name": "b", "shared-runners": true}]')
    result = run("ci-matrix", path, "--runner", "mine=theirs", "--compact")
    expect(result.returncode == 0 and len(result.stdout.splitlines()) == 1, result.stderr)
    jobs = [(job["name"], job["runs-on"], job["runs-on-original"], job.get("group-id")) for job in json.loads(result.stdout)]
    shared = "tt-ubuntu-2204-n150-stable"
    expect(jobs == [("a", shared, "n150", 1), ("a", shared, "n150", 2), ("b", "theirs", "mine", None)], str(jobs))
    both = run("ci-matrix", "one.json:one.json", "--folder", folder)
    expect(len(json.loads(both.stdout)) == 4, both.stdout + both.stderr)
    write(folder / "one.json", '[{"include": ["all.json"]}]')
    result = run("ci-matrix", path)
    expect(result.returncode == 2 and "includes itself" in result.stderr, result.stderr)


@check
def the_real_configuration_has_its_known_blemishes(folder: Path) -> None:
    if not CONFIG.is_dir():
        raise Skip("the real configuration is not here")
    answer = json.loads(run("config", "check", CONFIG, "--json", "--no-zoo").stdout)
    expect((answer["files"], answer["entries"], answer["placeholders"]) == (13, 1999, 15), str(answer)[:200])
    found = {(d["code"], d["message"].split()[0]) for d in answer["diagnostics"]}
    falcon, internvl = "falcon/jax-3_3B_Base-single_device-inference", "opengvlab_internvl3/pytorch-OpenGVLab-InternVL3-38B-single_device-inference"
    for blemish in (("C021", falcon), ("C022", falcon), ("C022", internvl), ("C041", "gemma/pytorch-2_9B_IT-single_device-training"),
                    ("C041", "qwen_3/causal_lm/pytorch-14B-single_device-training")):
        expect(blemish in found, f"{blemish} is not found")
    expect(answer["errors"] == 1, f"{answer['errors']} errors")


@check
def the_real_configuration_is_checked_in_a_blink(folder: Path) -> None:
    if not CONFIG.is_dir():
        raise Skip("the real configuration is not here")
    best = min(timed("config", "check", CONFIG, "--no-zoo") for _ in range(10))
    print(f"  cupel config check of 8,753 lines: {best:.1f} ms at best")
    expect(SANITIZED or best < 60, f"takes {best:.1f} ms at best")


def timed(*arguments) -> float:
    begin = time.perf_counter()
    run(*arguments)
    return (time.perf_counter() - begin) * 1000


@check
def the_real_presets_make_a_matrix(folder: Path) -> None:
    if not PRESETS.is_dir():
        raise Skip("the real presets are not here")
    files = sorted(PRESETS.glob("*.json"))
    expect(len(files) == 27, f"{len(files)} presets")
    jobs = {}
    for file in files:
        result = run("ci-matrix", file)
        expect(result.returncode == 0 and result.stderr == "", f"{file.name}: {result.stderr}")
        jobs[file.name] = json.loads(result.stdout)
        for job in jobs[file.name]:
            expect(job.get("shared-runners", False) in (True, False), str(job))
            expect(("runs-on-original" in job) == bool(job.get("shared-runners")), str(job))
            expect(("group-id" in job) == ("parallel-groups" in job), str(job))
    expect(jobs["on-pr.json"] == jobs["basic-test.json"] + jobs["model-test-push.json"], "includes are not in their place")


def main() -> int:
    passed = failed = skipped = 0
    for function in CHECKS:
        with tempfile.TemporaryDirectory(prefix="cupel-config-") as folder:
            try:
                function(Path(folder).resolve())
                passed += 1
            except Skip as reason:
                print(f"SKIPPED {function.__name__}: {reason}")
                skipped += 1
            except (AssertionError, subprocess.TimeoutExpired, json.JSONDecodeError, KeyError) as error:
                print(f"FAILED {function.__name__}: {type(error).__name__}: {error}")
                failed += 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
