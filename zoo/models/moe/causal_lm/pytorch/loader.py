"""A mixture of experts: each token goes to the best two of four."""

from __future__ import annotations

import torch
from torch import nn

from ....base import ForgeModel, tokens
from ....config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum
from ....layers import Attention


class Experts(nn.Module):
    def __init__(self, width: int, experts: int, chosen: int):
        super().__init__()
        self.router = nn.Linear(width, experts, bias=False)
        self.up, self.down = nn.Parameter(torch.randn(experts, width, 2 * width) * 0.1), nn.Parameter(torch.randn(experts, 2 * width, width) * 0.1)
        self.chosen = chosen

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        weights, indices = torch.topk(torch.softmax(self.router(x).float(), -1), self.chosen, -1)
        weights = (weights / weights.sum(-1, keepdim=True)).to(x.dtype)
        gates = torch.zeros(*x.shape[:-1], self.up.shape[0], dtype=x.dtype).scatter(-1, indices, weights)
        hidden = nn.functional.silu(torch.einsum("btw,ewh->beth", x, self.up))
        return torch.einsum("beth,ehw,bte->btw", hidden, self.down, gates), gates


class MoE(nn.Module):
    def __init__(self, vocabulary: int = 167, width: int = 32):
        super().__init__()
        self.words, self.attention = nn.Embedding(vocabulary, width), Attention(width, 4)
        self.norm1, self.norm2, self.experts = nn.LayerNorm(width), nn.LayerNorm(width), Experts(width, 4, 2)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, input_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.words(input_ids)
        x = x + self.attention(self.norm1(x), is_causal=True)
        mixed, gates = self.experts(self.norm2(x))
        return self.head(x + mixed), gates


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("MoE", variant, ModelGroup.GENERALITY, ModelTask.NLP_CAUSAL_LM, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return MoE()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
        return {"input_ids": tokens(generator, batch_size, 12, 167)}

    def unpack_forward_output(self, fwd_output: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        return fwd_output[0]
