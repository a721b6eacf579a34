"""Fusion providers: what users wrote by hand becomes one call, one composite and one kernel; the guide's walk through all stages."""

from __future__ import annotations

import re

import pytest
import torch

from cupel.torch import FusionProvider, fusion, run_fusion_passes


class Llama(torch.nn.Module):
    def __init__(self, *shape: int):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, shape[-1] if shape else 16).expand(shape or (16,)).clone())
        self.eps = 1e-6

    def forward(self, hidden):
        dtype = hidden.dtype
        hidden = hidden.to(torch.float32)
        variance = hidden.pow(2).mean(-1, keepdim=True)
        hidden = hidden * torch.rsqrt(variance + self.eps)
        return self.weight * hidden.to(dtype)


class GptOss(Llama):
    def forward(self, hidden):
        wide = hidden.to(torch.float32)
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return (self.weight * wide).to(hidden.dtype)


class Gemma(Llama):
    def forward(self, x):
        wide = x.float()
        normalized = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return (normalized * (1.0 + self.weight.float())).to(x.dtype)


class Gemma4(Llama):
    def forward(self, x):
        wide = x.float()
        return (wide * torch.pow(wide.pow(2).mean(-1, keepdim=True) + self.eps, -0.5) * self.weight.float()).to(x.dtype)


class Gemma4Alone(Llama):
    def forward(self, x):
        wide = x.float()
        return (torch.pow(torch.mean(wide.square(), dim=-1, keepdim=True) + self.eps, -0.5) * wide).to(x.dtype)


class CastToDevice(torch.nn.Module):
    """As rotary embeddings of transformers write it."""

    def forward(self, x):
        return x + torch.arange(16).to(device=x.device, dtype=torch.float32)


def graph_of(model, x):
    """What Dynamo makes of it, and what the providers make of that."""
    seen = []

    def keep(module, _):
        seen.append((module, run_fusion_passes(module)))
        return module.forward

    torch._dynamo.reset()
    torch.compile(model, backend=keep, fullgraph=True)(x)
    return seen[0]


def calls(module) -> list[str]:
    return [getattr(node.target, "__name__", str(node.target)) for node in module.graph.nodes if node.op in ("call_function", "call_method")]


def test_a_cast_that_names_a_device_stays_a_call():
    x = torch.randn(3, 16)
    _, fused = graph_of(CastToDevice(), x)
    assert torch.equal(fused(x)[0], x + torch.arange(16))


@pytest.mark.parametrize("model", [Llama, GptOss, Gemma, Gemma4, Gemma4Alone])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_five_ways_of_writing_a_norm(model, dtype):
    model, x = model().to(dtype), torch.randn(3, 4, 16).to(dtype)
    before = fusion.counts["rms_norm_fusion"]
    _, fused = graph_of(model, x)
    assert fusion.counts["rms_norm_fusion"] == before + 1
    assert calls(fused).count("rms_norm") == 1 and not {"rsqrt", "pow", "mean"} & set(calls(fused)), fused.code
    torch._dynamo.reset()
    y = torch.compile(model, backend="cupel", fullgraph=True)(x)
    expected = model(x)
    assert y.dtype == expected.dtype
    near = {"rtol": 2e-2, "atol": 2e-2} if dtype is torch.bfloat16 else {"rtol": 1e-5, "atol": 1e-6}
    torch.testing.assert_close(y, expected, **near)
    if dtype is torch.float32 and not isinstance(model, Gemma4Alone):
        (y * y).sum().backward()
        slope, model.weight.grad = model.weight.grad, None
        (expected * expected).sum().backward()
        torch.testing.assert_close(slope, model.weight.grad, rtol=1e-4, atol=1e-4)


def test_what_is_no_norm_stays():
    """A weight of two dimensions, and a mean of another dimension."""

    class Columns(Llama):
        def forward(self, x):
            wide = x.to(torch.float32)
            return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(0, keepdim=True) + self.eps)).to(x.dtype)

    for model in (Llama(4, 16), Columns()):
        before, after = graph_of(model, torch.randn(4, 16))
        assert before is after


def test_the_walk_of_the_guide(tmp_path):
    """LlamaRMSNorm -> rms_norm -> composite -> one kernel, at every stage."""
    model, x = Llama(), torch.randn(4, 16)
    before, fused = graph_of(model, x)
    assert "rsqrt" in calls(before) and [name for name in calls(fused) if name not in ("getattr", "to")] == ["rms_norm"]
    torch._dynamo.reset()
    with torch.no_grad():
        y = torch.compile(model, backend="cupel", fullgraph=True, options={"export_path": str(tmp_path)})(x)
    torch.testing.assert_close(y, model(x), rtol=1e-5, atol=1e-6)
    (program,) = tmp_path.glob("*.stablehlo.mlir")
    assert program.read_text().count('stablehlo.composite "tenstorrent.rms_norm"') == 1
    stages = {path.name: path.read_text() for path in tmp_path.glob("irs/*/*.mlir")}
    assert any("tenstorrent.rms_norm" in text for name, text in stages.items() if name.startswith("shlo")), sorted(stages)
    device = stages["device.mlir"]
    assert len(re.findall(r"dev\.launch", device)) == 1 and "tir.row" in device, device


def test_a_call_of_rms_norm_is_kept_whole_and_has_slopes(tmp_path):
    norm = torch.nn.RMSNorm((4, 16), eps=1e-5)
    with torch.no_grad():
        norm.weight.copy_(torch.linspace(0.5, 1.5, 64).reshape(4, 16))
    x = torch.randn(3, 4, 16, requires_grad=True)
    torch._dynamo.reset()
    y = torch.compile(norm, backend="cupel", fullgraph=True, options={"export_path": str(tmp_path)})(x)
    assert "tenstorrent.rms_norm" in "".join(path.read_text() for path in tmp_path.glob("*.forward.*.stablehlo.mlir"))
    torch.testing.assert_close(y, norm(x), rtol=1e-5, atol=1e-6)
    slopes = []
    for result in (y, norm(x)):
        slopes.append(torch.autograd.grad((result * torch.linspace(-1, 1, 192).reshape(3, 4, 16)).sum(), (x, norm.weight)))
    for actual, expected in zip(*slopes, strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


def test_toggles_and_names(tmp_path):
    model, x = Llama(), torch.randn(4, 16)
    for number, options in enumerate(({"fusions": False}, {"tt_enable_torch_fx_fusion_pass": False}, {"without_fusions": "rms_norm_fusion"})):
        torch._dynamo.reset()
        folder = tmp_path / str(number)
        torch.testing.assert_close(torch.compile(model, backend="cupel", options={**options, "export_path": str(folder)})(x), model(x), rtol=1e-5, atol=1e-6)
        assert "rms_norm" not in "".join(path.read_text() for path in folder.glob("*.stablehlo.mlir"))
    torch._dynamo.reset()
    with pytest.raises(Exception, match="no fusion provider 'rms'; there are rms_norm_fusion"):
        torch.compile(model, backend="cupel", options={"without_fusions": "rms"})(x)


def test_a_provider_of_the_users_own():
    class Swish(FusionProvider):
        @property
        def name(self):
            return "swish"

        @staticmethod
        def pattern(x, slope):
            return x.mul(torch.sigmoid(x.mul(slope)))

        @staticmethod
        def replacement(x, slope):
            return torch.nn.functional.silu(x.mul(slope)).div(slope)

        @staticmethod
        def match_filter(match, graph, subgraph):
            return all(value != 3.0 for value in match.nodes_map.values() if isinstance(value, float))

    try:
        x = torch.randn(8)
        for write in (lambda x: torch.sigmoid(2.0 * x) * x, lambda x: x * (x * 2.0).sigmoid()):  # Spelling and order do not count.
            _, fused = graph_of(write, x)
            assert "silu" in calls(fused), fused.code
            torch.testing.assert_close(fused(x)[0], write(x))
        before, after = graph_of(lambda x: torch.sigmoid(3.0 * x) * x, x)  # Its filter says no.
        assert before is after and fusion.counts["swish"] == 2
    finally:
        FusionProvider._registered_providers.remove(Swish)
