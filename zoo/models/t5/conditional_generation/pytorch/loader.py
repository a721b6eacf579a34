"""An encoder-decoder with relative position biases and cross attention."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from ....base import ForgeModel, tokens
from ....config import Framework, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum
from ....layers import Attention, RMSNorm


@dataclass
class Seq2SeqOutput:
    logits: torch.Tensor
    encoder_last_hidden_state: torch.Tensor


class BiasedAttention(Attention):
    """Without scaling; a bias by distance, in buckets."""

    def __init__(self, width: int, heads: int, buckets: int = 8):
        super().__init__(width, heads)
        self.bias, self.buckets = nn.Embedding(buckets, heads), buckets

    def forward(self, x: torch.Tensor, context: torch.Tensor | None = None, mask: torch.Tensor | None = None, is_causal: bool = False) -> torch.Tensor:
        context = x if context is None else context
        scores = self.split(self.query(x)) @ self.split(self.key(context)).transpose(-1, -2)
        distance = torch.arange(context.shape[1])[None, :] - torch.arange(x.shape[1])[:, None]
        bucket = torch.minimum(distance.abs(), torch.tensor(self.buckets - 1))
        scores = scores + self.bias(bucket).permute(2, 0, 1)
        if is_causal:
            scores = scores.masked_fill(distance > 0, torch.finfo(scores.dtype).min)
        mixed = torch.softmax(scores.float(), -1).to(x.dtype) @ self.split(self.value(context))
        return self.output(mixed.transpose(-3, -2).flatten(-2))


class Block(nn.Module):
    def __init__(self, width: int, is_decoder: bool):
        super().__init__()
        self.own, self.cross = BiasedAttention(width, 4), BiasedAttention(width, 4) if is_decoder else None
        self.norms = nn.ModuleList(RMSNorm(width) for _ in range(3))
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: torch.Tensor, context: torch.Tensor | None = None) -> torch.Tensor:
        x = x + self.own(self.norms[0](x), is_causal=self.cross is not None)
        if self.cross is not None:
            x = x + self.cross(self.norms[1](x), context)
        return x + self.down(torch.relu(self.up(self.norms[2](x))))


class T5(nn.Module):
    def __init__(self, vocabulary: int = 181, width: int = 32, depth: int = 2):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.encoder = nn.ModuleList(Block(width, False) for _ in range(depth))
        self.decoder = nn.ModuleList(Block(width, True) for _ in range(depth))
        self.norm, self.head = RMSNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, input_ids: torch.Tensor, decoder_input_ids: torch.Tensor) -> Seq2SeqOutput:
        memory = self.words(input_ids)
        for block in self.encoder:
            memory = block(memory)
        x = self.words(decoder_input_ids)
        for block in self.decoder:
            x = block(x, memory)
        return Seq2SeqOutput(self.head(self.norm(x)), memory)


class ModelLoader(ForgeModel):
    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("T5", variant, ModelGroup.GENERALITY, ModelTask.CONDITIONAL_GENERATION, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return T5()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
        return {"input_ids": tokens(generator, batch_size, 20, 181), "decoder_input_ids": tokens(generator, batch_size, 7, 181)}
