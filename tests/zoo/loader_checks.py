"""What the text of a loader says: variants, inheritance, groups and markers, and what Python must decide. Part of check_zoo.py."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from small_zoos import BASE, check, expect, ids, run, variants, write, zoo

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
