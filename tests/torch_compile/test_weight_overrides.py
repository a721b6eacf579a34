"""Formats of single weights: apply_weight_dtype_overrides against an encoding written by another hand."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import cupel.torch
from cupel.torch import apply_weight_dtype_overrides

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cupel/tensor/testdata"))
import block_floats  # noqa: E402

DIGITS = {"bfp_bf8": 7, "bfp_bf4": 3}


class Layers(torch.nn.Module):
    """Each weight comes out as it is held: the inputs are unit vectors."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(5)
        self.up, self.down, self.head = (torch.nn.Linear(32, 16, bias=False) for _ in range(3))

    def forward(self, x):
        return self.up(x), self.down(x), self.head(x)


def held(weight: torch.Tensor, format_: str | None) -> np.ndarray:
    """What is left of a matrix in a format whose blocks lie along its rows, as the product takes it."""
    values = np.ascontiguousarray(weight.detach().numpy())
    if format_ not in DIGITS:
        return values
    digits, result = DIGITS[format_], np.zeros_like(values)
    for i in range(values.shape[0]):
        for j in range(0, values.shape[1], 16):
            shared, codes = block_floats.encode([int(bits) for bits in values[i, j : j + 16].view(np.uint32)], digits)
            signed = [(-1.0 if code >> digits else 1.0) * (code & ((1 << digits) - 1)) for code in codes]
            result[i, j : j + 16] = [number * 2.0 ** (shared - 127 - (digits - 1)) for number in signed]
    return result


def check(model: Layers, formats: dict[str, str | None], options: dict | None = None) -> None:
    with torch.no_grad():
        results = torch.compile(model, backend="cupel", options=options or {})(torch.eye(32))
    for name, result in zip(("up", "down", "head"), results, strict=True):
        np.testing.assert_array_equal(result.numpy(), held(getattr(model, name).weight.T, formats.get(name)), err_msg=name)


def test_patterns_choose_and_the_longer_one_wins():
    model = Layers()
    marked = apply_weight_dtype_overrides(model, {"*": "bfp_bf8", "up.*": "bfp4", "head.weight": "bf16"})
    assert marked == {"up.weight": "bfp_bf4", "down.weight": "bfp_bf8", "head.weight": "bf16"}
    check(model, {"up": "bfp_bf4", "down": "bfp_bf8"})


def test_a_file_and_one_format_for_all(tmp_path):
    file = tmp_path / "formats.json"
    file.write_text(json.dumps({"down.weight": "bfp_bf4", "default": "bfp8"}))
    model = Layers()
    apply_weight_dtype_overrides(model, file)
    check(model, {"up": "bfp_bf8", "down": "bfp_bf4", "head": "bfp_bf8"})
    torch._dynamo.reset()
    model = Layers()
    apply_weight_dtype_overrides(model, "bfp_bf4")
    check(model, dict.fromkeys(("up", "down", "head"), "bfp_bf4"))


def test_marks_beat_the_option_of_the_compilation(tmp_path):
    model = Layers()
    apply_weight_dtype_overrides(model, {"up.weight": "bf16", "down.weight": "bfp_bf4"})
    check(model, {"down": "bfp_bf4", "head": "bfp_bf8"}, {"experimental_weight_dtype": "bfp_bf8"})
    torch._dynamo.reset()
    file = tmp_path / "all.json"
    file.write_text('{"default": "bfp_bf8"}')
    check(Layers(), dict.fromkeys(("up", "down", "head"), "bfp_bf8"), {"experimental_weight_dtype": str(file)})


def test_training_rounds_and_gradients_take_weights_as_they_are():
    model = Layers()
    apply_weight_dtype_overrides(model, {"up.weight": "bfp_bf4"})
    x = torch.eye(32, requires_grad=True)
    compiled = torch.compile(model, backend="cupel")
    up, _, _ = compiled(x)
    up.sum().backward()
    np.testing.assert_array_equal(up.detach().numpy(), held(model.up.weight.T, "bfp_bf4"))
    np.testing.assert_allclose(x.grad.numpy(), np.tile(model.up.weight.detach().numpy().sum(axis=0), (32, 1)), rtol=1e-4, atol=1e-6)


def test_what_is_refused():
    model = Layers()
    with pytest.raises(ValueError, match="'bfp9' is no format of weights"):
        apply_weight_dtype_overrides(model, {"up.weight": "bfp9"})
    with pytest.raises(ValueError, match=r"no parameter of the model is called 'sideways.\*'; there are up.weight"):
        apply_weight_dtype_overrides(model, {"sideways.*": "bfp8"})
    assert apply_weight_dtype_overrides(model, {"default": "bfp8"}) == dict.fromkeys(("up.weight", "down.weight", "head.weight"), "bfp_bf8")
    assert apply_weight_dtype_overrides(model, {}) == {}
    assert cupel.torch.apply_weight_dtype_overrides is apply_weight_dtype_overrides
