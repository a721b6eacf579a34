"""A spectrogram and a classifier; its window comes from a package that only its own requirements.txt brings."""

from __future__ import annotations

import math

import torch
from torch import nn

from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum


class Spectrum(nn.Module):
    """The transform as two products with fixed matrices: a device needs nothing but products for it."""

    def __init__(self, window: list[float], classes: int = 8):
        super().__init__()
        length = len(window)
        angles = torch.outer(torch.arange(length // 2 + 1), torch.arange(length)) * (2 * math.pi / length)
        self.register_buffer("cosines", (torch.cos(angles) * torch.tensor(window)).T.contiguous())
        self.register_buffer("sines", (torch.sin(angles) * torch.tensor(window)).T.contiguous())
        self.head = nn.Linear(length // 2 + 1, classes)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        power = (frames @ self.cosines) ** 2 + (frames @ self.sines) ** 2
        return self.head(torch.log1p(power)).mean(dim=1)


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("Spectrum", variant, ModelGroup.GENERALITY, ModelTask.AUDIO_ASR, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        from cupel_windows import hann

        return Spectrum(hann(64))

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> torch.Tensor:
        return normal(generator, batch_size, 10, 64)
