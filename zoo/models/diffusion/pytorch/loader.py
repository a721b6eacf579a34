"""One step of a denoiser: time embedding, group norms, attention over the picture and over a text."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from ...base import ForgeModel, normal
from ...config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum
from ...layers import Attention


class ResidualBlock(nn.Module):
    def __init__(self, width: int, time: int):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, width), nn.GroupNorm(4, width)
        self.conv1, self.conv2, self.time = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1), nn.Linear(time, width)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        y = self.conv1(nn.functional.silu(self.norm1(x))) + self.time(nn.functional.silu(time))[:, :, None, None]
        return x + self.conv2(nn.functional.silu(self.norm2(y)))


class Denoiser(nn.Module):
    def __init__(self, width: int = 16, time: int = 32):
        super().__init__()
        self.enter, self.leave = nn.Conv2d(4, width, 3, padding=1), nn.Conv2d(width, 4, 3, padding=1)
        self.time = nn.Sequential(nn.Linear(time, time), nn.SiLU(), nn.Linear(time, time))
        self.blocks = nn.ModuleList(ResidualBlock(width, time) for _ in range(2))
        self.norm, self.own, self.cross = nn.LayerNorm(width), Attention(width, 2), Attention(width, 2)
        self.size = time

    def forward(self, sample: torch.Tensor, timestep: int, encoder_hidden_states: torch.Tensor) -> torch.Tensor:
        frequencies = torch.exp(-9.2 * torch.arange(self.size // 2) / (self.size // 2))
        angles = torch.full((sample.shape[0], 1), float(timestep)) * frequencies
        time = self.time(torch.cat((angles.sin(), angles.cos()), -1).to(sample.dtype))
        x = self.blocks[0](self.enter(sample), time)
        flat = x.flatten(2).transpose(1, 2)
        flat = flat + self.own(self.norm(flat))
        flat = flat + self.cross(self.norm(flat), encoder_hidden_states)
        return self.leave(self.blocks[1](flat.transpose(1, 2).unflatten(2, x.shape[2:]), time))


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("Diffusion", variant, ModelGroup.GENERALITY, ModelTask.CONDITIONAL_GENERATION, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return Denoiser()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> dict[str, Any]:
        return {"sample": normal(generator, batch_size, 4, 8, 8), "timestep": 7, "encoder_hidden_states": normal(generator, batch_size, 5, 16)}
