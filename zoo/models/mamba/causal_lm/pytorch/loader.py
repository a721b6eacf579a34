"""A selective state space: a depthwise convolution and a scan over the sequence."""

from __future__ import annotations

import torch
from torch import nn

from ....base import ForgeModel, tokens
from ....config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum
from ....layers import RMSNorm


class Mixer(nn.Module):
    def __init__(self, width: int, state: int):
        super().__init__()
        inner = 2 * width
        self.enter, self.leave = nn.Linear(width, 2 * inner, bias=False), nn.Linear(inner, width, bias=False)
        self.convolution = nn.Conv1d(inner, inner, 4, padding=3, groups=inner)
        self.select, self.step = nn.Linear(inner, 2 * state + 4, bias=False), nn.Linear(4, inner)
        self.decay = nn.Parameter(torch.log(torch.arange(1, state + 1).float()).repeat(inner, 1))
        self.skip = nn.Parameter(torch.ones(inner))
        self.state = state

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = x.shape[1]
        inner, gate = self.enter(x).chunk(2, -1)
        inner = nn.functional.silu(self.convolution(inner.transpose(1, 2))[..., :length]).transpose(1, 2)
        step, entry, reading = self.select(inner).split((4, self.state, self.state), -1)
        step = nn.functional.softplus(self.step(step)).float()
        kept = torch.exp(step[..., None] * -torch.exp(self.decay.float()))
        added = step[..., None] * entry[:, :, None, :].float() * inner[..., None].float()
        state, outputs = torch.zeros_like(added[:, 0]), []
        for position in range(length):
            state = kept[:, position] * state + added[:, position]
            outputs.append((state * reading[:, position, None, :].float()).sum(-1))
        y = torch.stack(outputs, 1).to(x.dtype) + inner * self.skip
        return self.leave(y * nn.functional.silu(gate))


class Mamba(nn.Module):
    def __init__(self, vocabulary: int = 173, width: int = 16, depth: int = 2):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.mixers, self.norms = nn.ModuleList(Mixer(width, 8) for _ in range(depth)), nn.ModuleList(RMSNorm(width) for _ in range(depth + 1))

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        x = self.words(input_ids)
        for mixer, norm in zip(self.mixers, self.norms):
            x = x + mixer(norm(x))
        return self.norms[-1](x) @ self.words.weight.T


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("Mamba", variant, ModelGroup.GENERALITY, ModelTask.NLP_CAUSAL_LM, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return Mamba()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
        return {"input_ids": tokens(generator, batch_size, 12, 173)}
