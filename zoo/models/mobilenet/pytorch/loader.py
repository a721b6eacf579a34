"""Depthwise separable convolutions with inverted residuals and squeeze-and-excitation."""

from __future__ import annotations

import torch
from torch import nn

from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class InvertedResidual(nn.Module):
    def __init__(self, width: int, stride: int):
        super().__init__()
        hidden = 4 * width
        self.expand = nn.Sequential(nn.Conv2d(width, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.Hardswish())
        self.depthwise = nn.Sequential(nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden), nn.Hardswish())
        self.squeeze, self.excite = nn.Conv2d(hidden, width, 1), nn.Conv2d(width, hidden, 1)
        self.project = nn.Sequential(nn.Conv2d(hidden, width, 1, bias=False), nn.BatchNorm2d(width))
        self.is_residual = stride == 1

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.depthwise(self.expand(x))
        gate = nn.functional.hardsigmoid(self.excite(torch.relu(self.squeeze(nn.functional.adaptive_avg_pool2d(y, 1)))))
        y = self.project(y * gate)
        return x + y if self.is_residual else y


class MobileNet(nn.Module):
    def __init__(self, width: int = 12):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, 2, 1)
        self.blocks = nn.Sequential(*(InvertedResidual(width, stride) for stride in (1, 2, 1)))
        self.head = nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("MobileNet", variant, ModelGroup.GENERALITY, ModelTask.CV_IMAGE_CLS, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return MobileNet()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        return normal(generator, batch_size, 3, 32, 32)
