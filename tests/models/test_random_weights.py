"""`--weights=random`: architectures from their configurations with seeded weights, fewer layers, and a record that says so."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest
import torch

from cupel.worker.model import Request, make_test

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LOADER = '''
from tt_forge_models.base import ForgeModel
from tt_forge_models.config import *
import torch
{imports}
class ModelLoader(ForgeModel):
    def __init__(self, variant=None, num_layers=None):
        super().__init__(variant)
        self.num_layers = num_layers
    @classmethod
    def _get_model_info(cls, variant=None): return ModelInfo("Made", variant, ModelGroup.GENERALITY, ModelTask.ATOMIC_ML, ModelSource.CUSTOM, Framework.TORCH)
    def build(self): pass
    def make_inputs(self, batch_size, generator): pass
    def load_model(self, *, dtype_override=None): return {model}
    def load_inputs(self, dtype_override=None): return {inputs}
'''
CONFIG = {"model_type": "bert", "architectures": ["BertForMaskedLM"], "hidden_size": 16, "num_attention_heads": 2, "num_hidden_layers": 3, "intermediate_size": 32, "vocab_size": 50,
          "max_position_embeddings": 32}


def need(library: str) -> None:
    """Skips where the library is not here, or cannot be used beside this torch."""
    try:
        __import__(library)
    except Exception as error:
        pytest.skip(f"{library}: {error}")


def make(zoo: pathlib.Path, imports: str, model: str, inputs: str, **request: object) -> tuple[dict, torch.nn.Module | None]:
    folder = zoo / "made/pytorch"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("__init__.py", "base.py", "config.py"):
        (zoo / name).write_bytes((ROOT / "zoo/models" / name).read_bytes())
    (folder / "loader.py").write_text(LOADER.format(imports=imports, model=model, inputs=inputs))
    test = make_test(Request(loader=str(folder / "loader.py"), folder=str(zoo / "out"), **request), lambda stage: None)  # type: ignore[arg-type]
    loaded: list[torch.nn.Module] = []
    original = test._load

    def kept() -> tuple:
        result = original()
        loaded.append(result[1])
        return result

    test._load = kept  # type: ignore[method-assign]
    return test.run(), loaded[0] if loaded else None


@pytest.fixture
def published(tmp_path: pathlib.Path) -> pathlib.Path:
    """A model as a hub has it, without its weights."""
    (tmp_path / "hub").mkdir()
    (tmp_path / "hub/config.json").write_text(json.dumps(CONFIG))
    return tmp_path / "hub"


@pytest.mark.parametrize(("owner", "origin"), [("BertForMaskedLM", "its configuration"), ("AutoModelForMaskedLM", "the configuration it is given")])
def test_transformers_build_from_the_configuration(tmp_path: pathlib.Path, published: pathlib.Path, owner: str, origin: str) -> None:
    need("transformers")
    words = (f"from transformers import {owner}", f"{owner}.from_pretrained({str(published)!r}, torch_dtype=dtype_override)", "{'input_ids': torch.arange(8)[None]}")
    answer, _ = make(tmp_path, *words)
    assert answer["error_class"] == "loader_model" and "weights" not in answer["model"], answer  # There are none.
    answer, first = make(tmp_path, *words, weights="random", layers=2)
    assert "capture" in answer, answer
    assert f"BertForMaskedLM '{published}' from {origin}" in answer["model"]["weights"] and "BertForMaskedLM has 2 of 3 layers" in answer["model"]["weights"], answer["model"]
    assert len(first.bert.encoder.layer) == 2 and first.dtype == torch.bfloat16
    _, second = make(tmp_path, *words, weights="random", layers=2)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))
    from transformers import PreTrainedModel

    assert "random" not in PreTrainedModel.from_pretrained.__func__.__module__  # Put back.


def test_an_unknown_configuration_is_told(tmp_path: pathlib.Path) -> None:
    need("transformers")
    missing = tmp_path / "nowhere"
    inputs = "{'input_ids': torch.arange(8)[None]}"
    known, model = make(tmp_path, "from transformers import BertForMaskedLM", f"BertForMaskedLM.from_pretrained({str(missing)!r}, hidden_size=24, num_attention_heads=2, intermediate_size=32)",
                        inputs, weights="random", layers=1)
    assert "the defaults of BertConfig, since its configuration cannot be had" in known["model"]["weights"] and model.config.hidden_size == 24, known
    unknown, _ = make(tmp_path, "from transformers import AutoModel", f"AutoModel.from_pretrained({str(missing)!r})", inputs, weights="random")
    assert unknown["error_class"] == "loader_model" and unknown["outcome"] == "failed", unknown
    assert "its configuration has to be there" in unknown["model"]["weights"], unknown


def test_timm_draws_its_own(tmp_path: pathlib.Path) -> None:
    need("timm")
    answer, _ = make(tmp_path, "import timm", "timm.create_model('resnet10t', pretrained=True)", "torch.ones(1, 3, 32, 32)", weights="random", dtype="none")
    assert "capture" in answer and "timm 'resnet10t' from its configuration" in answer["model"]["weights"], answer


STAND_IN = """
import torch

class Blocks(torch.nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.blocks = torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(depth)])

    def forward(self, x):
        return self.blocks(x)

def create_model(model_name, pretrained=False, **given):
    assert not pretrained, "there is no network"
    return Blocks(**({"depth": 3} | given)) if "vit" in model_name else torch.nn.Linear(4, 4, **given)
"""


@pytest.mark.parametrize(("name", "layers", "kept", "told"), [
    ("vit", 2, 2, "timm 'vit' has 2 of 3 layers (depth)"), ("vit", 5, 3, ""), ("vit", 0, 3, ""), ("conv", 2, 0, "timm 'conv' has all its layers: nothing in its configuration says how many")])
def test_layers_of_timm_are_fewer_or_told(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, name: str, layers: int, kept: int, told: str) -> None:
    """Also where the loader has imported the function by its name."""
    (tmp_path / "library").mkdir()
    (tmp_path / "library/timm.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path / "library")
    monkeypatch.delitem(sys.modules, "timm", raising=False)
    answer, model = make(tmp_path, "from timm import create_model", f"create_model({name!r}, pretrained=True)", "torch.ones(1, 4)", weights="random", layers=layers, dtype="none")
    monkeypatch.delitem(sys.modules, "timm", raising=False)
    note = answer["model"]["weights"]
    assert "capture" in answer and f"timm '{name}' from its configuration" in note and len(getattr(model, "blocks", ())) == kept, answer
    assert told in note and ("layers" in note) == bool(told), note


def test_what_cannot_be_built_says_what_is_missing(tmp_path: pathlib.Path) -> None:
    answer, _ = make(tmp_path, "", "torch.load('/nowhere/weights.pt')", "torch.ones(1, 4)", weights="random", dtype="none")
    assert answer["error_class"] == "loader_model" and "no model was built in place of it" in answer["model"]["weights"], answer


def test_a_library_that_is_broken_stops_those_who_need_it_alone(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library/diffusers.py").write_text("raise RuntimeError('built for another torch')\n")
    monkeypatch.syspath_prepend(tmp_path / "library")
    answer, _ = make(tmp_path, "# Much like those of diffusers.", "torch.nn.Linear(4, 4)", "torch.ones(1, 4)", weights="random", dtype="none")
    assert "capture" in answer and "diffusers cannot be imported (RuntimeError: built for another torch)" in answer["model"]["weights"], answer


def test_torchvision_draws_its_own(tmp_path: pathlib.Path) -> None:
    need("torchvision")
    words = ("from torchvision import models", "models.squeezenet1_1(weights=models.SqueezeNet1_1_Weights.DEFAULT)", "torch.ones(1, 3, 64, 64)")
    answer, first = make(tmp_path, *words, weights="random", dtype="none")
    assert "capture" in answer and "torchvision 'SqueezeNet1_1_Weights.IMAGENET1K_V1' from its configuration" in answer["model"]["weights"], answer
    _, second = make(tmp_path, *words, weights="random", dtype="none")
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


def test_a_model_without_pretrained_weights_says_so(tmp_path: pathlib.Path) -> None:
    answer, model = make(tmp_path, "", "torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(self.num_layers or 3)])", "torch.ones(1, 4)", weights="random", layers=2, dtype="none")
    assert answer["model"]["weights"] == "the loader's own: nothing in it took pretrained weights" and len(model) == 2, answer


def test_a_run_says_so_in_its_record(tmp_path: pathlib.Path) -> None:
    from test_run import CNN, run

    code, printed, records = run(tmp_path, "--zoo", ROOT / "zoo/models", f"models::{CNN}", "--weights", "random", "--layers", "1")
    assert code == 0 and records[CNN]["notes"]["weights"].startswith("the loader's own"), printed
