"""Composites that users add: a function with marked inputs and outputs, in the table of replacements."""

from __future__ import annotations

import pytest
import torch

from cupel.torch import StableHLOCompositeBuilder, composites, register_composite


def swish(x, beta=1.5):
    return x * torch.sigmoid(beta * x)


def composite_swish(x, beta=1.5):
    builder = StableHLOCompositeBuilder("my.swish", {"beta": beta, "axes": [0, 1], "kind": "smooth"})
    x = builder.mark_inputs(x)
    return builder.mark_outputs(x * torch.sigmoid(beta * x))


def rotate(x, y):
    return x * 2 - y, y + x


def composite_rotate(x, y):
    builder = StableHLOCompositeBuilder("my.rotate")
    x, y = builder.mark_inputs(x, y)
    return builder.mark_outputs(x * 2 - y, y + x)


@pytest.fixture(autouse=True)
def tables():
    kept, held = dict(composites.replacements), dict(composites.constraints)
    register_composite(swish, composite_swish)
    register_composite(rotate, composite_rotate)
    yield
    for table, before in ((composites.replacements, kept), (composites.constraints, held)):
        table.clear()
        table.update(before)


def stages(function, tmp_path, *inputs, **options):
    """The result, and the text of what the frontend made."""
    torch._dynamo.reset()
    result = torch.compile(function, backend="cupel", fullgraph=True, options={"export_path": str(tmp_path), **options})(*inputs)
    return result, "".join(path.read_text() for path in sorted(tmp_path.glob("*.stablehlo.mlir")))


def test_what_is_between_the_marks_is_the_decomposition(tmp_path):
    x = torch.randn(3, 4)
    result, text = stages(lambda x: swish(swish(x) + 1, 0.5), tmp_path, x)
    torch.testing.assert_close(result, swish(swish(x) + 1, 0.5), rtol=1e-5, atol=1e-6)
    assert text.count('stablehlo.composite "my.swish"') == 2
    assert "beta = 1.5" in text and "beta = 5.0" in text and 'kind = "smooth"' in text, text
    assert "mark_tensor" not in text
    main = text[text.index("func.func public @main") if "func.func public @main" in text else text.index("@main") :].partition("\n  }")[0]
    assert "logistic" not in main and "logistic" in text, text


def test_several_inputs_and_outputs(tmp_path):
    x, y = torch.randn(5), torch.randn(5)
    (first, second), text = stages(lambda x, y: rotate(x + 1, y), tmp_path, x, y)
    torch.testing.assert_close(first, (x + 1) * 2 - y)
    torch.testing.assert_close(second, y + x + 1)
    assert text.count('stablehlo.composite "my.rotate"') == 1, text


def test_slopes_go_through(tmp_path):
    x = torch.randn(6, requires_grad=True)
    result, text = stages(lambda x: swish(x).sum(), tmp_path, x)
    result.backward()
    slope, x.grad = x.grad, None
    swish(x).sum().backward()
    torch.testing.assert_close(slope, x.grad, rtol=1e-5, atol=1e-6)
    assert 'stablehlo.composite "my.swish"' in text


@pytest.mark.parametrize("option", ["composites", "tt_enable_composite_ops"])
def test_toggles(tmp_path, option):
    x = torch.randn(4)
    result, text = stages(swish, tmp_path, x, **{option: False})
    torch.testing.assert_close(result, swish(x), rtol=1e-5, atol=1e-6)
    assert "stablehlo.composite" not in text and "mark_tensor" not in text


def test_constraints_refuse_calls(tmp_path):
    register_composite(swish, composite_swish, lambda node: node.args[1:] == (0.5,))
    _, text = stages(lambda x: swish(x, 0.5) + swish(x, 0.25), tmp_path, torch.randn(4))
    assert text.count('stablehlo.composite "my.swish"') == 1, text


def test_what_is_not_marked_is_named(tmp_path):
    weight = torch.nn.Parameter(torch.randn(4))

    def composite_scaled(x, w):
        builder = StableHLOCompositeBuilder("my.scaled")
        x = builder.mark_inputs(x)
        return builder.mark_outputs(x * w)

    def scaled(x, w):
        return x * w

    register_composite(scaled, composite_scaled)
    with pytest.raises(Exception, match="my.scaled depends on something that is not marked as an input"):
        stages(lambda x: scaled(x, weight), tmp_path, torch.randn(4))


def test_nothing_marked_and_no_name():
    with pytest.raises(ValueError, match="nothing is marked"):
        StableHLOCompositeBuilder("my.x").mark_inputs()
    with pytest.raises(ValueError, match="needs a name"):
        StableHLOCompositeBuilder("")
