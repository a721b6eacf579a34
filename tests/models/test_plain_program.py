"""Programs that are written directly are those that torch's own serializer writes; what is not plain is torch's to write."""

from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from test_recorded import Loader, Network, golden_of
from torch import nn
from torch._export.serde import serialize as serde

from cupel.torch import captured, program
from cupel.torch.captured import capture
from cupel.torch.plain_program import NotPlain, plain_program
from cupel.torch.program import make_program, serialized_by_torch
from cupel.worker.model_golden import golden_training


class Mixed(nn.Module):
    """Arguments of every kind that calls of models have: lists of tensors with and without holes, flags, types, words, numbers that are not finite, several results of which some are unused."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GELU(approximate="tanh"))
        self.head = nn.Linear(8, 4)

    def forward(self, image: torch.Tensor, ids: torch.Tensor) -> list[torch.Tensor]:
        x = self.layers(image)
        first, _, last = x.split([2, 2, 4], 1)
        values, places = first.flatten(1).topk(3)
        x = torch.cat([first, last], 1).to(torch.float32, memory_format=torch.channels_last)
        masked = x.masked_fill(x < 0, float("-inf")).amax((2, 3))
        picked = x[:, ids, :, ids].sum() + torch.zeros([], dtype=x.dtype)
        wide = nn.functional.interpolate(image, scale_factor=2.0, mode="bilinear")
        return [self.head(x.mean((2, 3)).repeat(1, 2)[:, :8]), values, places, masked, picked, wide, torch.arange(4).unsqueeze(0).expand(2, 4)]


def normal(document: dict[str, Any]) -> Any:
    return json.loads(json.dumps(document, cls=serde.EnumEncoder, allow_nan=False))


def compared(monkeypatch: pytest.MonkeyPatch) -> list[torch.fx.Graph]:
    """The graphs that are written from now on, each of which was compared."""
    seen: list[torch.fx.Graph] = []

    def both(graph: torch.fx.Graph) -> dict[str, Any]:
        ours = plain_program(graph)
        assert normal(ours) == normal(serialized_by_torch(torch.fx.GraphModule({}, graph), graph))
        seen.append(graph)
        return ours

    monkeypatch.setattr(program, "plain_program", both)
    return seen


def test_it_is_what_torch_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    seen = compared(monkeypatch)
    for model, given in ((Network(), (torch.arange(10).reshape(2, 5),)), (Mixed(), (torch.randn(2, 3, 8, 8), torch.tensor([0, 1]))),
                         (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (torch.randn(2, 5, 8),))):
        golden = golden_of(model, *given)
        assert capture(golden.flat, golden.expected, 0).graphs[0].not_recorded == ""
    assert len(seen) == 3


def test_steps_of_training_too(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    seen = compared(monkeypatch)
    golden = golden_training(Loader, nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.5), nn.Linear(144, 3)).train(), (torch.randn(2, 3, 8, 8),), {}, 0)
    assert golden.capture is not None and golden.capture().graphs[0].not_recorded == "" and len(seen) == 1


def test_torchs_serializer_is_not_asked_for_a_plain_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "serialized_by_torch", lambda *_: pytest.fail("it is slow"))
    golden = golden_of(nn.Linear(3, 4), torch.randn(2, 3))
    module, _ = captured.recorded(golden.flat, [tensor for _, tensor in golden.flat.inputs], {}, captured.draws)
    assert b"torch.ops.aten.linear.default" in make_program(module).text


def test_what_is_not_plain_is_torchs() -> None:
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    fake = torch._subclasses.FakeTensorMode(shape_env=ShapeEnv())
    given = fake.from_tensor(torch.randn(3, 4), static_shapes=False)
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    x.meta["val"] = given
    size = graph.call_function(torch.ops.aten.sym_size.int, (x, 0))
    size.meta["val"] = given.shape[0]
    zeros = graph.call_function(torch.ops.aten.full.default, ([size, 2], 1.0))
    with fake:
        zeros.meta["val"] = torch.full([given.shape[0], 2], 1.0)
    graph.output((zeros,))
    with pytest.raises(NotPlain):
        plain_program(graph)
    assert "as_sym_int" in make_program(torch.fx.GraphModule({}, graph)).text.decode()
