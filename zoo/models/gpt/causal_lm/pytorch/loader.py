"""A decoder with learned positions and tied weights."""

from __future__ import annotations

import torch
from torch import nn

from ....base import ForgeModel, tokens
from ....config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum
from ....layers import EncoderBlock, encoder_shard_spec, two_rows


class GPT(nn.Module):
    def __init__(self, vocabulary: int = 193, width: int = 32, depth: int = 2, length: int = 32):
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(EncoderBlock(width, 4) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        x = self.words(input_ids) + self.positions(torch.arange(input_ids.shape[1]))
        for block in self.blocks:
            x = block(x, is_causal=True)
        return self.norm(x) @ self.words.weight.T


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("GPT", variant, ModelGroup.GENERALITY, ModelTask.NLP_CAUSAL_LM, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return GPT()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> list[torch.Tensor]:
        return [tokens(generator, batch_size, 32, 193)]

    def get_mesh_config(self, num_devices: int) -> tuple[tuple[int, int], tuple[str, str]]:
        return two_rows(num_devices)

    def load_shard_spec(self, model: nn.Module) -> dict[nn.Parameter, tuple[str | None, ...]]:
        return encoder_shard_spec(model.blocks) | {model.positions.weight: (None, "model")}
