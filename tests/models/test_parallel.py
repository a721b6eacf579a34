"""Models on several chips: what loaders say of meshes and shardings reaches the program, the pieces and the verdict."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from cupel._files import command_path, plugin_path
from cupel.torch.shardings import BadSpec, Mesh, Placement, axes_of, pieces
from cupel.worker import model
from cupel.worker.llm import Padding, Phase
from cupel.worker.parallel import Skipped, mesh_of, repeat, repeated, tensor_parallel

ZOO = Path(__file__).resolve().parent.parent.parent / "zoo/models"


def captured(path: str, folder: Path, **more: object) -> dict:
    # cupel-device, which judges here, has no reference to measure noise with: a bound is named.
    return model.run({"loader": str(ZOO / path / "pytorch/loader.py"), "folder": str(folder), "parallelism": "tensor_parallel",
                      "tolerance": {"pcc": 0.99}, **more}, lambda stage: None)


def on_device(folder: Path, **options: int) -> tuple[str, str]:
    given = [word for name, value in options.items() for word in ("--option", f"{name}={value}")]
    done = subprocess.run([command_path("cupel-device"), "run", "--plugin", plugin_path(), *given, "--", str(folder)], capture_output=True, text=True, check=False)
    return done.stdout.split("  ")[0].strip(), done.stdout + done.stderr


def text_of(folder: Path) -> str:
    return subprocess.run([command_path(), "opt", str(folder / "program.mlirbc")], capture_output=True, text=True, check=True).stdout


# --- meshes and pieces --------------------------------------------------------------------------------------------------------------------


def test_pieces_put_together_are_the_tensor() -> None:
    mesh = Mesh.of((2, 4), ("batch", "model"))
    tensor = torch.arange(8 * 12).reshape(8, 12)
    held = list(pieces(tensor, [["model"], ["batch"]], mesh))
    assert len(held) == 8 and all(piece.shape == (2, 6) for piece in held)
    rows = [torch.cat([held[model + 4 * batch] for batch in range(2)], 1) for model in range(4)]
    assert torch.equal(torch.cat(rows), tensor)
    both = list(pieces(tensor, [["batch", "model"], []], mesh))
    assert torch.equal(torch.cat(both), tensor), "the first axis is the major one"


def test_specs_are_checked() -> None:
    mesh = Mesh.of((1, 2), (None, "model"))
    assert mesh.axes == (("axis_0", 1), ("model", 2))
    assert axes_of((None, "model"), 3, mesh) == [[], ["model"], []]
    for spec, message in (((None, None, "model"), "rank 2"), (("colour",), "has no axis 'colour'"), (("model", "model"), "twice")):
        with pytest.raises(BadSpec, match=message):
            axes_of(spec, 2, mesh)
    with pytest.raises(BadSpec, match="two axes of one name"):
        Mesh.of((2, 2), ("model", "model"))
    layer = torch.nn.Linear(3, 4)
    placement = Placement(mesh)
    with pytest.raises(BadSpec, match="none of the model's"):
        placement.add_parameters(layer, {torch.nn.Parameter(torch.ones(2)): ("model",)})
    placement.add_parameters(layer, {layer.weight: (None, "model"), layer.bias: ("model",)})
    assert placement.uneven == ["weight: 3 over model"]
    assert placement.specs(["w", "b"], [layer.weight.detach(), layer.bias.detach()]) == [None, [["model"]]]


def test_batches_are_repeated_as_the_zoo_does() -> None:
    assert repeated(torch.tensor(3), 2).tolist() == [3, 3]
    assert repeated(torch.tensor([1, 2]), 2).tolist() == [[1, 2], [1, 2]]
    assert repeated(torch.tensor([[1], [2]]), 2).tolist() == [[1], [1], [2], [2]]
    assert repeated("text", 2) == "text"


def test_what_has_no_batch_is_repeated_otherwise_where_the_zoos_way_does_not_do() -> None:
    rows, lengths, table, cache = torch.ones(2, 3), torch.tensor([3, 1]), torch.ones(5, 3), torch.ones(2, 1, 4)
    zoos, all_rows, without_vectors = repeat((rows, lengths, {"table": table, "cache": [cache, None]}), {"step": torch.tensor(7)}, 2)
    assert (zoos.how, zoos.sizes) == ("", [(4, 3), (2, 2), (5, 3), (2, 1, 4), (2,)])
    assert all_rows.sizes == [(4, 3), (4,), (5, 3), (4, 1, 4), ()] and all_rows.args[1].tolist() == [3, 3, 1, 1]
    assert [name for name, _ in all_rows.rows] == ["0", "1", "2.cache.0"]
    assert without_vectors.sizes == [(4, 3), (2,), (5, 3), (4, 1, 4), ()]
    # A batch on top alone leaves nothing to try.
    assert len(repeat((rows, "text"), {"mask": torch.ones(2, 3)}, 2)) == 1
    assert len(repeat(("text",), {}, 2)) == 1


BATCHES = """
import torch
from ...base import ForgeModel
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask

class Reader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x, kept, lengths, step):
        assert x.shape[0] == kept["rows"].shape[0] == lengths.shape[0] and step.dim() == 0, "these are no batch"
        return self.layer(x) * kept["rows"] * lengths.to(x.dtype)[:, None] + step

class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo("Reader", variant, ModelGroup.GENERALITY, ModelTask.CV_IMAGE_CLS, ModelSource.CUSTOM, Framework.TORCH)

    def build(self):
        return Reader()

    def make_inputs(self, batch_size, generator):
        return {"x": torch.randn(2, 4, generator=generator), "kept": {"rows": torch.randn(2, 4, generator=generator)}, "lengths": torch.tensor([3, 1]), "step": torch.tensor(SIZE)}
"""


@pytest.mark.parametrize("run_mode", ["inference", "training"])
def test_a_batch_that_lies_deeper_is_split_too(run_mode: str, tmp_path: Path) -> None:
    zoo = tmp_path / "zoo"
    loader = zoo / "reader/pytorch/loader.py"
    loader.parent.mkdir(parents=True)
    for name in ("__init__.py", "base.py", "config.py"):
        (zoo / name).write_text((ZOO / name).read_text())
    loader.write_text(BATCHES.replace("SIZE", "2"))
    request = {"loader": str(loader), "zoo": str(zoo), "folder": str(tmp_path / "w"), "parallelism": "data_parallel", "chips": 2, "run_mode": run_mode, "tolerance": {"pcc": 0.99}}
    answer = model.run(request, lambda stage: None)
    assert "capture" in answer, answer["message"]
    assert "3 of " in answer["model"]["mesh"] and "every tensor that has 2 of them" in answer["model"]["repeated"] and "these are no batch" in answer["model"]["repeated"]
    verdict, report = on_device(tmp_path / "w", num_devices=2)
    assert verdict == "passed", report
    # Each way loads the model anew: none is begun that the test's time might not last for.
    slow = loader.read_text().replace("return Reader()", "import time; time.sleep(0.5); return Reader()")
    loader.write_text(slow)
    answer = model.run({**request, "seconds": 1.5}, lambda stage: None)
    assert (answer["outcome"], answer["error_class"]) == ("failed", "golden_error") and "no time was left to load it once more" in answer["message"], answer
    assert "repeated" not in answer["model"], answer
    # Where no way does, the zoo's is told, and that it is our doing.
    loader.write_text(BATCHES.replace("SIZE", "[2, 3]"))
    answer = model.run(request, lambda stage: None)
    assert (answer["outcome"], answer["error_class"]) == ("failed", "golden_error") and "with its arguments repeated for each chip" in answer["message"]


READER = """
import torch
from ...base import ForgeModel
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask

class Reader(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        BODY

class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant=None):
        return ModelInfo("Reader", variant, ModelGroup.GENERALITY, ModelTask.CV_IMAGE_CLS, ModelSource.CUSTOM, Framework.TORCH)

    def build(self):
        return Reader()

    def make_inputs(self, batch_size, generator):
        return {"x": INPUT}
"""


def reader(zoo: Path, body: str, given: str) -> Path:
    loader = zoo / "reader/pytorch/loader.py"
    loader.parent.mkdir(parents=True)
    for name in ("__init__.py", "base.py", "config.py"):
        (zoo / name).write_text((ZOO / name).read_text())
    loader.write_text(READER.replace("BODY", body).replace("INPUT", given))
    return loader


BRANCHES = "y = self.layer(x)\n        return y * 2 if y.sum().item() > 0 else y + 1"


@pytest.mark.parametrize("run_mode", ["inference", "training"])
def test_graphs_of_torch_compile_are_split_too(run_mode: str, tmp_path: Path) -> None:
    """They take copies of arguments by names of their own, and what graphs before them gave."""
    loader = reader(tmp_path / "zoo", BRANCHES, "torch.randn(3, 4, generator=generator)")
    answer = model.run({"loader": str(loader), "zoo": str(tmp_path / "zoo"), "folder": str(tmp_path / "w"), "parallelism": "data_parallel", "chips": 2, "run_mode": run_mode, "tolerance": {"pcc": 0.99}}, lambda stage: None)
    assert answer["capture"]["method"] == "compile" and answer["capture"]["graphs"] >= 2, answer
    assert answer["model"]["mesh"] == f"model=1 x data=2; {2 if run_mode == 'inference' else 5} of {4 if run_mode == 'inference' else 8} inputs split", answer["model"]["mesh"]
    assert "untested" not in answer["capture"]
    for graph in answer["capture"]["workloads"]:
        verdict, report = on_device(Path(graph["folder"]), num_devices=2)
        assert verdict == "passed", report


def test_arguments_that_all_lie_deeper_are_repeated(tmp_path: Path) -> None:
    """The zoo's way repeats none of them, so that the model does not fail with it: nothing would be split."""
    loader = reader(tmp_path / "zoo", "return self.layer(x[0]) + x[1]", "[torch.randn(2, 4, generator=generator) for _ in range(2)]")
    answer = model.run({"loader": str(loader), "zoo": str(tmp_path / "zoo"), "folder": str(tmp_path / "w"), "parallelism": "data_parallel", "chips": 2, "tolerance": {"pcc": 0.99}}, lambda stage: None)
    assert answer["model"]["mesh"].endswith("2 of 4 inputs split") and "the zoo's own way finds no tensor on top" in answer["model"]["repeated"], answer["model"]


def test_a_test_of_several_chips_that_splits_nothing_is_unjudged(tmp_path: Path) -> None:
    """Each chip computed all of it, as one does alone: that is right, and says nothing of data parallelism. What is wrong then is wrong."""
    reader(tmp_path / "zoo", "return self.layer(torch.tensor([[float(len(word)) for word in x]], dtype=self.layer.weight.dtype))", '["a", "bb", "c", "dddd"]')
    other = reader(tmp_path / "other", BRANCHES, "torch.randn(3, 4, generator=generator)")
    report = tmp_path / "run.json"

    def ran(zoo: Path, *arguments: str) -> tuple[int, dict]:
        done = subprocess.run([command_path(), "run", "--zoo", str(zoo), f"models::{other.parent.parent.name}/pytorch-data_parallel-inference", "--arch", "n300", "--python", sys.executable,
                               "--results", str(tmp_path / "results"), "--json", str(report), "-j1", *arguments], capture_output=True, text=True, check=False, timeout=300)
        assert report.exists(), done.stdout + done.stderr
        return done.returncode, next(iter(json.loads(report.read_text())["tests"]))

    code, test = ran(tmp_path / "zoo", "--device", "cupel")
    assert (test["outcome"], code) == ("unjudged", 1) and test["message"].startswith("nothing of it is split over 2 chips"), test
    assert test["comparisons"] and all(one["passed"] for one in test["comparisons"]), test
    planter = Path(plugin_path()).parent / "operation_planter.so"
    code, test = ran(tmp_path / "zoo", "--device", f"{planter}?num_devices=2&op=stablehlo.dot_general&effect=negate")
    assert (test["outcome"], code) == ("failed", 1), test
    assert ran(tmp_path / "other", "--device", "cupel")[1]["outcome"] == "passed"


def test_a_loader_without_a_mesh_is_skipped_with_its_reason(tmp_path: Path) -> None:
    class Loader:
        def get_mesh_config(self, num_devices: int) -> tuple:
            return ((4, 8), ("batch", "model")) if num_devices else (None, ())

    with pytest.raises(Skipped, match="needs 32 devices, and there are 8"):
        mesh_of(Loader(), 8)
    answer = captured("cnn", tmp_path / "w", chips=2)
    assert (answer["outcome"], answer["message"]) == ("skipped", "the loader names no mesh for 2 devices")
    answer = captured("moe/causal_lm", tmp_path / "w", chips=32)
    assert answer["outcome"] == "skipped" and "four experts cannot be split over 32 devices" in answer["message"]
    answer = captured("llama/causal_lm", tmp_path / "w", chips=1)
    assert answer["outcome"] == "not run" and "several chips, and this one has 1" in answer["message"]
    answer = captured("llama/causal_lm", tmp_path / "w", chips=0)
    assert answer["outcome"] == "not run" and "nobody knows how many this one has: --device cupel with an --arch" in answer["message"]


# --- whole models -------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("path", "more", "split", "mesh"), [
    ("llama/causal_lm", {"chips": 2}, 10, '"batch"=1, "model"=2'),
    ("moe/causal_lm", {"chips": 8}, 2, '"batch"=2, "model"=4'),
    ("cnn", {"chips": 8, "parallelism": "data_parallel"}, 1, '"model"=1, "data"=8'),
    ("llama/causal_lm", {"chips": 8, "run_mode": "training"}, 10, '"batch"=1, "model"=8'),
])
def test_a_model_is_split_and_passes(path: str, more: dict, split: int, mesh: str, tmp_path: Path) -> None:
    answer = captured(path, tmp_path / "w", **more)
    assert "capture" in answer, answer["message"]
    text = text_of(tmp_path / "w")
    assert f"sdy.mesh @mesh = <[{mesh}]>" in text
    arguments = text[text.index("@main("):text.index(") -> (")]
    assert sum('{"' in one for one in arguments.split("%arg")) == split
    assert ("sdy.sharding_constraint" in text) == (path == "moe/causal_lm") and "cupel.sharding_constraint" not in text
    verdict, report = on_device(tmp_path / "w", num_devices=more["chips"])
    assert verdict == "passed", report


def test_each_chip_has_its_own_memory(tmp_path: Path) -> None:
    """What does not fit on one chip does on eight, and not where it is whole on each."""
    sizes = {}
    for chips, parallelism in ((1, "single_device"), (8, "tensor_parallel"), (8, "data_parallel")):
        folder = tmp_path / parallelism
        assert "capture" in captured("vit/image_classification", folder, variant="small", chips=chips, parallelism=parallelism)
        fits = [limit for limit in (128 << 10, 256 << 10, 512 << 10, 1 << 20) if on_device(folder, num_devices=chips, memory_limit=limit)[0] == "passed"]
        assert fits, f"{parallelism} fits nowhere"
        sizes[parallelism] = min(fits)
    assert sizes["tensor_parallel"] < sizes["single_device"] <= sizes["data_parallel"], sizes


def test_weights_that_are_whole_are_kept_once(tmp_path: Path) -> None:
    sizes = []
    for chips in (2, 8):
        captured("cnn", tmp_path / str(chips), chips=chips, parallelism="data_parallel", dtype="float32")
        sizes.append((tmp_path / str(chips) / "inputs.safetensors").stat().st_size)
    assert sizes[1] - sizes[0] < 6 * 4 * 3 * 32 * 32 + 4096, "six more pictures, and no more weights"


# --- language models ----------------------------------------------------------------------------------------------------------------------


def phase(name: str, sharding: str = "single_device", mesh: str = "mesh_default", length: int = 128, batch: int = 1, run_mode: str = "inference") -> Phase:
    return Phase(name, sharding, mesh, length, batch, run_mode)


def test_so_many_combinations_are_tests() -> None:
    shardings = ["single_device", "tensor_parallel", *(f"{kind}-{dp}-tensor_parallel" for kind in ("megatron", "fsdp") for dp in ("no_dp", "dp"))]
    meshes = ["mesh_default", "mesh_1x4", "mesh_2x2", "mesh_1x8", "mesh_2x4", "mesh_4x8"]

    def tests(name: str, lengths: list[int], batches: list[int]) -> int:
        return sum(not phase(name, s, m, n, b, r).why_skipped() for s in shardings for m in meshes for n in lengths for b in batches for r in ("inference", "training"))

    assert tests("llm_decode", [1, 128], [1, 4]) == 2
    assert tests("llm_prefill", [1, 128, 1024, 2048, 4096, 8192], [1, 4]) == 300


def test_a_combination_that_is_none_says_why() -> None:
    for made, why in ((phase("llm_prefill", "fsdp-dp-tensor_parallel"), "fsdp needs a mesh"),
                      (phase("llm_prefill", mesh="mesh_2x4"), "takes the loader's mesh"),
                      (phase("llm_prefill", "fsdp-no_dp-tensor_parallel", "mesh_1x8"), "megatron without data parallelism"),
                      (phase("llm_decode", run_mode="training", length=1), "decode is inference"),
                      (phase("llm_decode", "megatron-no_dp-tensor_parallel", "mesh_1x4", 1), "takes no strategy"),
                      (phase("llm_prefill", "tensor_parallel"), "take strategies")):
        assert why in made.why_skipped()
    assert phase("llm_prefill", "megatron-dp-tensor_parallel", "mesh_2x4", batch=4).rows == 8


def test_padding_does_not_count() -> None:
    mask = torch.tensor([[0, 1, 1], [1, 1, 1]])
    padding = Padding.of({"attention_mask": mask})
    assert padding and str(padding) == "1 of 6 positions left out"
    logits, keys = torch.randn(2, 3, 5), torch.randn(2, 4, 3, 7)
    assert torch.equal(padding.left_out(logits), logits[mask.bool()])
    assert torch.equal(padding.left_out(keys), keys.movedim(2, 1)[mask.bool()])
    assert padding.left_out(torch.ones(2, 3)).shape == (2, 3)
    assert Padding.of({"attention_mask": torch.ones(2, 3)}) is None and Padding.of([mask]) is None


@pytest.mark.parametrize(("how", "chips", "split"), [
    ({"sharding": "fsdp-dp-tensor_parallel", "mesh": "mesh_2x4", "llm_batch_size": 4}, 8, 13),
    ({"sharding": "megatron-no_dp-tensor_parallel", "mesh": "mesh_1x8", "llm_batch_size": 1}, 8, 10),
])
def test_prefill_by_a_strategy(how: dict, chips: int, split: int, tmp_path: Path) -> None:
    answer = captured("llama/causal_lm", tmp_path / "w", chips=chips, variant="prefill", llm={"phase": "llm_prefill", "sequence_length": 128, **how})
    assert "capture" in answer, answer["message"]
    rows = how["llm_batch_size"] * (2 if "-dp-" in how["sharding"] and "no_dp" not in how["sharding"] else 1)
    assert f"int64[{rows}x128]" in answer["model"]["inputs"] and "left out" in answer["model"]["padding"]
    assert f"{split} of " in answer["model"]["mesh"] and how["sharding"].split("-")[0] in answer["model"]["mesh"]
    options = json.loads((tmp_path / "w/options.json").read_text())
    assert (options["partitions"], options["use_shardy"]) == (chips, True)
    verdict, report = on_device(tmp_path / "w", num_devices=chips)
    assert verdict == "passed", report


def test_decode_takes_the_loaders_own_inputs(tmp_path: Path) -> None:
    answer = captured("llama/causal_lm", tmp_path / "w", chips=2, variant="prefill", llm={"phase": "llm_decode", "sharding": "tensor_parallel", "mesh": "mesh_default",
                                                                                        "sequence_length": 1, "llm_batch_size": 1})
    assert "past_key_values: Cache" in answer["model"]["inputs"], answer["message"]
    assert on_device(tmp_path / "w", num_devices=2)[0] == "passed"
    skipped = captured("llama/causal_lm", tmp_path / "w", chips=2, run_mode="training", llm={"phase": "llm_decode", "sharding": "tensor_parallel", "mesh": "mesh_default", "llm_batch_size": 1})
    assert (skipped["outcome"], skipped["message"]) == ("skipped", "decode is inference")


@pytest.mark.parametrize(("spec", "llm", "said"), [
    ("    load_shard_spec = None\n", {}, "it has no load_shard_spec"),
    ("    def load_shard_spec(self, model):\n        return {}\n", {"phase": "llm_prefill", "sharding": "megatron-no_dp-tensor_parallel", "mesh": "mesh_1x4", "sequence_length": 128,
                                                                    "llm_batch_size": 1}, "its load_shard_spec takes no strategy and no batch_axis"),
])
def test_a_loader_that_splits_nothing_has_no_such_test(tmp_path: Path, spec: str, llm: dict[str, object], said: str) -> None:
    """That is no error of the loader's: it is told before a model is loaded, with what can be run."""
    for name in ("base.py", "config.py"):
        (tmp_path / name).write_text((ZOO / name).read_text())
    folder = tmp_path / "plain/pytorch"
    folder.mkdir(parents=True)
    (folder / "loader.py").write_text(
        "from ...base import ForgeModel\nfrom ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask\n\n\nclass ModelLoader(ForgeModel):\n"
        "    @classmethod\n    def _get_model_info(cls, variant=None):\n"
        "        return ModelInfo(model='plain', variant=variant, group=ModelGroup.GENERALITY, task=ModelTask.CV_IMAGE_CLS, source=ModelSource.CUSTOM, framework=Framework.TORCH)\n\n"
        "    def build(self): ...\n\n    def make_inputs(self, batch_size, generator): ...\n\n"
        "    def load_model(self, dtype_override=None):\n        raise AssertionError('nobody asks for it')\n\n"
        "    def load_inputs(self, dtype_override=None):\n        raise AssertionError('nobody asks for it')\n\n" + spec + "\n\nclass ModelLoaderPrefill(ModelLoader):\n    pass\n")
    answer = model.run({"loader": str(folder / "loader.py"), "folder": str(tmp_path / "w"), "parallelism": "tensor_parallel", "chips": 4, "llm": llm}, lambda stage: None)
    assert (answer["outcome"], answer["error_class"]) == ("not run", ""), answer
    assert said in answer["message"] and "single_device and data_parallel need none" in answer["message"], answer["message"]


def test_a_strategy_that_a_loader_does_not_implement_is_skipped_with_its_words() -> None:
    class Plain:
        def load_shard_spec(self, model: torch.nn.Module, strategy: str, batch_axis: str) -> None:
            raise NotImplementedError("Plain must implement load_shard_spec")

    with pytest.raises(Skipped, match="by fsdp: Plain must implement load_shard_spec"):
        tensor_parallel(Plain(), torch.nn.Linear(2, 2), Mesh.of((2, 2), ("batch", "model")), strategy="fsdp", batch_axis="batch")
