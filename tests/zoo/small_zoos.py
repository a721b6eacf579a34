"""What the checks of discovery share: small zoos that are made on the spot, and `cupel list` on them. Part of check_zoo.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

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
