#!/usr/bin/env python3
"""How long `cupel list` takes, beside Python's own parser over the same files in the same run.

usage: bench/collect/run.py [--zoo DIR] [--config DIR] [--bin BUILD/bin] [--runs N] [--json FILE]

Without --zoo a zoo of 400 loaders is made, so that this runs anywhere; with --zoo the real one is
measured. Times are the best of N runs: what the work costs, not what else the machine does.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FRAMEWORKS = ("pytorch", "jax")
BODY = '''
    def load_model(self, *, dtype_override=None, **kwargs):
        """Load the model of this variant."""
        name = self._variant_config.pretrained_model_name
        options = {"return_dict": False, "use_cache": False} | kwargs
        if dtype_override is not None:
            options["torch_dtype"] = dtype_override
        model = AutoModel.from_pretrained(name, **options)
        for index, layer in enumerate(model.layers):
            if index % 2 == 0 and getattr(layer, "attention", None) is not None:
                layer.attention.heads = [head for head in layer.attention.heads if head.enabled]
        return model.eval()

    def load_inputs(self, dtype_override=None, batch_size=1):
        """Sample inputs, repeated to the batch size."""
        inputs = self.tokenizer(["A sample text to begin with"] * batch_size, return_tensors="pt", padding=True)
        return {key: value.to(dtype_override) if value.is_floating_point() else value for key, value in inputs.items()}
'''


def loader_text(number: int, variants: int, is_language_model: bool) -> str:
    names = [f"V{i}" for i in range(variants)]
    lines = [
        '"""A loader like the real ones, made for measuring."""',
        "from typing import Optional",
        "from transformers import AutoModel, AutoTokenizer",
        "from ....config import ModelConfig, ModelInfo, ModelGroup, ModelTask, ModelSource, Framework, StrEnum",
        "from ....base import ForgeModel, ForgePrefillModel",
        "", "", "class ModelVariant(StrEnum):",
        *[f'    {name} = "{number}.{i}_{name}-Instruct"' for i, name in enumerate(names)],
        "", "", "class ModelLoader(ForgeModel):", "    _VARIANTS = {",
        *[f'        ModelVariant.{name}: ModelConfig(pretrained_model_name="org/model-{number}-{name}"),' for name in names],
        "    }", f"    DEFAULT_VARIANT = ModelVariant.{names[0]}", "",
        "    @classmethod", "    def _get_model_info(cls, variant: Optional[ModelVariant] = None) -> ModelInfo:",
        '        group = ModelGroup.RED if variant == ModelVariant.V0 else ModelGroup.GENERALITY',
        '        return ModelInfo(model="M", variant=variant, group=group, task=ModelTask.NLP_CAUSAL_LM,',
        "                         source=ModelSource.HUGGING_FACE, framework=Framework.TORCH)", BODY,
    ]
    if is_language_model:
        lines += ["    def load_inputs_decode(self, batch_size=1):", "        return None", "", "",
                  "class ModelLoaderPrefill(ModelLoader, ForgePrefillModel):", "    pass"]
    for extra in range(3):
        lines += [BODY.replace("def load_", f"def extra_{extra}_load_")]
    return "\n".join(lines) + "\n"


BASE = '''from .config import StrEnum

class ForgeModel:
    _VARIANTS = {}
    DEFAULT_VARIANT = None

    @classmethod
    def query_available_variants(cls):
        return cls._VARIANTS

    @classmethod
    def get_model_info(cls, variant=None):
        return cls._get_model_info(variant or cls.DEFAULT_VARIANT)


class ForgePrefillModel(ForgeModel):
    pass
'''
CONFIG = '''from dataclasses import dataclass
from enum import Enum

class StrEnum(Enum):
    def __str__(self):
        return self.value

class ModelGroup(StrEnum):
    RED = "red"
    GENERALITY = "generality"

class ModelTask(StrEnum):
    NLP_CAUSAL_LM = "nlp_causal_lm"

class ModelSource(StrEnum):
    HUGGING_FACE = "huggingface"

class Framework(StrEnum):
    TORCH = "pytorch"

@dataclass
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


def make_zoo(root: Path, loaders: int, variants: int, language_models: int) -> Path:
    root.mkdir(parents=True)
    (root / "base.py").write_text(BASE)
    (root / "config.py").write_text(CONFIG)
    for number in range(loaders):
        folder = root / f"family_{number}" / "causal_lm" / FRAMEWORKS[number % 8 == 7]
        folder.mkdir(parents=True)
        (folder / "loader.py").write_text(loader_text(number, variants, number < language_models))
    return root


def measure(command: list[str], runs: int, env: dict[str, str], prepare=None) -> tuple[float, float, int, int]:
    """Best seconds of wall clock and of processor time, peak memory in bytes and lines printed."""
    best, best_cpu, peak, lines = float("inf"), float("inf"), 0, 0
    for _ in range(runs):
        if prepare:
            prepare()
        with tempfile.TemporaryFile() as out:
            begin = time.perf_counter()
            process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, env=env)
            _, status, usage = os.wait4(process.pid, 0)
            best = min(best, time.perf_counter() - begin)
            best_cpu = min(best_cpu, usage.ru_utime + usage.ru_stime)
            peak = max(peak, usage.ru_maxrss * 1024)
            if os.waitstatus_to_exitcode(status) not in (0, 4):
                sys.exit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
            out.seek(0)
            lines = sum(chunk.count(b"\n") for chunk in iter(lambda: out.read(1 << 20), b""))
    return best, best_cpu, peak, lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zoo", type=Path, help="a zoo to measure instead of the one made here")
    parser.add_argument("--config", type=Path, help="its test configuration")
    parser.add_argument("--bin", type=Path, default=ROOT / "build" / "bin")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--json", type=Path, help="write the figures there as well")
    options = parser.parse_args()
    cupel = options.bin / "cupel" if options.bin.is_dir() else options.bin
    with tempfile.TemporaryDirectory(prefix="cupel-bench-") as scratch:
        zoo = options.zoo.resolve() if options.zoo else make_zoo(Path(scratch) / "zoo", 400, 3, 20)
        # Fewer loaders with many variants: more items than the real zoo ever made of itself.
        large = make_zoo(Path(scratch) / "large", 24, 6, 24)
        env = os.environ | {"CUPEL_CACHE": str(Path(scratch) / "cache")}
        files = [path for path in zoo.rglob("loader.py") if path.parent.name in FRAMEWORKS]
        texts = [path.read_text(encoding="utf-8") for path in files]
        python = float("inf")
        for _ in range(max(2, options.runs // 2)):
            begin = time.perf_counter()
            for path in files:
                ast.parse(path.read_bytes(), str(path))
            python = min(python, time.perf_counter() - begin)
        common = [str(cupel), "list", "--format", "ids"]
        whole = [*common, "--zoo", str(zoo), *(["--config", str(options.config)] if options.config else [])]
        filtered = [*common, "--zoo", str(large), "-m", "red and tensor_parallel and inference"]
        rows = [("cold, no cache", *measure([*whole, "--no-cache"], options.runs, env), 0.400)]
        measure(whole, 1, env)
        rows.append(("warm", *measure(whole, options.runs, env), 0.040))
        rows.append(("warm, -k and -m", *measure([*whole, "-k", "not llama", "-m", "nightly or inference"], options.runs, env), 0.040))
        *_, items = measure([*common, "--zoo", str(large)], 1, env)
        rows.append((f"{items} items, -m", *measure(filtered, options.runs, env), 0.150))
        rows.append((f"{items} items, all printed", *measure([*common, "--zoo", str(large)], options.runs, env), 0.150))
    size = sum(len(text.encode()) for text in texts)
    print(f"{len(files)} loaders, {size / 1e6:.1f} MB; Python {sys.version.split()[0]} ast.parse: {python * 1e3:.0f} ms")
    print(f"{'cupel list':<28}{'wall':>10}{'cpu':>10}{'target':>10}{'memory':>10}{'tests':>9}  ast/cupel")
    within = True
    for name, wall, cpu, peak, lines, target in rows:
        print(f"{name:<28}{wall * 1e3:>7.1f} ms{cpu * 1e3:>7.1f} ms{target * 1e3:>7.0f} ms{peak / 1e6:>7.0f} MB{lines:>9}  {python / wall:>8.1f}")
        within &= wall <= target and peak < 150e6
    print("all within their targets" if within else "NOT all within their targets")
    if options.json:
        options.json.write_text(json.dumps({"python_ast_s": python, "loaders": len(files), "bytes": size, "rows": [
            dict(zip(("name", "wall_s", "cpu_s", "peak_bytes", "tests", "target_s"), row)) for row in rows]}, indent=2) + "\n")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
