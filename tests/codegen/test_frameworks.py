"""codegen_py from JAX and PyTorch, as the guide of code generation calls it, and running what it wrote."""

from __future__ import annotations

import json

import numpy as np
import pytest


def test_a_jax_function(tmp_path):
    jax = pytest.importorskip("jax")
    from cupel.jax import codegen_py, load_codegen_py

    def forward(params, x):
        for weight, bias in params:
            x = jax.nn.gelu(x @ weight + bias)
        return jax.nn.softmax(x, axis=-1), jax.numpy.argmax(x, axis=-1)

    keys = jax.random.split(jax.random.key(0), 4)
    params = [(jax.random.normal(key, (8, 8)), jax.numpy.ones(8)) for key in keys[:3]]
    x = jax.random.normal(keys[3], (4, 8))
    codegen_py(forward, params, x, export_path=tmp_path / "model", compiler_options={"optimization_level": 0})
    for file in ("main.py", "run", "irs/shlo.mlir", "tensors/inputs.safetensors", "manifest.json"):
        assert (tmp_path / "model" / file).is_file(), file
    model = load_codegen_py(tmp_path / "model")
    expected = [np.asarray(value) for value in forward(params, x)]
    for actual, wanted in zip(model(), expected, strict=True):
        np.testing.assert_allclose(actual, wanted, rtol=1e-5, atol=1e-6)
    assert max(model.check().values()) < 1e-5
    # The lines of the function stand beside the code.
    assert "test_frameworks.py:" in (tmp_path / "model/main.py").read_text()


def test_a_training_step_of_jax_with_random_numbers(tmp_path):
    jax = pytest.importorskip("jax")
    from cupel.jax import codegen_py, load_codegen_py

    def step(weight, key, x):
        def loss(w):
            mask = jax.random.bernoulli(key, 0.5, x.shape)
            return jax.numpy.mean((jax.numpy.tanh(jax.numpy.where(mask, x, 0) @ w)) ** 2)

        value, slope = jax.value_and_grad(loss)(weight)
        return weight - 0.1 * slope, value

    arguments = (jax.numpy.eye(6), jax.random.PRNGKey(3), jax.numpy.linspace(-1, 1, 24).reshape(4, 6))
    codegen_py(step, *arguments, export_path=tmp_path / "model")
    for actual, wanted in zip(load_codegen_py(tmp_path / "model")(), jax.jit(step)(*arguments), strict=True):
        np.testing.assert_allclose(actual, np.asarray(wanted), rtol=1e-5, atol=1e-6)


def test_a_module_of_torch(tmp_path):
    torch = pytest.importorskip("torch")
    from cupel.torch import codegen_py, load_codegen_py

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.inner, self.outer = torch.nn.LayerNorm(16), torch.nn.Linear(16, 32), torch.nn.Linear(32, 16)

        def forward(self, x):
            return x + self.outer(torch.nn.functional.gelu(self.inner(self.norm(x))))

    torch.manual_seed(0)
    model = torch.nn.Sequential(*[Block() for _ in range(4)]).eval()
    x = torch.randn(2, 16)
    codegen_py(model, x, export_path=tmp_path / "model")
    actual = load_codegen_py(tmp_path / "model", x.numpy())[0]
    np.testing.assert_allclose(actual, model(x).detach().numpy(), rtol=1e-5, atol=1e-5)
    manifest = json.loads((tmp_path / "model/manifest.json").read_text())
    assert manifest["calls_of_repeated_blocks"] == 4 and "0.norm.weight" in {weight["name"] for weight in manifest["weights"]}


def test_without_tensors_and_what_is_refused(tmp_path):
    torch = pytest.importorskip("torch")
    from cupel.codegen import CodegenError
    from cupel.torch import codegen_py, load_codegen_py

    codegen_py(torch.nn.Linear(3, 2), torch.randn(1, 3), export_path=tmp_path / "ones", export_tensors=False)
    assert not (tmp_path / "ones/tensors").exists()
    np.testing.assert_allclose(load_codegen_py(tmp_path / "ones")()[0], [[4, 4]])
    with pytest.raises(CodegenError, match="No such code generation option: 'optimisation'"):
        codegen_py(torch.nn.Linear(3, 2), torch.randn(1, 3), export_path=tmp_path / "no", compiler_options={"optimisation": 1})
    assert not (tmp_path / "no").exists()


def test_cpp_of_a_jax_function_and_a_module_of_torch(tmp_path, monkeypatch):
    jax, torch = pytest.importorskip("jax"), pytest.importorskip("torch")
    import cupel.jax
    import cupel.torch

    monkeypatch.setenv("CXXFLAGS", "-O0 -Wall -Wextra -Werror")

    def forward(weight, x):
        values, places = jax.lax.top_k(jax.nn.softmax(jax.nn.gelu(x @ weight)), 3)
        return values, places, jax.numpy.cumsum(x, axis=1)

    arguments = jax.random.normal(jax.random.key(0), (8, 8)), jax.random.normal(jax.random.key(1), (4, 8))
    cupel.jax.codegen_cpp(forward, *arguments, export_path=tmp_path / "jax")
    model = cupel.jax.load_codegen_cpp(tmp_path / "jax")
    assert max(model.check().values()) < 1e-5
    for actual, wanted in zip(model(arguments[0], 2 * np.asarray(arguments[1])), forward(arguments[0], 2 * arguments[1]), strict=True):
        np.testing.assert_allclose(actual, np.asarray(wanted), rtol=1e-5, atol=1e-6)

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(),
                              torch.nn.Linear(8 * 6 * 6, 10)).eval()  # fmt: skip
    x = torch.randn(2, 3, 12, 12)
    cupel.torch.codegen_cpp(net, x, export_path=tmp_path / "torch")
    text = (tmp_path / "torch/main.cpp").read_text()
    assert "weights._0_weight" in text or "0.weight" in text
    actual = cupel.torch.load_codegen_cpp(tmp_path / "torch", x.numpy())[0]
    np.testing.assert_allclose(actual, net(x).detach().numpy(), rtol=1e-5, atol=1e-5)
