"""Which tests there are and which are selected: ids, suites, projects, expressions, presets, large zoos. Part of check_zoo.py."""

from __future__ import annotations

import itertools
import json
import os
import re
import resource
from pathlib import Path

import selection_rules
from small_zoos import Skip, check, expect, ids, run, write, zoo

REAL_CONFIG = Path(os.environ.get("CUPEL_REAL_CONFIG", Path(__file__).resolve().parents[3] / "shared/realworld/tt-xla/test_config"))


@check
def ids_and_suites(folder: Path) -> None:
    text = "{HEAD}\nclass ModelLoader(ForgeModel):{INFO:RED}"
    root = zoo(folder, {"m/pytorch": text, "m/jax": text, "m/onnx": text, "deep/er/bounty_jax": text, "suryaocr/pytorch": text})
    found = ids(run(folder, "--zoo", root, "--format", "ids"))
    expected = [f"models::m/{framework}-{parallelism}-{mode}" for framework in ("pytorch", "jax")
                for parallelism in ("single_device", "data_parallel", "tensor_parallel") for mode in ("inference", "training")]
    expected += [f"op_by_op::m/{framework}-single_device-{mode}" for framework in ("jax", "pytorch") for mode in ("inference", "training")]
    expect(sorted(found) == sorted(expected), found)
    found = ids(run(folder, "--zoo", root, "--format", "ids", "--frameworks", "onnx,bounty_jax"))
    expect({line.split("::")[0] for line in found} == {"onnx", "bounty_jax"} and len(found) == 12, found)
    # Names on the command line, in all spellings.
    name = "m/jax-single_device-inference"
    for spelling in (name, f"models::{name}", f"tests/runner/test_models.py::test_all_models_jax[{name}]"):
        expect(ids(run(folder, "--zoo", root, "--format", "ids", spelling)) == [f"models::{name}"], spelling)
    expect(ids(run(folder, "--zoo", root, "--format", "ids", f"op_by_op::{name}")) == [f"op_by_op::{name}"], "op_by_op")
    result = run(folder, "--zoo", root, "m/jax-single_device-inferense")
    expect(result.returncode == 2 and f"did you mean '{name}'" in result.stderr, result.stderr)
    result = run(folder, "--zoo", root, "--suite", "modles")
    expect(result.returncode == 2 and "did you mean 'models'" in result.stderr, result.stderr)
    result = run(folder, "--zoo", root, "-m", "red and (")
    expect(result.returncode == 2 and "-m" in result.stderr, result.stderr)
    result = run(folder, "--zoo", root, "-m", "nightlyy")
    expect(result.returncode == 4 and "did you mean nightly?" in result.stderr, result.stderr)
    # A folder inside the zoo gives the same ids as the zoo.
    found = ids(run(folder, root / "m" / "jax", "--format", "ids", "--suite", "models"))
    expect(len(found) == 6 and found[0].startswith("models::m/jax-"), found)
    # All shards together are everything, none twice.
    shards = [ids(run(folder, "--zoo", root, "--format", "ids", "--shard", f"{i}/3")) for i in (1, 2, 3)]
    expect(sorted(itertools.chain(*shards)) == sorted(expected), shards)


@check
def other_kinds_of_tests(folder: Path) -> None:
    tests = folder / "tests"
    write(tests / "one.mlir", "func.func @main() { return }\n")
    write(tests / "sub" / "many.mlir", "// a comment\n// -----\nfunc.func @a() { return }\n// -----\n\n// -----\nfunc.func @b() { return }\n")
    write(tests / "bin.mlirbc", b"ML\xefR\x00")
    write(tests / "old.mlir.bc", b"ML\xefR\x00")
    write(tests / "net" / "model.onnx", b"\x08\x07")
    for i in range(2):
        write(tests / "net" / f"test_data_set_{i}" / "input_0.pb", b"")
    write(tests / "loose.onnx", b"\x08\x07")
    write(tests / "m.pt2", b"PK")
    write(tests / "saved" / "workload.json", "{}")
    # An older one, whose program is no test of its own.
    write(tests / "saved_before" / "options.json", "{}")
    for name in ("program.mlirbc", "program-v1.0.0.mlirbc"):
        write(tests / "saved_before" / name, b"ML\xefR\x00")
    write(tests / "ops.yaml", """\
        model: template
        cases:
          - name: add_basic
            op: torch.add
            mark: slow
          - name: mul
            op: torch.mul
        """)
    write(tests / "other.yaml", "something: else\n")
    write(tests / "notes.txt", "no test")
    result = run(folder, "tests", "--format", "ids")
    expect(result.returncode == 0, result.stderr)
    expect(ids(result) == [
        "programs::bin.mlirbc", "programs::old.mlir.bc", "programs::one.mlir", "programs::sub/many.mlir#2", "programs::sub/many.mlir#4",
        "opcases::ops.yaml#add_basic", "opcases::ops.yaml#mul", "onnx::loose.onnx", "onnx::net", "onnx::net#2", "pt2::m.pt2",
        "workloads::saved", "workloads::saved_before"], result.stdout)
    data = json.loads(run(folder, "tests", "--format", "json").stdout)
    parts = {t["id"]: t.get("part", 0) for t in data["tests"]}
    expect(parts["sub/many.mlir#2"] == 1 and parts["sub/many.mlir#4"] == 3 and parts["net#2"] == 1, parts)
    expect(ids(run(folder, "tests", "--format", "ids", "-k", "torch.add")) == ["opcases::ops.yaml#add_basic"], "-k op")
    expect(ids(run(folder, "tests", "--format", "ids", "-m", "slow")) == ["opcases::ops.yaml#add_basic"], "-m mark")
    expect(len(ids(run(folder, "tests", "--format", "ids", "-m", "programs"))) == 5, "-m programs")
    # One file, two folders: ids are relative to what holds everything given.
    expect(ids(run(folder, "tests/one.mlir", "--format", "ids")) == ["programs::one.mlir"], "a file")
    both = ids(run(folder, "tests/one.mlir", "tests/sub", "--format", "ids"))
    expect(both[0] == "programs::one.mlir" and both[1] == "programs::sub/many.mlir#2", both)
    result = run(folder, "tests/notes.txt")
    expect(result.returncode == 2 and "no test" in result.stderr, result.stderr)
    result = run(folder, "./nowhere")
    expect(result.returncode == 2 and "no such file" in result.stderr, result.stderr)


@check
def project_file(folder: Path) -> None:
    zoo(folder, {"m/pytorch": "{HEAD}\nclass ModelLoader(ForgeModel):{INFO:RED}"})
    write(folder / "programs" / "p.mlir", "func.func @main() { return }\n")
    write(folder / "ops" / "o.yaml", "cases:\n  - name: a\n    op: torch.add\n")
    write(folder / "expect" / "test_config_x.yaml", "test_config:\n  m/pytorch-single_device-inference:\n    status: EXPECTED_PASSING\n")
    write(folder / "cupel.yaml", "zoo: zoo\nprograms: [programs]\nop_cases: ops\nconfig: expect\nresults: results.db\n")
    (folder / "below" / "it").mkdir(parents=True)
    result = run(folder, "--format", "ids", cwd=folder / "below" / "it")
    expect(len(ids(result)) == 6 + 2 + 2, result.stdout + result.stderr)
    expect(ids(run(folder, "--format", "ids", "-m", "expected_passing", "--suite", "models")) == ["models::m/pytorch-single_device-inference"], "status")
    result = run(folder)
    expect("EXPECTED_PASSING" in result.stdout and result.stdout.splitlines()[-1].startswith("10 of 10 tests selected"), result.stdout)
    write(folder / "cupel.yaml", "zoo: zoo\nprogrammes: programs\n")
    result = run(folder)
    expect(result.returncode == 2 and "cupel.yaml:2:1: unknown name 'programmes'; did you mean 'programs'?" in result.stderr, result.stderr)
    write(folder / "cupel.yaml", "zoo: nowhere\n")
    result = run(folder)
    expect(result.returncode == 2 and "cupel.yaml:1:6:" in result.stderr and "does not exist" in result.stderr, result.stderr)


@check
def named_tests_do_not_vanish(folder: Path) -> None:
    """A test that is named and not selected is an error where --suite excludes it, and is said otherwise; the others stay."""
    loader = "{HEAD}\nclass ModelLoader(ForgeModel):{INFO:RED}"
    zoo(folder, {"m/pytorch": loader, "n/pytorch": loader, "n/bounty_jax": loader})
    write(folder / "expect" / "test_config_x.yaml", "test_config:\n  n/pytorch-single_device-inference:\n    status: EXCLUDE_MODEL\n")
    frameworks = ("--frameworks", "pytorch,bounty_jax", "--format", "ids")
    kept, other = "models::m/pytorch-single_device-inference", "bounty_jax::n/bounty_jax-single_device-inference"
    expect(sorted(ids(run(folder, "--zoo", "zoo", *frameworks, other, kept))) == sorted([other, kept]), "both are there")
    result = run(folder, "--zoo", "zoo", *frameworks, "--suite", "models", other, kept)
    expect(result.returncode == 2 and f"'{other}' is of suite bounty_jax, which --suite models leaves out" in result.stderr and not result.stdout,
           result.stdout + result.stderr)
    for option, words, left_out in (("-k", "not bounty_jax", other), ("-m", "inference", kept.replace("inference", "training"))):
        result = run(folder, "--zoo", "zoo", *frameworks, option, words, left_out, kept)
        expect(ids(result) == [kept] and f"'{left_out}' is named and not selected: {option} leaves it out" in result.stderr,
               result.stdout + result.stderr)
    excluded = "models::n/pytorch-single_device-inference"
    result = run(folder, "--zoo", "zoo", "--config", "expect", "--format", "ids", excluded, kept)
    expect(ids(result) == [kept] and f"'{excluded}' is named and not selected: the configuration has EXCLUDE_MODEL" in result.stderr,
           result.stdout + result.stderr)


@check
def selections_as_pytest_has_them(folder: Path) -> None:
    """-k, -m and --arch over a zoo with every kind of entry, against the rules written down a second time in Python."""
    loaders, groups = {}, {}
    for number, (model, group) in enumerate(itertools.product(("llama", "Bert", "res.net/x"), ("RED", "GENERALITY", "PRIORITY", "VULCAN"))):
        path = f"{model}_{group.lower()}/{'jax' if number % 3 == 0 else 'pytorch'}"
        groups[path] = group.lower()
        loaders[path] = '''{HEAD}
class ModelLoader(ForgeModel):
    _VARIANTS = {"Base": 1, "3.1_8B-Instruct": 2}
{INFO:%s}
    def load_inputs_decode(self):
        return None
''' % group
    # Models that one architecture skips, wholly and by a variant.
    for path, variants in (("yolov3/pytorch", '"Base": 1'), ("falcon/pytorch", '"3_Mamba_7B_Base": 1, "3_1B": 2')):
        groups[path] = "red"
        loaders[path] = "{HEAD}\nclass ModelLoader(ForgeModel):\n    _VARIANTS = {%s}\n{INFO:RED}\n    def load_inputs_decode(self):\n        return None\n" % variants
    root = zoo(folder, loaders)
    config = selection_rules.make_config([f"{path}-{variant}" for path in groups for variant in ("Base", "3.1_8B-Instruct", "3_Mamba_7B_Base")])
    selection_rules.write_config(config, folder / "config")
    all_ids = ids(run(folder, "--zoo", root, "--format", "ids"))
    differing = []
    for keyword, markers, arch in selection_rules.SELECTIONS:
        arguments = [*(("-k", keyword) if keyword else ()), *(("-m", markers) if markers else ()), *(("--arch", arch) if arch else ())]
        result = run(folder, "--zoo", root, "--config", folder / "config", "--format", "ids", *arguments)
        expected = selection_rules.select(all_ids, config, groups, keyword, markers, arch)
        if sorted(ids(result)) != sorted(expected) or (result.returncode == 4) != (not expected):
            differing.append(f"{arguments}: {len(ids(result))} instead of {len(expected)}, exit code {result.returncode}")
    expect(not differing, "\n".join(differing))


@check
def the_real_configuration_on_a_zoo_of_its_keys(folder: Path) -> None:
    """Every entry of the real configuration finds its test, and selections of real jobs are what the rules say; the zoo is made of the keys."""
    if not REAL_CONFIG.is_dir():
        raise Skip(f"{REAL_CONFIG} is not there")
    config = selection_rules.read_config(REAL_CONFIG)
    expect(len(config) == 1998, f"{len(config)} entries")
    variants: dict[str, set[str]] = {}
    for key in config:
        rest = key.removeprefix(selection_rules.model_path(key))
        variant = re.match(r"(?:-(.*?))?(?:-llm_\w+-seq_\d+-batch_\d+)?(?:-(?:megatron|fsdp)-\w+)?-(?:single_device|\w+_parallel)(?:-mesh_\w+)?-\w+$", rest)[1]
        variants.setdefault(selection_rules.model_path(key), set()).update([variant] if variant else [])
    groups = {path: ("red", "generality", "priority", "vulcan")[number % 4] for number, path in enumerate(sorted(variants))}
    loader = ("{HEAD}\nclass ModelLoader(ForgeModel):\n    _VARIANTS = {%s}\n{INFO:%s}\n    def load_inputs_decode(self):\n        return None\n"
              "class PrefillLoader(ForgePrefillModel):\n    _VARIANTS = ModelLoader._VARIANTS\n{INFO:%s}\n")
    root = zoo(folder, {path: loader % (", ".join(f'"{name}": 1' for name in sorted(variants[path])), groups[path].upper(), groups[path].upper())
                        for path in variants})
    all_ids = ids(run(folder, "--zoo", root, "--format", "ids"))
    missing = set(config) - {name.partition("::")[2] for name in all_ids}
    expect(not missing, f"{len(missing)} entries find no test: {sorted(missing)[:5]}")
    # Without the language models' many combinations, which the rules written here are too slow for.
    kept = [name for name in all_ids if not name.startswith("llm::") or name.partition("::")[2] in config]
    jobs = json.loads((Path(__file__).parent / "real_zoo.json").read_text())["selections"]
    differing = []
    for job in [*jobs[::12], {"m": "skip", "arch": "lb-blackhole"}, {"m": "notimeout and not skip", "arch": "lb-blackhole"}]:
        options = [word for flag, key in (("-k", "k"), ("-m", "m"), ("--arch", "arch")) if key in job for word in (flag, job[key])]
        found = ids(run(folder, "--zoo", root, "--config", REAL_CONFIG, "--format", "ids", *options))
        expected = selection_rules.select(kept, config, groups, job.get("k"), job.get("m"), job.get("arch"), ())
        found = [name for name in found if not name.startswith("placeholder::") and (not name.startswith("llm::") or name.partition("::")[2] in config)]
        if sorted(found) != sorted(expected):
            differing.append(f"{options}: {len(found)} instead of {len(expected)}, such as {sorted(set(found) ^ set(expected))[:3]}")
    expect(not differing, "\n".join(differing))


@check
def presets_select_what_their_jobs_run(folder: Path) -> None:
    text = "{HEAD}\nclass ModelLoader(ForgeModel):{INFO:RED}"
    root = zoo(folder, {"m/pytorch": text, "m/jax": text})
    write(folder / "config" / "test_config_x.yaml", """\
        test_config:
          m/jax-single_device-inference:
            status: EXPECTED_PASSING
            arch_overrides:
              n150: {status: KNOWN_FAILURE_XFAIL, reason: too slow}
          m/pytorch-single_device-inference:
            status: EXPECTED_PASSING
        """)
    runner = "./tests/runner/test_models.py"
    write(folder / "inner.json", json.dumps([
        {"runs-on": "n150", "name": "jobs", "dir": f"{runner}::test_all_models_jax", "test-mark": "expected_passing", "forge-models": True},
        {"runs-on": "p150", "name": "jobs", "dir": f"{runner}::test_all_models_jax", "test-mark": "expected_passing", "forge-models": True}]))
    write(folder / "outer.json", json.dumps([
        {"include": ["inner.json"]}, {"runs-on": "n150", "name": "torch", "dir": f"{runner}::test_all_models_torch", "test-mark": "expected_passing"},
        {"runs-on": "n150", "name": "other", "dir": "tests/torch/ops"}]))

    def chosen(preset: str, *more: str) -> list[str]:
        return ids(run(folder, "--zoo", root, "--config", folder / "config", "--format", "ids", "--preset", folder / preset, *more))

    jax, torch = "models::m/jax-single_device-inference", "models::m/pytorch-single_device-inference"
    expect(chosen("inner.json:jobs@n150") == [] and chosen("inner.json:jobs@p150") == [jax], "its own architecture")
    expect(chosen("outer.json:torch") == [torch], "one job")
    expect(sorted(chosen("outer.json")) == sorted([jax, torch]), chosen("outer.json"))
    expect(chosen("outer.json", "-k", "jax") == [jax], "narrowed further")
    result = run(folder, "--zoo", root, "--preset", f"{folder}/outer.json:other")
    expect(result.returncode == 4 and "tests/torch/ops" in result.stderr, result.stderr)


@check
def one_hundred_thousand(folder: Path) -> None:
    """Items beyond the real zoo's number, listed and filtered: time is measured in bench/collect, here only bounds."""
    text = '''{HEAD}
class ModelLoader(ForgeModel):
    _VARIANTS = {f"variant_{i}": i for i in range(%d)}
{INFO:RED}
    def load_inputs_decode(self):
        return None
class ModelLoaderPrefill(ModelLoader, ForgePrefillModel):
    pass
'''
    root = zoo(folder, {f"family_{i}/causal_lm/pytorch": text % 14 for i in range(10)})
    result = run(folder, "--zoo", root, "--format", "ids")
    expect(len(ids(result)) == 140 * (6 + 2 + 72 + 720), len(ids(result)))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    result = run(folder, "--zoo", root, "--format", "ids", "-m", "tensor_parallel and inference and not llm")
    expect(len(ids(result)) == 140, len(ids(result)))
    expect(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >= before, "memory is measured")
