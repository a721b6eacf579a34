"""precision=bf16 of torch.compile: products of rounded operands, judged by the bound of that."""

import pytest
import torch

import cupel.torch  # noqa: F401


def test_products_take_rounded_operands():
    torch.manual_seed(3)
    layer, x = torch.nn.Linear(96, 40, bias=False), torch.randn(8, 96)
    with torch.no_grad():
        torch._dynamo.reset()
        result = torch.compile(layer, backend="cupel", options={"precision": "bf16"})(x)
        torch._dynamo.reset()
        plain = torch.compile(layer, backend="cupel")(x)
        narrow = lambda t: t.bfloat16().double()  # noqa: E731
        exact, sizes = narrow(x) @ narrow(layer.weight).T, narrow(x).abs() @ narrow(layer.weight).T.abs()
        true = x.double() @ layer.weight.double().T
    assert result.dtype == torch.float32
    bound = 96 * 2.0**-24
    assert ((result.double() - exact).abs() / sizes).max() <= bound
    assert ((plain.double() - true).abs() / sizes).max() <= bound < ((result.double() - true).abs() / sizes).max()


def test_what_it_does_not_take_is_refused():
    torch._dynamo.reset()
    with pytest.raises(Exception, match="precision"):
        torch.compile(torch.nn.Linear(4, 4), backend="cupel", options={"precision": "f16"})(torch.randn(2, 4))
