"""What training goes back from where a zoo's registry of output classes has no handler: the fewest tensors that reach every parameter."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections import OrderedDict
from typing import Any

import pytest
import torch
import transformers
from torch import nn
from transformers.utils import ModelOutput

from cupel.worker.loaders import LoaderError
from cupel.worker.model_golden import export_training, golden_training
from cupel.worker.training_output import TrainingOutput, chosen_paths, joined


class Registry:
    """A loader that has the zoo's own method, and no handler for what this model gives."""

    @staticmethod
    def unpack_forward_output(output: Any) -> torch.Tensor:
        if isinstance(output, torch.Tensor):
            return output
        raise ValueError(f"No handler for class {type(output).__name__} exists in `unpack_forward_output`. Register a handler.")


@dataclasses.dataclass
class Detection(ModelOutput):
    loss: torch.Tensor | None = None
    boxes: torch.Tensor | None = None
    logits: torch.Tensor | None = None
    indices: torch.Tensor | None = None
    hidden: tuple[torch.Tensor, ...] | None = None


def test_one_tensor_that_reaches_all_is_taken() -> None:
    early, late = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
    hidden = early * 2
    result = Detection(boxes=hidden + 0, logits=hidden * late, indices=torch.arange(3), hidden=(hidden, hidden * late))
    assert chosen_paths(result) == ["logits"], "the hidden one lies deeper, the boxes miss a parameter, indices have no gradient"
    unpack = TrainingOutput(Registry())
    assert unpack(result) is result.logits
    assert "logits of a Detection" in unpack.note
    assert unpack(Detection(boxes=hidden, logits=hidden * late * 3)).tolist() == [6.0, 6.0, 6.0], "what follows is taken alike"


def test_heads_of_which_none_reaches_all_are_taken_as_one() -> None:
    body, masks, classes = (nn.Parameter(torch.full((2,), value)) for value in (1.0, 2.0, 3.0))
    result = [{"masks": (body * masks).reshape(2, 1)}, {"classes": body * classes}, None, "a text"]
    assert chosen_paths(result) == ["0.masks", "1.classes"]
    output = TrainingOutput(Registry())(result)
    assert output.tolist() == [2.0, 2.0, 3.0, 3.0]
    output.sum().backward()
    assert all(one.grad is not None for one in (body, masks, classes))


def test_a_loss_counts_only_where_nothing_else_has_a_gradient() -> None:
    weight, scale = nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(1))
    logits = weight * 3
    assert chosen_paths(Detection(loss=(logits * scale).sum(), logits=logits)) == ["logits"]
    assert chosen_paths(Detection(loss=logits.sum(), logits=logits.detach())) == ["loss"]


def test_equal_tensors_are_taken_in_the_order_of_their_fields() -> None:
    image, text = nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.ones(4, 3))
    assert chosen_paths(OrderedDict(logits_per_image=image @ text.T, logits_per_text=text @ image.T)) == ["logits_per_image"]


def test_what_loaders_say_themselves_counts() -> None:
    class Own:
        @staticmethod
        def unpack_forward_output(output: Any) -> torch.Tensor:
            return output["second"]

    class Broken:
        @staticmethod
        def unpack_forward_output(output: Any) -> torch.Tensor:
            raise ValueError("this model has no output of that name")

    weight = nn.Parameter(torch.ones(2))
    result = {"first": weight * 2, "second": weight.detach() * 5}
    unpack = TrainingOutput(Own())
    assert unpack(result) is result["second"] and not unpack.note and not unpack.paths
    with pytest.raises(LoaderError, match="unpack_forward_output fails on a dict: ValueError: this model has no output of that name"):
        TrainingOutput(Broken())(result)


def test_results_without_a_gradient_are_told() -> None:
    with pytest.raises(LoaderError, match=r"fails on a Detection.*no tensor in it depends on a parameter that wants a gradient") as raised:
        TrainingOutput(Registry())(Detection(logits=torch.ones(3), indices=torch.arange(3)))
    assert raised.value.kind == "no_output"


class Heads(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.body, self.boxes, self.classes = nn.Linear(4, 4), nn.Linear(4, 2), nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> Detection:
        hidden = self.body(x).relu()
        return Detection(boxes=self.boxes(hidden), logits=self.classes(hidden), indices=hidden.argmax(-1))


def test_golden_graph_and_remembered_graph_go_back_from_the_same() -> None:
    model, given = Heads().train(), torch.ones(2, 4)
    golden = golden_training(Registry(), model, (given,), {}, seed=0)
    assert golden.result_names == [*dict(model.named_parameters()), "output"], "every parameter has a gradient"
    assert golden.output_paths == ["boxes", "logits"]
    assert golden.expected[-1].shape == (2 * 2 + 2 * 3,)
    assert "taken as one" in golden.facts["training_output"]
    assert golden.capture is not None
    captured = golden.capture()
    assert captured.method == "export", captured.refusal
    assert golden.gradient is not None
    again = export_training(Registry(), model, (given,), {}, golden.gradient, golden.result_names[:-1], 0, output_paths=golden.output_paths)
    assert again.program.text == captured.graphs[0].program.text


def _output_classes() -> list[type[ModelOutput]]:
    """Every class of outputs that the installed transformers defines."""
    for folder in pkgutil.iter_modules(transformers.models.__path__, "transformers.models."):
        for module in pkgutil.iter_modules([f"{transformers.models.__path__[0]}/{folder.name.rsplit('.', 1)[-1]}"], folder.name + "."):
            if ".modeling_" in module.name:
                try:
                    importlib.import_module(module.name)
                except ImportError:  # Of a library that is not here.
                    continue
    found: list[type[ModelOutput]] = []
    waiting = [ModelOutput]
    while waiting:
        for one in waiting.pop().__subclasses__():
            waiting.append(one)
            if one.__module__.startswith("transformers.") and dataclasses.is_dataclass(one) and one not in found:
                found.append(one)
    return found


def test_every_class_of_outputs_of_transformers_is_served() -> None:
    classes = _output_classes()
    assert len(classes) > 300, len(classes)
    for kind in classes:
        fields = [field.name for field in dataclasses.fields(kind)]
        body = nn.Parameter(torch.ones(2))
        heads = {name: nn.Parameter(torch.full((2,), float(i + 2))) for i, name in enumerate(fields)}
        result = kind(**{name: body * head for name, head in heads.items()})
        paths = chosen_paths(result)
        others = [name for name in fields if not name.endswith("loss")] or fields
        assert sorted(paths) == sorted(others), kind
        joined(result, paths).sum().backward()
        assert body.grad is not None and all(heads[name].grad is not None for name in others), kind
