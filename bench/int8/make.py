#!/usr/bin/env python3
"""Makes quantised models with ONNX Runtime's own static quantisation: make.py NAME FOLDER writes FOLDER/NAME-qlinear.onnx and FOLDER/NAME-qdq.onnx.

The nets are those of bench/models, or as small as an operator; weights and the samples that ranges are taken from come from a seed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "models"))
import nets  # noqa: E402

SAMPLES = 4


class Basic(nn.Module):
    """The block of ResNet-18."""

    def __init__(self, inner: int, outer: int, stride: int):
        super().__init__()
        self.body = nn.Sequential(nets.conv(inner, outer, 3, stride, act=nn.ReLU()), nets.conv(outer, outer, 3))
        self.skip = nets.conv(inner, outer, 1, stride) if stride > 1 or inner != outer else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.relu(self.body(x) + self.skip(x))


def resnet18() -> nets.Built:
    layers: list[nn.Module] = [nets.conv(3, 64, 7, 2, act=nn.ReLU()), nn.MaxPool2d(3, 2, 1)]
    inner = 64
    for outer in (64, 128, 256, 512):
        for stride in (1 if outer == 64 else 2, 1):
            layers.append(Basic(inner, outer, stride))
            inner = outer
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)]
    return nn.Sequential(*layers), (torch.randn(1, 3, 224, 224),)


def matmul() -> nets.Built:
    return nn.Linear(1024, 1024, bias=False), (torch.randn(128, 1024),)


def mlp() -> nets.Built:
    return nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)), (torch.randn(32, 784),)


def conv() -> nets.Built:
    return nets.conv(64, 64, 3, act=nn.ReLU()), (torch.randn(1, 64, 56, 56),)


def depthwise() -> nets.Built:
    return nets.InvertedResidual(32, 32, 1, 6), (torch.randn(1, 32, 56, 56),)


ROWS: dict[str, Callable[[], nets.Built]] = {"matmul": matmul, "mlp": mlp, "conv": conv, "depthwise": depthwise, "resnet18": resnet18, "mobilenet_v2": nets.mobilenet_v2}
FORMS = ("qlinear", "qdq")


def main(name: str, folder: str) -> int:
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Samples(CalibrationDataReader):
        def __init__(self, shape: tuple[int, ...], input_name: str):
            random = numpy.random.default_rng(0)
            self.left = [{input_name: random.standard_normal(shape, dtype=numpy.float32)} for _ in range(SAMPLES)]

        def get_next(self) -> dict[str, numpy.ndarray] | None:
            return self.left.pop() if self.left else None

    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    module, inputs = ROWS[name]()
    target = Path(folder) / name
    with tempfile.TemporaryDirectory() as work:
        plain, ready = f"{work}/plain.onnx", f"{work}/ready.onnx"
        with torch.no_grad():
            torch.onnx.export(module.eval(), inputs, plain, input_names=["x"], output_names=["y"], dynamo=False, opset_version=17)
        quant_pre_process(plain, ready, skip_symbolic_shape=True)
        for form in FORMS:
            made = f"{target}-{form}.new.onnx"
            quantize_static(ready, made, Samples(tuple(inputs[0].shape), "x"), quant_format=QuantFormat.QOperator if form == "qlinear" else QuantFormat.QDQ,
                            activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8, per_channel=True)
            os.replace(made, f"{target}-{form}.onnx")  # Whole or not at all.
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
