"""A speech encoder: strided convolutions over time, then transformer blocks."""

from __future__ import annotations

import torch
from torch import nn

from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum
from ...layers import EncoderBlock


class SpeechEncoder(nn.Module):
    def __init__(self, mels: int = 20, width: int = 32, letters: int = 29):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(mels, width, 3, padding=1), nn.Conv1d(width, width, 3, 2, 1)
        self.register_buffer("positions", torch.sin(torch.arange(32)[:, None] * torch.arange(1, width + 1) / width), persistent=False)
        self.blocks = nn.ModuleList(EncoderBlock(width, 4) for _ in range(2))
        self.head = nn.Linear(width, letters)

    def forward(self, input_features: torch.Tensor) -> torch.Tensor:
        x = nn.functional.gelu(self.conv2(nn.functional.gelu(self.conv1(input_features)))).transpose(1, 2)
        x = x + self.positions[: x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return torch.log_softmax(self.head(x), -1)


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("Speech", variant, ModelGroup.GENERALITY, ModelTask.AUDIO_ASR, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return SpeechEncoder()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
        return {"input_features": normal(generator, batch_size, 20, 48)}
