"""Checks of discovery on small zoos made here: what loaders say, ids and markers, hostile trees, the cache.

usage: check_zoo.py BUILD/bin. Ends with `N passed, N failed[, N skipped]`.
"""

from __future__ import annotations

import itertools
import json
import os
import resource
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import selection_rules

BIN = Path(sys.argv[1]).resolve()
CUPEL = BIN / "cupel" if BIN.is_dir() else BIN
CHECKS = []

BASE = '''
from .config import ModelConfig, ModelInfo, StrEnum
import torch

class ForgeModel:
    _VARIANTS = {}
    DEFAULT_VARIANT = None

    @classmethod
    def query_available_variants(cls):
        if not cls._VARIANTS:
            return {}
        return cls._VARIANTS

    @classmethod
    def get_model_info(cls, variant=None):
        if cls._VARIANTS and variant is None:
            variant = cls.DEFAULT_VARIANT
        return cls._get_model_info(variant)

    def load_shard_spec(self, model):
        return None

class ForgePrefillModel(ForgeModel):
    def load_inputs_prefill(self, dtype_override=None, batch_size=1, seq_len=128):
        return None
'''
CONFIG = '''
from dataclasses import dataclass
from enum import Enum

class StrEnum(Enum):
    def __str__(self) -> str:
        return self.value

class ModelGroup(StrEnum):
    GENERALITY = "generality"
    RED = "red"
    PRIORITY = "priority"
    VULCAN = "vulcan"

class ModelTask(StrEnum):
    NLP_CAUSAL_LM = "nlp_causal_lm"

class ModelSource(StrEnum):
    CUSTOM = "custom"

class Framework(StrEnum):
    TORCH = "pytorch"
    JAX = "jax"

@dataclass(frozen=True)
class ModelInfo:
    model: str
    variant: StrEnum
    group: ModelGroup
    task: ModelTask
    source: ModelSource
    framework: Framework

@dataclass
class ModelConfig:
    pretrained_model_name: str
'''
HEAD = '''
from {dots}config import ModelConfig, ModelInfo, ModelGroup, ModelTask, ModelSource, Framework, StrEnum
from {dots}base import ForgeModel, ForgePrefillModel
'''
INFO = '''
    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo(model="M", variant=variant, group=ModelGroup.{group}, task=ModelTask.NLP_CAUSAL_LM,
                         source=ModelSource.CUSTOM, framework=Framework.TORCH)

    def load_model(self, *, dtype_override=None, **kwargs):
        return None

    def load_inputs(self, dtype_override=None, batch_size=1):
        return None
'''


def check(function):
    CHECKS.append(function)
    return function


class Skip(Exception):
    pass


def expect(condition: bool, message: object) -> None:
    if not condition:
        raise AssertionError(message)


def run(folder: Path, *arguments: object, **options) -> subprocess.CompletedProcess:
    env = os.environ | {"CUPEL_CACHE": str(folder / "cache"), "NO_COLOR": "1"} | options.pop("env", {})
    options = {"capture_output": True, "text": True, "errors": "replace", "timeout": 120, "stdin": subprocess.DEVNULL,
               "cwd": folder} | options
    return subprocess.run([str(CUPEL), "list", *map(str, arguments)], env=env, **options)


def ids(result: subprocess.CompletedProcess) -> list[str]:
    return [line for line in result.stdout.splitlines() if line]


def write(path: Path, text: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else textwrap.dedent(text).encode())
    return path


def zoo(folder: Path, loaders: dict[str, str]) -> Path:
    """A zoo with a base and a config module; `{HEAD}` and `{INFO:GROUP}` in a loader are written out."""
    root = folder / "zoo"
    write(root / "base.py", BASE)
    write(root / "config.py", CONFIG)
    for path, text in loaders.items():
        dots = "." * (path.count("/") + 2)
        text = textwrap.dedent(text).replace("{HEAD}", HEAD.format(dots=dots))
        for group in ("RED", "GENERALITY", "PRIORITY", "VULCAN"):
            text = text.replace("{INFO:%s}" % group, INFO.format(group=group))
        write(root / path / "loader.py", text)
    return root


def variants(folder: Path, text: str, path: str = "m/pytorch", extra: dict[str, str] | None = None) -> list[str]:
    """The variants that the loader's text has, in order."""
    root = zoo(folder, {path: text} | (extra or {}))
    result = run(folder, "--zoo", root, "--format", "json", "--no-cache")
    data = json.loads(result.stdout)
    expect(not data["errors"], data["errors"])
    mine = [t for t in data["tests"] if t["suite"] == "models" and t["model_path"] == path]
    expect(bool(mine) or data["undecided"], result.stdout)
    if not mine:
        expect(len(data["undecided"]) == 1, data["undecided"])
        one = data["undecided"][0]
        expect(one["line"] > 0 and one["file"].endswith(".py") and len(one["reason"]) > 10, one)
        return ["undecided"]
    return list(dict.fromkeys(t.get("variant", "") for t in mine))


LOADERS = {
    "no variants at all": ('{HEAD}\nclass ModelLoader(ForgeModel):{INFO:RED}', [""]),
    "enum members in the dict's order": ('''{HEAD}
class ModelVariant(StrEnum):
    A = "a/one-1.0"
    B = "B"
    C = "never used"
class ModelLoader(ForgeModel):
    _VARIANTS = {ModelVariant.B: ModelConfig("b"), ModelVariant.A: ModelConfig(pretrained_model_name="a")}
    DEFAULT_VARIANT = ModelVariant.A
{INFO:RED}''', ["B", "a/one-1.0"]),
    "aliases collapse": ('''{HEAD}
class ModelVariant(StrEnum):
    A = "x"
    ALIAS = "x"
class ModelLoader(ForgeModel):
    _VARIANTS = {ModelVariant.A: 1, ModelVariant.ALIAS: 2}
{INFO:RED}''', ["x"]),
    "a module's dict, updated": ('''{HEAD}
class V(StrEnum):
    A = "a"
    B = "b"
    C = "c"
_ALL = {V.A: 1}
_ALL.update({V.B: 2})
_ALL[V.C] = 3
class ModelLoader(ForgeModel):
    _VARIANTS = _ALL
{INFO:RED}''', ["a", "b", "c"]),
    "union, unpacking and comprehension": ('''{HEAD}
class V(StrEnum):
    A = "a"
    B = "b"
    C = "c"
    D = "d"
_X = {V.A: 1} | {V.B: 2}
class ModelLoader(ForgeModel):
    _VARIANTS = {**_X, **{v: ModelConfig(v.value) for v in V if v not in _X and v != V.D}}
{INFO:RED}''', ["a", "b", "c"]),
    "f-strings of constants": ('''{HEAD}
SIZES = ("7b", "70b")
PREFIX = "llama"
class V(StrEnum):
    A = f"{PREFIX}-{SIZES[0]}"
    B = PREFIX + "_" + SIZES[1].upper()
class ModelLoader(ForgeModel):
    _VARIANTS = dict.fromkeys(list(V), None)
{INFO:RED}''', ["llama-7b", "llama_70B"]),
    "overridden query": ('''{HEAD}
class V(StrEnum):
    A = "a"
    B = "b"
class ModelLoader(ForgeModel):
    _VARIANTS = {V.A: 1, V.B: 2}
    @classmethod
    def query_available_variants(cls):
        return {k: v for k, v in super().query_available_variants().items() if k is not V.A}
{INFO:RED}''', ["b"]),
    "standard StrEnum and auto": ('''{HEAD}
from enum import StrEnum, auto
class V(StrEnum):
    SMALL = auto()
    LARGE = auto()
class ModelLoader(ForgeModel):
    _VARIANTS = {V.LARGE: 1, V.SMALL: 2}
{INFO:RED}''', ["large", "small"]),
    "a loop that fills": ('''{HEAD}
class V(StrEnum):
    A = "a"
    B = "b"
class ModelLoader(ForgeModel):
    _VARIANTS = {}
    for _v in V:
        _VARIANTS[_v] = ModelConfig(_v.name.lower())
{INFO:RED}''', ["a", "b"]),
    "plain strings as keys": ('''{HEAD}
class ModelLoader(ForgeModel):
    _VARIANTS = {"base": 1, "la" "rge": 2, r"x\\y": 3}
{INFO:RED}''', ["base", "large", "x\\y"]),
    "unknown values do no harm": ('''{HEAD}
import torch
from peft import LoraConfig
class V(StrEnum):
    A = "a"
class ModelLoader(ForgeModel):
    _VARIANTS = {V.A: LoraConfig(r=torch.tensor(4), dtype=torch.bfloat16)}
{INFO:RED}''', ["a"]),
    "type checking and main guard": ('''{HEAD}
from typing import TYPE_CHECKING, Dict
class V(StrEnum):
    A = "a"
class ModelLoader(ForgeModel):
    _VARIANTS: Dict[V, ModelConfig] = {V.A: ModelConfig("a")}
{INFO:RED}
if TYPE_CHECKING:
    ModelLoader = None
if __name__ == "__main__":
    ModelLoader._VARIANTS = {}
''', ["a"]),
    # What cannot be told must say so.
    "keys from outside": ('''{HEAD}
import os
class ModelLoader(ForgeModel):
    _VARIANTS = {name: 1 for name in os.listdir(".")}
{INFO:RED}''', ["undecided"]),
    "a condition from outside": ('''{HEAD}
import torch
class V(StrEnum):
    A = "a"
    B = "b"
if torch.cuda.is_available():
    CHOICE = {V.A: 1}
else:
    CHOICE = {V.B: 1}
class ModelLoader(ForgeModel):
    _VARIANTS = CHOICE
{INFO:RED}''', ["undecided"]),
    "changed by something unknown": ('''{HEAD}
from registry import register
class V(StrEnum):
    A = "a"
class ModelLoader(ForgeModel):
    _VARIANTS = {V.A: 1}
{INFO:RED}
register(ModelLoader)
''', ["undecided"]),
    "a mixin from outside in front": ('''{HEAD}
from somewhere import Mixin
class V(StrEnum):
    A = "a"
class Parent(ForgeModel):
    _VARIANTS = {V.A: 1}
{INFO:RED}
class ModelLoader(Mixin, Parent):
    pass
''', ["undecided"]),
    "no such class": ("{HEAD}\nclass Loader(ForgeModel):{INFO:RED}", ["undecided"]),
    "a handler that may run": ('''{HEAD}
class V(StrEnum):
    A = "a"
    B = "b"
try:
    import onnx
    LIST = {V.A: 1}
except ImportError:
    LIST = {V.B: 1}
class ModelLoader(ForgeModel):
    _VARIANTS = LIST
{INFO:RED}''', ["undecided"]),
}


@check
def texts_of_loaders(folder: Path) -> None:
    for name, (text, expected) in LOADERS.items():
        with tempfile.TemporaryDirectory(dir=folder) as inner:
            # "no such class" has no line of its own to point at.
            if name == "no such class":
                root = zoo(Path(inner), {"m/pytorch": text})
                data = json.loads(run(Path(inner), "--zoo", root, "--format", "json").stdout)
                expect(len(data["undecided"]) == 1 and "ModelLoader" in data["undecided"][0]["reason"], data)
                continue
            found = variants(Path(inner), text)
            expect(found == expected, f"{name}: {found} instead of {expected}")


@check
def inheritance_across_modules(folder: Path) -> None:
    base = '''{HEAD}
class ModelVariant(StrEnum):
    A = "a"
    B = "b"
class ModelLoader(ForgeModel):
    _VARIANTS = {ModelVariant.A: ModelConfig("a"), ModelVariant.B: ModelConfig("b")}
    DEFAULT_VARIANT = ModelVariant.A
{INFO:RED}
    def load_inputs_decode(self):
        return None
class ModelLoaderPrefill(ModelLoader, ForgePrefillModel):
    _VARIANTS = {ModelVariant.B: ModelConfig("b")}
'''
    adapter = '''
from peft import LoraConfig
from ....big.causal_lm.pytorch.loader import ModelLoader as _Base, ModelVariant
from ....big.causal_lm.pytorch.loader import ModelLoaderPrefill as _BasePrefill
from ....tools.lora import LoRAModelMixin
_CONFIGS = {ModelVariant.A: LoraConfig(r=4)}
class ModelLoader(LoRAModelMixin, _Base):
    _LORA_CONFIGS = _CONFIGS
class ModelLoaderPrefill(LoRAModelMixin, _BasePrefill):
    _LORA_CONFIGS = _CONFIGS
'''
    absolute = '''
from third_party.tt_forge_models.big.causal_lm.pytorch.loader import *
'''
    root = zoo(folder, {"big/causal_lm/pytorch": base, "big_lora/causal_lm/pytorch": adapter, "star/pytorch": absolute})
    write(root / "tools" / "lora.py", "import torch\nclass LoRAModelMixin:\n    _LORA_CONFIGS = {}\n    def load_model(self, **kwargs):\n        return None\n")
    result = run(folder, "--zoo", root, "--format", "ids")
    expect(result.returncode == 0, result.stderr)
    found = ids(result)
    for path in ("big/causal_lm/pytorch", "big_lora/causal_lm/pytorch"):
        expect(f"models::{path}-b-tensor_parallel-training" in found, path)
        expect(sum(f"llm::{path}-a-llm_decode-" in line for line in found) == 72, path)
        expect(sum(f"llm::{path}-b-llm_prefill-" in line for line in found) == 720, path)
        expect(not any(f"{path}-a-llm_prefill" in line for line in found), path)
    loaders = {entry["model_path"]: entry for entry in json.loads(run(folder, "--zoo", root, "--format", "json").stdout)["loaders"]}
    expect(loaders["big_lora/causal_lm/pytorch"]["methods"] == {
        "load_model": ["**kwargs"], "load_inputs": ["dtype_override", "batch_size"], "load_inputs_decode": []}, loaders)
    # What `import *` brings belongs to the other module: no prefill class of its own.
    expect(sum("models::star/pytorch-" in line for line in found) == 12, found[:5])
    expect(not any("star/pytorch" in line and "prefill" in line for line in found), "star")


@check
def model_info_decides_markers(folder: Path) -> None:
    text = '''{HEAD}
class V(StrEnum):
    A = "a"
    B = "b"
    C = "c"
class ModelLoader(ForgeModel):
    _VARIANTS = {v: 1 for v in V}
    @classmethod
    def _get_model_info(cls, variant=None):
        if variant in (V.A,):
            group = ModelGroup.RED
        elif variant == V.B:
            group = ModelGroup.PRIORITY
        else:
            group = ModelGroup.GENERALITY
        return ModelInfo(f"M_{variant}", variant, group, ModelTask.NLP_CAUSAL_LM, ModelSource.CUSTOM, Framework.TORCH)
'''
    root = zoo(folder, {"m/pytorch": text})
    data = json.loads(run(folder, "--zoo", root, "--format", "json", "--suite", "models").stdout)
    by_variant = {t["variant"]: t for t in data["tests"] if t["parallelism"] == "single_device" and t["run_mode"] == "training"}
    expect(by_variant["a"]["model"] == "M_a" and by_variant["a"]["task"] == "nlp_causal_lm", by_variant["a"])
    common = {"model_test", "no_auto_properties", "parametrize", "training", "single_device", "unspecified", "n150", "p150"}
    expect(data["loaders"][0]["state"] == "decided" and data["loaders"][0]["methods"] == {}, data["loaders"])
    for variant, extra in {"a": {"red", "nightly"}, "b": {"nightly"}, "c": {"generality", "weekly"}}.items():
        expect(set(by_variant[variant]["markers"]) == common | extra, by_variant[variant])


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
        "workloads::saved"], result.stdout)
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
def broken_loaders_do_not_stop_the_rest(folder: Path) -> None:
    good = "{HEAD}\nclass ModelLoader(ForgeModel):{INFO:RED}"
    root = zoo(folder, {"good/pytorch": good, "syntax/pytorch": "x = 1\nclass ModelLoader(:\n    pass\n", "indent/pytorch": "def f(:\n"})
    write(root / "latin" / "pytorch" / "loader.py", b"# -*- coding: latin-1 -*-\nNAME = '\xe9'\n" + textwrap.dedent(
        HEAD.format(dots="...") + '\nclass ModelLoader(ForgeModel):\n    _VARIANTS = {NAME: 1}\n' + INFO.format(group="RED")).encode())
    write(root / "bytes" / "pytorch" / "loader.py", b"a = 1\nb = '\xff\xfe'\n")
    write(root / "nul" / "pytorch" / "loader.py", b"a = 1\n\0\n")
    (root / "dangling" / "pytorch").mkdir(parents=True)
    (root / "dangling" / "pytorch" / "loader.py").symlink_to("/nonexistent")
    (root / "folder" / "pytorch" / "loader.py").mkdir(parents=True)
    result = run(folder, "--zoo", root, "--format", "ids")
    expect(result.returncode == 1, result.returncode)
    found = ids(result)
    expect(sum("good/pytorch" in line for line in found) == 8 and any("latin/pytorch-é-" in line for line in found), found)
    for place in ("syntax/pytorch/loader.py:2:", "indent/pytorch/loader.py:1:", "bytes/pytorch/loader.py:2:6:", "nul/pytorch/loader.py:2:1:"):
        expect(place in result.stderr, f"{place} in {result.stderr}")
    expect(len([line for line in result.stderr.splitlines() if "error" in line]) == 4, result.stderr)


@check
def unreadable_files_and_folders(folder: Path) -> None:
    if os.geteuid() == 0:
        # Root reads everything; an unprivileged child does not.
        probe = subprocess.run(["setpriv", "--reuid=65534", "--clear-groups", str(CUPEL), "list", "--help"], capture_output=True)
        if probe.returncode:
            raise Skip("no unprivileged user can be had")
    good = "{HEAD}\nclass ModelLoader(ForgeModel):{INFO:RED}"
    root = zoo(folder, {"good/pytorch": good, "secret/pytorch": good, "closed/pytorch": good})
    (root / "secret" / "pytorch" / "loader.py").chmod(0)
    (root / "closed").chmod(0)
    folder.chmod(0o755)
    command = [str(CUPEL), "list", "--zoo", str(root), "--format", "ids", "--no-cache"]
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid=65534", "--clear-groups", *command]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd="/")
    (root / "closed").chmod(0o755)
    expect(result.returncode == 1 and len(ids(result)) == 8, result.stdout + result.stderr)
    expect(result.stderr.count("Permission denied") == 2, result.stderr)


@check
def hostile_trees(folder: Path) -> None:
    good = "{HEAD}\nclass ModelLoader(ForgeModel):{INFO:RED}"
    root = zoo(folder, {"good/pytorch": good})
    for i in range(10_000):
        (root / f"empty{i % 100}" / f"e{i}").mkdir(parents=True)
    (root / "loop").symlink_to(root)
    (root / "good" / "self").symlink_to(".")
    deep = root
    for _ in range(300):
        deep = deep / "d"
    subprocess.run(["mkdir", "-p", str(deep)], check=True)
    begin = time.monotonic()
    result = run(folder, "--zoo", root, "--format", "ids", "--no-cache")
    expect(len(ids(result)) == 8, result.stdout[:500])
    expect("nested too deeply" in result.stderr, result.stderr)
    expect(time.monotonic() - begin < 20, "it took too long")
    # The same tree as a path: everything in it that is a test.
    expect(len(ids(run(folder, root, "--format", "ids"))) == 8, "as a path")


@check
def hostile_loaders(folder: Path) -> None:
    good = "{HEAD}\nclass ModelLoader(ForgeModel):{INFO:RED}"
    root = zoo(folder, {"good/pytorch": good})
    huge = write(root / "huge" / "pytorch" / "loader.py", good)
    with huge.open("ab") as file:
        file.write(b"x = 'a rather long line to fill the file with, as one would not'\n" * (50 * 1024 * 1024 // 64))
    deep = 20_000
    texts = {
        "parens": "x = " + "(" * deep + ")" * deep,
        "lists": "x = " + "[" * deep + "]" * deep,
        "calls": "x = " + "f(" * deep + ")" * deep,
        "attributes": "x = a" + ".b" * deep,
        "sums": "x = 1" + " + 1" * deep,
        "nots": "x = " + "not " * deep + "1",
        "blocks": "".join("\n" + " " * i + "if 1:" for i in range(90)) + "\n" + " " * 90 + "pass\n",
        "elifs": "if a: pass\n" + "elif b: pass\n" * deep,
        "powers": "x = 9 ** 9 ** 9 ** 9\ny = 2 ** 62 * 2 ** 62\nz = -1 // 0\n",
        "doubling": "x = 'a'\n" + "x = x + x\n" * 64,
        "endless": "for i in range(10 ** 18):\n    for j in range(10 ** 18):\n        pass\n",
        "nested loops": "a = list(range(90000))\nx = [i for i in a for j in a for k in a]\n",
        "recursion": "def f(n):\n    return f(n)\nx = f(1)\n",
        "own list": "x = []\nx.append(x)\ny = x == [x]\nz = {(1, (2,)): x}\n",
        "circular": "from .other import y\nx = y\n",
        "empty": "",
        "class of itself": "class A(A): pass\nclass B(A, A): pass\n",
    }
    for name, text in texts.items():
        write(root / name.replace(" ", "_") / "pytorch" / "loader.py", text + "\n" + "".join(
            [HEAD.format(dots="..."), "\nclass ModelLoader(ForgeModel):\n    _VARIANTS = {'v': 1}\n", INFO.format(group="RED")]))
    write(root / "circular" / "pytorch" / "other.py", "from .loader import x\ny = x\n")
    limit = 3 << 30
    begin = time.monotonic()
    result = run(folder, "--zoo", root, "--format", "json", "--no-cache",
                 preexec_fn=None if CUPEL.parent.parent.name.endswith("san") else lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    expect(result.returncode in (0, 1), f"{result.returncode} {result.stderr}")
    data = json.loads(result.stdout)
    listed = {t["model_path"] for t in data["tests"]}
    told = {u["model_path"] for u in data["undecided"]} | {"/".join(Path(e["file"]).parts[-3:-1]) for e in data["errors"]}
    wanted = {f"{name.replace(' ', '_')}/pytorch" for name in texts} | {"huge/pytorch", "good/pytorch"}
    expect(listed | told >= wanted, f"missing: {wanted - listed - told}")
    expect("good/pytorch" in listed and "huge/pytorch" in told, (listed, told))
    expect(time.monotonic() - begin < 60, "it took too long")


@check
def cache_is_a_cache(folder: Path) -> None:
    text = "{HEAD}\nclass ModelLoader(ForgeModel):\n    _VARIANTS = {'%s': 1}\n{INFO:RED}"
    root = zoo(folder, {"a/pytorch": text % "one", "b/pytorch": "from ...a.pytorch.loader import ModelLoader\n"})

    def found() -> list[str]:
        result = run(folder, "--zoo", root, "--format", "ids", "--suite", "models")
        expect(result.returncode == 0, result.stderr)
        return sorted({line.split("::")[1].rsplit("-", 2)[0] for line in ids(result)})

    expect(found() == ["a/pytorch-one", "b/pytorch-one"], found())
    cached = list((folder / "cache").glob("*"))
    expect(len(cached) == 1, cached)
    before = cached[0].read_bytes()
    expect(found() == ["a/pytorch-one", "b/pytorch-one"] and cached[0].read_bytes() == before, "a second time")
    # A file that another loader is made from changes.
    zoo(folder, {"a/pytorch": text % "two"})
    expect(found() == ["a/pytorch-two", "b/pytorch-two"], found())
    # A module appears that was looked for in vain, and disappears.
    write(root / "a" / "pytorch" / "loader" / "__init__.py", (root / "a" / "pytorch" / "loader.py").read_text().replace("two", "six")
          .replace("from ...", "from ...."))
    expect(found() == ["a/pytorch-two", "b/pytorch-six"], found())
    (root / "a" / "pytorch" / "loader" / "__init__.py").unlink()
    expect(found() == ["a/pytorch-two", "b/pytorch-two"], found())
    # Damage of any kind is as good as no cache.
    good = cached[0].read_bytes()
    for damaged in (b"", b"x", good[:-1], good[: len(good) // 2], good + b"x", good[:40] + bytes([good[40] ^ 1]) + good[41:], b"\xff" * len(good)):
        cached[0].write_bytes(damaged)
        expect(found() == ["a/pytorch-two", "b/pytorch-two"], damaged[:20])
    # Touched, not changed: still taken from the cache, which is then brought up to date.
    os.utime(root / "a" / "pytorch" / "loader.py")
    expect(found() == ["a/pytorch-two", "b/pytorch-two"], found())
    # A cache that cannot be written.
    result = run(folder, "--zoo", root, "--format", "ids", env={"CUPEL_CACHE": "/proc/none"})
    expect(result.returncode == 0 and not result.stderr, result.stderr)


@check
def python_decides_what_the_text_does_not(folder: Path) -> None:
    hard = '''{HEAD}
import string
class ModelLoader(ForgeModel):
    _VARIANTS = {letter * 2: 1 for letter in string.ascii_lowercase[:3]}
{INFO:VULCAN}
    def load_inputs_decode(self, batch_size=1):
        return None
'''
    root = zoo(folder, {"hard/pytorch": hard, "bad/pytorch": "import not_installed_anywhere\n" + hard.replace("{HEAD}", "{HEAD}\nstring = not_installed_anywhere")})
    # This base module imports torch; the real one may as well.
    write(root / "base.py", BASE.replace("import torch\n", ""))
    result = run(folder, "--zoo", root, "--format", "ids")
    expect(not ids(result) and result.returncode == 0 and result.stderr.count("undecided") == 2, result.stdout + result.stderr)
    result = run(folder, "--zoo", root, "--format", "ids", "--import", "--python", sys.executable)
    found = ids(result)
    expect(sum("models::hard/pytorch-" in line for line in found) == 18, result.stdout + result.stderr)
    expect("models::hard/pytorch-bb-single_device-inference" in found, found[:3])
    expect(sum("llm::hard/pytorch-" in line for line in found) == 3 * 72, "llm")
    expect("No module named 'not_installed_anywhere'" in result.stderr, result.stderr)
    # What Python said is kept: the next list needs no Python.
    result = run(folder, "--zoo", root, "--format", "ids", "-m", "vulcan", "--python", "/nonexistent")
    expect(sum("models::hard/pytorch-" in line for line in ids(result)) == 18, result.stdout)
    result = run(folder, "--zoo", root, "--format", "ids", "--import", "--python", "/nonexistent", "--no-cache")
    expect(not ids(result) and "/nonexistent" in result.stderr, result.stderr)


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
    root = zoo(folder, loaders)
    config = selection_rules.make_config([f"{path}-{variant}" for path in groups for variant in ("Base", "3.1_8B-Instruct")])
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


def main() -> int:
    passed = failed = skipped = 0
    for function in CHECKS:
        if len(sys.argv) > 2 and function.__name__ not in sys.argv[2:]:
            continue
        with tempfile.TemporaryDirectory(prefix="cupel-zoo-") as folder:
            try:
                function(Path(folder))
                passed += 1
            except Skip as reason:
                print(f"SKIPPED {function.__name__}: {reason}")
                skipped += 1
            except (AssertionError, subprocess.TimeoutExpired, OSError, ValueError, KeyError) as error:
                print(f"FAILED {function.__name__}: {str(error)[:3000]}")
                failed += 1
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
