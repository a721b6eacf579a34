"""Sums that torch's backward kernels make in the type of their result: made in a wider one, told, and nothing else changed."""

from __future__ import annotations

import contextlib

import pytest
import torch

from cupel.torch.sound_kernels import sound_attention, sound_attention_backward, sound_call, sound_kernels, sound_sums, with_sound_kernels

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


def of_bags() -> tuple[torch.nn.Module, torch.Tensor]:
    return torch.nn.EmbeddingBag(4, 16, mode="sum"), (torch.arange(ROWS) % 4)[:, None]


class Padded(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lines = torch.nn.Parameter(torch.randn(1, 16, 8, generator=torch.Generator().manual_seed(1)))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.pad(self.lines, (0, len(rows) - 8), mode="replicate")[0].T


def of_padding() -> tuple[torch.nn.Module, torch.Tensor]:
    return Padded(), torch.arange(ROWS)


class Sampled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.volume = torch.nn.Parameter(torch.randn(1, 16, 2, 2, 2, generator=torch.Generator().manual_seed(1)))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        places = torch.stack([rows % 2, rows // 2 % 2, rows // 4 % 2], -1).to(self.volume.dtype) - 0.5
        return torch.nn.functional.grid_sample(self.volume, places.view(1, 1, 1, ROWS, 3), align_corners=False)[0, :, 0, 0].T


def of_volume() -> tuple[torch.nn.Module, torch.Tensor]:
    return Sampled(), torch.arange(ROWS)


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


@pytest.mark.parametrize(("make", "call"), [(of_layer_norm, "native_layer_norm_backward"), (of_embedding, "embedding_dense_backward"), (of_index, "index_put"),
                                          (of_bags, "_embedding_bag_backward"), (of_padding, "replication_pad1d_backward"), (of_volume, "grid_sampler_3d_backward")])
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


@pytest.mark.parametrize(("rank", "told"), [(2, []), (3, ["convolution_backward in float32"])])
def test_gradients_of_kernels_over_volumes_hold_what_was_computed(rank: int, told: list[str]) -> None:
    """torch's own has memory in it that nothing wrote, and so cannot be asked to fail each time."""
    generator = torch.Generator().manual_seed(0)
    sizes = (2, 8, 8)[-rank:]
    image, kernel = (torch.randn(shape, generator=generator).bfloat16() for shape in ((2, 32, *sizes), (32, 32, 3, *(1,) * (rank - 1))))
    gradient = torch.randn(2, 32, *sizes, generator=generator).bfloat16()

    def found(dtype: torch.dtype, calls: list[str]) -> list[torch.Tensor]:
        leaves = [one.to(dtype).detach().clone().requires_grad_() for one in (image, kernel, torch.zeros(32))]
        output = getattr(torch.nn.functional, f"conv{rank}d")(*leaves, padding=(1, *(0,) * (rank - 1)))
        with sound_sums(calls):
            output.backward(gradient.to(dtype))
        assert all(one.grad is not None and one.grad.dtype == dtype for one in leaves)
        return [one.grad.double() for one in leaves if one.grad is not None]

    calls: list[str] = []
    for one, exact in zip(found(torch.bfloat16, calls), found(torch.float64, []), strict=True):
        assert float((one - exact).norm() / exact.norm()) < 0.01
    assert calls == told


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


def masked_by(least: float, dtype: torch.dtype) -> torch.Tensor:
    """Of the first three queries no key is left."""
    mask = torch.zeros(1, 1, 6, 6, dtype=dtype)
    mask[:, :, :3] = least
    return mask


@pytest.mark.parametrize(("dtype", "wide", "limit"), [(torch.bfloat16, "float32", 8e-3), (torch.float32, "float64", 1e-6)])
@pytest.mark.parametrize("least", ["finite", "infinite"])
def test_gradients_of_attention_know_how_many_keys_a_masked_row_has(dtype: torch.dtype, wide: str, limit: float, least: str) -> None:
    """Rows that a mask fills with the least number attend to all keys alike; with infinities, to none."""
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(2, 3, 6, 8, generator=generator).to(dtype).requires_grad_() for _ in range(3)]
    gradient = torch.randn(2, 3, 6, 8, generator=generator).to(dtype)
    mask = masked_by(torch.finfo(dtype).min if least == "finite" else float("-inf"), dtype)

    def gradients(calls: list[str] | None) -> list[torch.Tensor]:
        output = torch.nn.functional.scaled_dot_product_attention(*tensors, attn_mask=mask)
        if calls is None:
            return list(torch.autograd.grad(output, tensors, gradient))
        with sound_sums(calls):
            return list(torch.autograd.grad(output, tensors, gradient))

    calls: list[str] = []
    found, plain = gradients(calls), gradients(None)
    wider = [tensor.detach().double().requires_grad_() for tensor in tensors]
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        exact = torch.autograd.grad(torch.nn.functional.scaled_dot_product_attention(*wider, attn_mask=mask.double()), wider, gradient.double())

    def distance(results: list[torch.Tensor]) -> float:
        return max(float((one.double() - other).norm() / other.norm()) for one, other in zip(results, exact, strict=True))

    assert all(one.dtype == dtype for one in found) and distance(found) < limit
    assert (distance(plain) > 1) == (least == "finite")
    assert calls == ([f"scaled_dot_product_attention_backward in {wide}"] if least == "finite" or dtype == torch.bfloat16 else [])


def test_a_bias_of_all_keys_has_no_gradient() -> None:
    """It changes no weight: but for roundings the sum over each row is zero, also where values are much alike and torch takes a rounded output from them."""
    generator = torch.Generator().manual_seed(0)
    query, key, value, gradient = (torch.randn(1, 2, 200, 16, generator=generator) for _ in range(4))
    tensors = [one.bfloat16().requires_grad_() for one in (query + 1, key, 1 + 0.02 * value)]
    gradient = gradient.bfloat16()

    def sum_by_keys(calls: list[str] | None) -> float:
        output = torch.nn.functional.scaled_dot_product_attention(*tensors)
        with sound_sums(calls) if calls is not None else contextlib.nullcontext():
            by_key = torch.autograd.grad(output, tensors, gradient)[1].float()
        return float(by_key.sum(-2).norm() / by_key.norm())

    calls: list[str] = []
    assert 10 * sum_by_keys(calls) < sum_by_keys(None)
    assert calls == ["scaled_dot_product_attention_backward in float32"]


def test_keys_that_heads_share_get_the_gradients_of_all() -> None:
    generator = torch.Generator().manual_seed(0)
    query, gradient = (torch.randn(2, 4, 6, 8, generator=generator).bfloat16() for _ in range(2))
    key, value = (torch.randn(2, 2, 6, 8, generator=generator).bfloat16() for _ in range(2))
    out, logsumexp = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(query, key.repeat_interleave(2, 1), value.repeat_interleave(2, 1), 0.0, True)
    found = sound_attention_backward([])(gradient, query, key, value, out, logsumexp, 0.0, True)
    wider = [tensor.double().requires_grad_() for tensor in (query, key, value)]
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        exact = torch.autograd.grad(torch.nn.functional.scaled_dot_product_attention(*wider, is_causal=True, enable_gqa=True), wider, gradient.double())
    for one, other in zip(found, exact, strict=True):
        assert float((one.double() - other).norm()) < 4e-3 * float(other.norm())


def test_gradients_of_attention_of_a_graph_know_it_too() -> None:
    generator = torch.Generator().manual_seed(0)
    tensors = [torch.randn(1, 2, 6, 8, generator=generator).bfloat16() for _ in range(4)]
    mask = masked_by(torch.finfo(torch.bfloat16).min, torch.bfloat16)
    out, logsumexp = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*tensors[:3], attn_mask=mask)
    graph = torch.fx.Graph()
    gradient, query, key, value = (graph.placeholder(name) for name in ("gradient", "query", "key", "value"))
    rest = [graph.placeholder(name) for name in ("out", "logsumexp", "mask")]
    graph.output(graph.call_function(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default,
                                     (gradient, query, key, value, rest[0], rest[1], 0.0, False), {"attn_mask": rest[2]}))
    module = torch.fx.GraphModule(torch.nn.Module(), graph)
    given = (tensors[3], *tensors[:3], out, logsumexp, mask)
    wrong, right = module(*given)[2], with_sound_kernels(module)(*given)[2]
    columns = torch.softmax(tensors[0].float() @ tensors[1].float().mT * 8**-0.5 + mask.float(), -1)
    exact = columns.mT @ tensors[3].float()
    assert float((right.float() - exact).norm()) < 0.01 * float(exact.norm()) < float((wrong.float() - exact).norm())


# Two samples that are near each other beside their mean, as the last norm of a classifier meets them.
NEAR = torch.randn(1, 64, generator=torch.Generator().manual_seed(3)) + 3 + 0.05 * torch.randn(2, 64, generator=torch.Generator().manual_seed(4))


@pytest.mark.parametrize(("make", "told"), [(lambda: torch.nn.BatchNorm1d(64), "batch_norm in float32"), (lambda: torch.nn.InstanceNorm1d(64, affine=True, track_running_stats=True), "instance_norm in float32")])
def test_statistics_of_a_batch_are_not_rounded_before_they_are_used(make, told: str) -> None:
    x = NEAR if told.startswith("batch") else NEAR.T[None].contiguous()

    def found(dtype: torch.dtype, calls: list[str] | None) -> list[torch.Tensor]:
        model = make().to(dtype)
        given = x.bfloat16().to(dtype).requires_grad_()
        with sound_kernels() if calls is not None else contextlib.nullcontext([]) as replaced:
            output = model(given)
            output.backward(torch.linspace(-1, 1, output.numel()).view_as(output).bfloat16().to(dtype))
        if calls is not None:
            calls.extend(replaced)
        return [output.detach(), given.grad, *(one.grad for one in model.parameters()), model.running_mean, model.running_var]

    calls: list[str] = []
    exact, sound, plain = found(torch.float64, []), found(torch.bfloat16, calls), found(torch.bfloat16, None)
    assert calls == [told] and all(one.dtype == torch.bfloat16 for one in sound)
    far = [[float((one.double() - other).norm() / other.norm()) for one, other in zip(tensors, exact, strict=True)] for tensors in (sound, plain)]
    assert max(far[0]) < 8e-3 and far[1][0] > 0.1, far


def test_graphs_and_traces_have_statistics_that_are_not_rounded() -> None:
    x, gradient = NEAR.bfloat16(), torch.linspace(-1, 1, 128).view(2, 64).bfloat16()
    ones, zeros = torch.ones(64), torch.zeros(64)
    aten = torch.ops.aten

    def found(dtype: torch.dtype, of) -> tuple[torch.Tensor, ...]:
        mean, variance = zeros.to(dtype), ones.to(dtype)
        result, saved, inverse = of(aten.native_batch_norm.default)(x.to(dtype), ones.to(dtype), zeros.to(dtype), mean, variance, True, 0.1, 1e-5)
        assert saved.dtype == inverse.dtype == dtype
        return result, mean, variance, *of(aten.native_batch_norm_backward.default)(gradient.to(dtype), x.to(dtype), ones.to(dtype), mean, variance, saved, inverse, True, 1e-5, [True, True, True])

    exact = found(torch.float64, lambda func: func)
    for of, holds in ((lambda func: sound_call(func, []), True), (lambda func: func, False)):
        far = max(float((one.double() - other).norm() / other.norm()) for one, other in zip(found(torch.bfloat16, of), exact, strict=True))
        assert (far < 8e-3) == holds, far
    graph = torch.fx.Graph()
    graph.output(graph.call_function(aten._native_batch_norm_legit_functional.default, (graph.placeholder("x"), *(graph.placeholder(name) for name in "wbmv"), True, 0.1, 1e-5)))
    results = with_sound_kernels(torch.fx.GraphModule(torch.nn.Module(), graph))(x, *(one.bfloat16() for one in (ones, zeros, zeros, ones)))
    assert len(results) == 5 and float((results[0].double() - exact[0]).norm() / exact[0].norm()) < 8e-3 and all(one.dtype == torch.bfloat16 for one in results)


def test_exponentials_of_matrices_are_numbers() -> None:
    matrix = torch.randn(16, 16, generator=torch.Generator().manual_seed(5)).mul(0.1).bfloat16()
    exact = torch.linalg.matrix_exp(matrix.double())
    with sound_kernels() as calls:
        leaf = matrix.clone().requires_grad_()
        found = [torch.matrix_exp(leaf), torch.linalg.matrix_exp(matrix)]
        found[0].sum().backward()
    found.append(sound_call(torch.ops.aten.linalg_matrix_exp.default, calls)(matrix))
    assert calls == ["matrix_exp in float32"] * 3 and bool(leaf.grad.isfinite().all())
    assert all(one.dtype == torch.bfloat16 and float((one.double() - exact).norm() / exact.norm()) < 4e-3 for one in found)
