"""Sums that torch's backward kernels make in the type of their result: made in a wider one, told, and nothing else changed."""

from __future__ import annotations

import pytest
import torch

from cupel.torch.sound_kernels import sound_attention, sound_sums, with_sound_kernels

ROWS = 1024


def of_layer_norm() -> tuple[torch.nn.Module, torch.Tensor]:
    return torch.nn.LayerNorm(16), torch.randn(ROWS, 16, generator=torch.Generator().manual_seed(1))


def of_embedding() -> tuple[torch.nn.Module, torch.Tensor]:
    return torch.nn.Embedding(4, 16), torch.arange(ROWS) % 4


class Picked(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(4, 16, generator=torch.Generator().manual_seed(1)))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.table[rows]


def of_index() -> tuple[torch.nn.Module, torch.Tensor]:
    return Picked(), torch.arange(ROWS) % 4


def distances(make, dtype: torch.dtype, calls: list[str] | None) -> list[float]:
    """How far each gradient is from that in float64, by its length."""
    torch.manual_seed(0)
    model, x = make()
    gradient = (torch.randn(ROWS, 16, generator=torch.Generator().manual_seed(2)) + 0.3).to(dtype)

    def gradients(model: torch.nn.Module, as_type: torch.dtype) -> list[torch.Tensor]:
        model.zero_grad()
        output = model(x.to(dtype).to(as_type) if x.is_floating_point() else x)
        if calls is None or as_type == torch.float64:
            output.backward(gradient.to(as_type))
        else:
            with sound_sums(calls):
                output.backward(gradient.to(as_type))
        assert all(one.grad is not None and one.grad.dtype == as_type for one in model.parameters())
        return [one.grad.double() for one in model.parameters()]

    found = gradients(model.to(dtype), dtype)
    return [float((one - other).norm() / other.norm()) for one, other in zip(found, gradients(model.double(), torch.float64), strict=True)]


@pytest.mark.parametrize(("make", "call"), [(of_layer_norm, "native_layer_norm_backward"), (of_embedding, "embedding_dense_backward"), (of_index, "index_put")])
@pytest.mark.parametrize(("dtype", "wide", "limit"), [(torch.bfloat16, "float32", 4e-3), (torch.float32, "float64", 1e-7)])
def test_sums_of_backward_are_as_good_as_their_type(make, call: str, dtype: torch.dtype, wide: str, limit: float) -> None:
    calls: list[str] = []
    sound, plain = distances(make, dtype, calls), distances(make, dtype, None)
    assert max(sound) < limit < max(plain)
    assert [one.replace("_index_put_impl_", "index_put").replace("index_put_", "index_put") for one in calls] == [f"{call} in {wide}"]


def test_what_overwrites_is_left_alone() -> None:
    calls: list[str] = []
    x = torch.zeros(8, dtype=torch.bfloat16)
    with sound_sums(calls):
        x[torch.tensor([1, 2])] = torch.tensor([3.0, 4.0], dtype=torch.bfloat16)
    assert x.tolist() == [0, 3, 4, 0, 0, 0, 0, 0] and not calls


def test_graphs_that_torch_runs_are_sound_too() -> None:
    graph = torch.fx.Graph()
    gradient, rows = graph.placeholder("gradient"), graph.placeholder("rows")
    graph.output(graph.call_function(torch.ops.aten.embedding_dense_backward.default, (gradient, rows, 4, -1, False)))
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    values, places = torch.full((ROWS, 2), 1.01, dtype=torch.bfloat16), torch.zeros(ROWS, dtype=torch.int64)
    exact = float(values[0, 0]) * ROWS
    assert abs(float(module(values, places)[0, 0]) - exact) > 0.1 * exact
    assert abs(float(with_sound_kernels(module)(values, places)[0, 0]) - exact) < 0.004 * exact


@pytest.mark.parametrize("how", ["plain", "causal", "masked"])
def test_logarithms_that_attention_keeps_are_as_good_as_their_type(how: str) -> None:
    generator = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(2, 3, 40, 16, generator=generator).bfloat16() for _ in range(3))
    holds = torch.ones(40, 40, dtype=torch.bool).tril(7)
    mask = torch.zeros(40, 40).masked_fill(~holds, float("-inf")).bfloat16() if how == "masked" else None
    scores = query.double() @ key.double().transpose(-1, -2) * 0.3
    if how != "plain":
        scores = scores.masked_fill(~(holds.tril() if how == "causal" else holds), float("-inf"))
    named = {"attn_mask": None if mask is None else mask[None, None].expand(2, 3, 40, 40), "scale": 0.3}
    result, found = sound_attention(query, key, value, 0.0, how == "causal", **named)
    torch_result, plain = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(query, key, value, 0.0, how == "causal", **named)
    assert torch.equal(result, torch_result)
    assert float((found - scores.logsumexp(-1)).abs().max()) < 2e-6 < float((plain - scores.logsumexp(-1)).abs().max())
