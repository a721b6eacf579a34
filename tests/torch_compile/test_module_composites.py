"""Composites of types of modules: caught while a graph is captured, by torch.compile and by torch.export."""

from __future__ import annotations

import pytest
import torch

import cupel.torch
from cupel.torch import StableHLOCompositeBuilder, composites, register_composite, unregister_composite


class Scaled(torch.nn.Module):
    """A module of a user's own, with a weight, a number and an argument that may be left out."""

    def __init__(self, factor: float = 2.0):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.linspace(0.5, 1.5, 4))
        self.factor = factor

    def forward(self, x, shift=None):
        y = x * self.weight * self.factor
        return y if shift is None else y + shift


class Heir(Scaled):
    def forward(self, x, shift=None):
        return super().forward(x, shift) - 1


def composite_scaled(module, x, shift=None):
    builder = StableHLOCompositeBuilder(name="my.scaled", attr={"factor": module.factor})
    x, weight = builder.mark_inputs(x, module.weight)
    y = builder.mark_outputs(x * weight * module.factor)
    return y if shift is None else y + shift


def composite_layer_norm(module, x):
    builder = StableHLOCompositeBuilder("my.layer_norm", {"epsilon": module.eps})
    x, weight, bias = builder.mark_inputs(x, module.weight, module.bias)
    return builder.mark_outputs(torch.nn.functional.layer_norm(x, module.normalized_shape, weight, bias, module.eps))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.norm = Scaled(2.0), Scaled(0.5), torch.nn.LayerNorm(4)

    def forward(self, x):
        return self.norm(self.second(self.first(x), shift=x))


@pytest.fixture(autouse=True)
def table():
    register_composite(Scaled, composite_scaled)
    register_composite(torch.nn.LayerNorm, composite_layer_norm)
    yield
    for kind in (Scaled, torch.nn.LayerNorm):
        if kind in composites.replacements:
            unregister_composite(kind)


def compiled(model, tmp_path, *inputs, **options):
    torch._dynamo.reset()
    result = torch.compile(model, backend="cupel", fullgraph=True, options={"export_path": str(tmp_path), **options})(*inputs)
    return result, "".join(path.read_text() for path in sorted(tmp_path.glob("*.stablehlo.mlir")))


def calls_of(text: str, name: str) -> int:
    return text.count(f'stablehlo.composite "{name}"')


def test_types_of_modules_are_kept_whole_by_compile(tmp_path):
    model, x = Model(), torch.randn(3, 4)
    with torch.no_grad():
        result, text = compiled(model, tmp_path, x)
    torch.testing.assert_close(result, model(x), rtol=1e-5, atol=1e-6)
    assert (calls_of(text, "my.scaled"), calls_of(text, "my.layer_norm")) == (2, 1), text
    assert "factor = 2.000000e+00 : f32" in text and "factor = 5.0" in text and "mark_tensor" not in text, text


def test_types_of_modules_are_kept_whole_by_export():
    model, x = Model(), torch.randn(3, 4)
    workload = cupel.torch.export(model, (x,))
    assert (calls_of(workload.text, "my.scaled"), calls_of(workload.text, "my.layer_norm")) == (2, 1), workload.text
    torch.testing.assert_close(workload.run()[0], model(x).detach(), rtol=1e-5, atol=1e-6)
    assert "my." not in cupel.torch.export(model, (x,), composites=False).text


def test_slopes_go_through(tmp_path):
    model, x = Model(), torch.randn(3, 4)
    result, text = compiled(model, tmp_path, x)
    (result * result).sum().backward()
    slope, model.first.weight.grad = model.first.weight.grad, None
    (model(x) ** 2).sum().backward()
    torch.testing.assert_close(slope, model.first.weight.grad, rtol=1e-4, atol=1e-4)
    assert calls_of(text, "my.scaled") == 2


@pytest.mark.parametrize("option", ["composites", "tt_enable_composite_ops"])
def test_toggles(tmp_path, option):
    model, x = Model(), torch.randn(3, 4)
    with torch.no_grad():
        result, text = compiled(model, tmp_path, x, **{option: False})
    torch.testing.assert_close(result, model(x), rtol=1e-5, atol=1e-6)
    assert "stablehlo.composite" not in text and "mark_tensor" not in text, text


def test_heirs_conditions_and_the_end(tmp_path):
    """A subclass computes something else; a constraint asks the module; without the entry nothing is left of it."""
    x = torch.randn(3, 4)
    with torch.no_grad():
        result, text = compiled(Heir(), tmp_path / "heir", x)
        torch.testing.assert_close(result, Heir()(x), rtol=1e-5, atol=1e-6)
        assert calls_of(text, "my.scaled") == 0
        register_composite(Scaled, composite_scaled, lambda module: module.factor == 0.5)
        assert calls_of(compiled(Model(), tmp_path / "one", x)[1], "my.scaled") == 1
        unregister_composite(Scaled)
        assert calls_of(compiled(Model(), tmp_path / "none", x)[1], "my.scaled") == 0
    with pytest.raises(KeyError, match="no composite is registered for Scaled"):
        unregister_composite(Scaled)


def test_eager_calls_stay_what_they_are():
    seen = []
    register_composite(Scaled, lambda module, x, shift=None: seen.append(x))
    Scaled()(torch.ones(4))
    assert not seen


def test_what_is_no_type_of_modules_is_refused():
    with pytest.raises(TypeError, match="the type of a module, Scaled, not one of its instances"):
        register_composite(Scaled(), composite_scaled)
    with pytest.raises(TypeError, match="takes functions and types of modules; dict"):
        register_composite(dict, composite_scaled)
