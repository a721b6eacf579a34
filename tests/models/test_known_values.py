"""What integers of a model's inputs decide is recorded as it is for these: one graph, with the results of the model, and a note of the lines that decide. What floats decide is refused as before."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

from cupel.torch import captured
from cupel.torch.arrays import from_array, to_array
from cupel.torch.backend import open_device
from cupel.torch.graphs import Graph
from cupel.torch.options import parse
from cupel.torch.recorded import NotRecorded
from cupel.worker.model_files import lower
from cupel.worker.model_golden import golden_inference, golden_training


def recorded(model: nn.Module, *args: torch.Tensor) -> Graph:
    golden = golden_inference(None, model.eval(), args, {}, 0)
    return captured._recorded(golden.flat, golden.expected, 0)


def check(model: nn.Module, *args: torch.Tensor, lines: int = 1) -> Graph:
    return check_graph(recorded(model, *args), lines)


def check_graph(graph: Graph, lines: int) -> Graph:
    assert len(graph.decided) == lines and all(__file__ in line for line in graph.decided), graph.decided
    device = open_device(parse(None))
    executable = device.compile(lower(graph).portable(device.stablehlo_version))
    results = [from_array(result) for result in executable.run([to_array(tensor) for tensor in graph.inputs])]
    for found, wanted in zip(results, graph.expected, strict=True):
        assert found.dtype == wanted.dtype and torch.allclose(found, wanted, rtol=1e-4, atol=1e-5)
    return graph


class LastMarked(nn.Module):
    """The head that encoder-decoders have for sequences: hidden states at the last mark of each."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(9, 4), nn.Linear(4, 3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        hidden, marks = self.embed(ids), ids.eq(2)
        if torch.unique_consecutive(marks.sum(1)).numel() != 1:
            raise ValueError("as many marks in each")
        return self.head(hidden[marks, :].view(hidden.size(0), -1, hidden.size(-1))[:, -1, :])


def test_places_of_a_mask_are_as_many_as_it_has_for_these_inputs() -> None:
    graph = check(LastMarked(), torch.tensor([[1, 2, 3, 2], [2, 2, 5, 7]]), lines=2)
    # Which places these are is computed.
    assert "stablehlo.sort" in graph.lowered().text


class Loader:
    @staticmethod
    def unpack_forward_output(output: torch.Tensor) -> torch.Tensor:
        return output


def test_gradients_go_back_to_these_places() -> None:
    torch.manual_seed(0)
    golden = golden_training(Loader, LastMarked().train(), (torch.tensor([[1, 2, 3, 2], [2, 2, 5, 7]]),), {}, 0)
    (graph,) = golden.capture().graphs
    assert graph.not_recorded == ""
    check_graph(graph, lines=2)


class Branching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.register_buffer("limit", torch.tensor([4]))

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        mask = mask.clone()
        mask.view(-1)[0] = 0  # A view of what is asked for.
        if mask.all() or mask.sum().item() > self.limit:
            return x
        return self.layer(x) * int(mask.count_nonzero())


def test_branches_and_numbers_follow_writes() -> None:
    graph = check(Branching(), torch.randn(2, 3), torch.ones(2, 2, dtype=torch.int64), lines=2)
    assert "dot_general" in graph.lowered().text


class Picking(nn.Module):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.masked_select(mask[:, None]) * 2, mask.nonzero() + 1, x[:, mask, None] + 1, x[mask, 1:] - 1, x[torch.zeros_like(mask)].sum(0)


@pytest.mark.parametrize("mask", [[True, False, True], [False, False, False], [True, True, True]])
def test_masks_pick_what_torch_picks(mask: list[bool]) -> None:
    check(Picking(), torch.randn(3, 3), torch.tensor(mask))


class Mixing(nn.Module):
    """Writes what floats decide over what was known."""

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        mask = mask.clone()
        part = mask[1:]
        part.copy_(x[1:] > 0)
        return x + 1 if mask.all() else x


class Floats(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[x > 0] + 1


class Drawn(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1 if torch.randint(0, 2, (3,)).all() else x


class Uninitialised(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flags = torch.empty(2, dtype=torch.int64)
        flags[0] = 1
        return x + 1 if flags.sum() > 0 else x


@pytest.mark.parametrize(("model", "args"), [(Mixing(), (torch.ones(3), torch.ones(3, dtype=torch.bool))), (Floats(), (torch.ones(3),)), (Drawn(), (torch.ones(3),)), (Uninitialised(), (torch.ones(3),))])
def test_other_values_are_not_known(model: nn.Module, args: tuple[Any, ...]) -> None:
    with pytest.raises(NotRecorded, match="values decide that are no integers of the inputs"):
        recorded(model, *args)


def test_inputs_are_left_as_they_are() -> None:
    class Writing(nn.Module):
        def forward(self, x: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
            own = ids + 0
            own[0] = 7
            ids.view(-1)
            return x[own > 1] * 3

    ids = torch.tensor([0, 3, 5])
    check(Writing(), torch.randn(3, 2), ids)
    assert ids.tolist() == [0, 3, 5]
