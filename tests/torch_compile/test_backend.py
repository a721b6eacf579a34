"""torch.compile(backend="cupel"): forward, backward, sizes that change, options, errors."""

from __future__ import annotations

import copy
import gc
import resource
import threading

import pytest
import torch
from models import MODELS

from cupel._native import NativeError


def compiled(function, **options):
    return torch.compile(function, backend="cupel", fullgraph=True, **({"options": options} if options else {}))


def close(actual, expected, rtol=1e-4, atol=1e-5):
    torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", MODELS)
def test_forward(name):
    make, inputs = MODELS[name]
    model, given = make().eval(), inputs()
    with torch.no_grad():
        close(compiled(model)(*given), model(*given))


@pytest.mark.parametrize("name", MODELS)
def test_training_step(name):
    """Gradients of every parameter, and buffers that the forward pass updates."""
    make, inputs = MODELS[name]
    model, given = make().train(), inputs()
    twin = copy.deepcopy(model)
    loss = compiled(model)(*given).square().mean()
    loss.backward()
    expected = twin(*given).square().mean()
    expected.backward()
    close(loss, expected)
    for (label, parameter), other in zip(model.named_parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, other.grad, rtol=1e-3, atol=1e-5, msg=lambda text, label=label: f"{label}: {text}")
    for (label, buffer), other in zip(model.named_buffers(), twin.buffers(), strict=True):
        torch.testing.assert_close(buffer, other, rtol=1e-4, atol=1e-6, msg=lambda text, label=label: f"{label}: {text}")


GRADIENTS = {
    "multi_margin": (lambda x: torch.nn.functional.multi_margin_loss(x, torch.tensor([1, 0, 3]), p=2, weight=torch.tensor([0.5, 1.0, 2.0, 0.1])), [(3, 4)]),
    # Without a -1: torch.compile takes it apart, and what it makes of it counts labels behind the end of a list.
    "multilabel_margin": (lambda x: torch.nn.functional.multilabel_margin_loss(x, torch.tensor([[1, 0, 1, 0], [3, 3, 3, 3], [0, 1, 2, 2]])), [(3, 4)]),
    "weighted_bag": (lambda w, s: torch.nn.functional.embedding_bag(torch.tensor([1, 2, 0, 3]), w, torch.tensor([0, 2]), mode="sum", per_sample_weights=s), [(5, 4), (4,)]),
    "masked_scatter": (lambda x, s: x.masked_scatter(x > 0, s), [(4, 4), (16,)]),
    "fake_quantize": (lambda x: torch.fake_quantize_per_tensor_affine(x * 3, 0.1, 0, -16, 15) * x, [(3, 4)]),
}


@pytest.mark.parametrize("decompose", [True, False])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_single_operators(name, decompose):
    """What AOTAutograd leaves as operators of their own in the backward graph."""
    function, shapes = GRADIENTS[name]
    given = [torch.randn(shape, requires_grad=True) for shape in shapes]
    twins = [x.detach().clone().requires_grad_() for x in given]
    made, expected = compiled(function, decompose=decompose)(*given), function(*twins)
    close(made, expected)
    made.square().sum().backward()
    expected.square().sum().backward()
    for x, twin in zip(given, twins, strict=True):
        close(x.grad, twin.grad, rtol=1e-3)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("mask", ["none", "causal", "padding"])
def test_fused_encoder_layer(norm_first, mask):
    """Outside of training nn.TransformerEncoderLayer is one operator."""
    layer = torch.nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, norm_first=norm_first).eval()
    x = torch.randn(3, 5, 8)
    keywords = {}
    if mask == "causal":
        keywords["src_mask"] = torch.ones(5, 5, dtype=torch.bool).triu(1)
    if mask == "padding":
        keywords["src_key_padding_mask"] = torch.tensor([[False] * 5, [False] * 3 + [True] * 2, [False] * 4 + [True]])
    with torch.no_grad():
        close(compiled(layer)(x, **keywords), layer(x, **keywords))


def test_a_step_of_training_lowers_the_loss():
    make, inputs = MODELS["mlp"]
    model, (x,) = make(), inputs()
    target = torch.randint(0, 5, (6,))
    optimizer = torch.optim.SGD(model.parameters(), 0.5)
    step = compiled(model)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = torch.nn.functional.nll_loss(step(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_sizes_that_change():
    function = compiled(lambda x: (x * x.shape[0]).softmax(-1).sum(0), )
    for rows in (3, 5, 2, 7):
        x = torch.randn(rows, 4)
        close(function(x), (x * rows).softmax(-1).sum(0))


def test_dynamic_sizes_in_training():
    model = MODELS["mlp"][0]()
    function = torch.compile(model, backend="cupel", dynamic=True)
    for rows in (3, 6):
        x = torch.randn(rows, 12, requires_grad=True)
        function(x).sum().backward()
        twin = x.detach().clone().requires_grad_()
        model(twin).sum().backward()
        torch.testing.assert_close(x.grad, twin.grad, rtol=1e-3, atol=1e-5)


def test_writes_to_inputs_and_buffers():
    def function(x, y):
        x.add_(1)
        x[:, 0] = y
        return x.sum(1)

    x, y = torch.randn(3, 4), torch.randn(3)
    twin = x.clone()
    close(compiled(function)(x, y), function(twin, y))
    close(x, twin)


def test_constants_numbers_and_none():
    table = torch.tensor([1.0, -2.0, 3.0])

    def function(x, scale: float, maybe):
        return x * table * scale, None, x.shape[0], maybe

    x = torch.randn(2, 3)
    result, nothing, rows, same = compiled(function)(x, 2.5, None)
    close(result, x * table * 2.5)
    assert (nothing, rows, same) == (None, 2, None)


def test_results_that_are_inputs_and_views():
    def function(x):
        return x, x.t(), x.view(-1)[2:5]

    x = torch.randn(3, 4)
    a, b, c = compiled(function)(x)
    close(a, x)
    close(b, x.t())
    close(c, x.view(-1)[2:5])


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16, torch.int32, torch.int64, torch.uint8, torch.bool, torch.complex64])
def test_types(dtype):
    x = (torch.randn(4, 5) * 3).abs().to(dtype)
    close(compiled(lambda v: torch.cat([v, v]).flip(0).clone())(x), torch.cat([x, x]).flip(0))


def test_strided_and_empty_inputs():
    x = torch.randn(6, 4)[::2].t()
    close(compiled(lambda v: v * 2)(x), x * 2)
    empty = torch.empty(0, 4)
    close(compiled(lambda v: v.sum(0))(empty), torch.zeros(4))


def test_composites_can_be_switched_off(tmp_path):
    x = torch.randn(2, 8)
    function = torch.nn.functional.gelu
    compiled(function, export_path=str(tmp_path / "on"))(x)
    torch._dynamo.reset()
    compiled(function, export_path=str(tmp_path / "off"), composites=False)(x)
    texts = {name: "".join(p.read_text() for p in (tmp_path / name).glob("*.stablehlo.mlir")) for name in ("on", "off")}
    assert "stablehlo.composite \"tenstorrent.gelu\"" in texts["on"]
    assert "composite" not in texts["off"]


def test_unknown_options_are_refused():
    with pytest.raises(Exception, match="no option 'devise'; did you mean 'device'"):
        compiled(torch.sin, devise="cupel")(torch.ones(2))
    with pytest.raises(Exception, match="option 'composites' is a bool"):
        compiled(torch.sin, composites=1)(torch.ones(2))
    with pytest.raises(Exception, match="cannot be loaded|no such file|No such file"):
        compiled(torch.sin, device="/nowhere/plugin.so")(torch.ones(2))


def test_options_of_the_compiler_are_taken(tmp_path):
    x = torch.randn(4, 4)
    close(compiled(lambda v: v @ v, **{"accumulate": "f64", "opt-bisect-limit": 0})(x), x @ x)
    with pytest.raises(Exception, match="it takes native or f64"):
        compiled(torch.sin, accumulate="f32")(x)
    with pytest.raises(Exception, match="no option 'acumulate'; did you mean 'accumulate'"):
        compiled(torch.sin, acumulate="f64")(x)
    torch._dynamo.reset()
    close(compiled(lambda v: v.tanh() + 1, backend="codegen_py", export_path=str(tmp_path / "code"))(x), x.tanh() + 1)
    assert (tmp_path / "code/main.py").is_file()
    torch._dynamo.reset()
    compiled(torch.nn.functional.gelu, tt_enable_composite_ops=False, export_path=str(tmp_path / "off"))(x)
    assert "composite" not in "".join(p.read_text() for p in (tmp_path / "off").glob("*.stablehlo.mlir"))


def test_what_cannot_be_lowered_says_so():
    with pytest.raises(Exception, match="(?s)aten.*rand.*never|random"):
        compiled(lambda x: x + torch.rand_like(x))(torch.ones(2))


def test_a_device_with_little_memory():
    function = compiled(lambda x: x @ x, client_options={"memory_limit": 1 << 20})
    close(function(torch.ones(8, 8)), torch.full((8, 8), 8.0))
    with pytest.raises(NativeError, match="RESOURCE_EXHAUSTED"):
        function(torch.ones(1024, 1024))


def test_threads():
    function = compiled(lambda x: x.exp().sum())
    function(torch.ones(8))
    failures = []

    def work(seed):
        try:
            x = torch.randn(8, generator=torch.Generator().manual_seed(seed))
            for _ in range(20):
                close(function(x), x.exp().sum())
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_results_live_on_and_memory_does_not_grow():
    function = compiled(lambda x: x * 2)
    x = torch.ones(1 << 20)
    kept = function(x)
    for _ in range(50):
        function(x)
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        function(x)
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10
    close(kept, x * 2)
