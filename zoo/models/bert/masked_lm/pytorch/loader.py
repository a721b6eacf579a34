"""A bidirectional encoder with padding masks, segments and tied output weights; its result is a dataclass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ....base import ForgeModel, tokens
from ....config import Framework, ModelConfig, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum
from ....layers import EncoderBlock


class ModelVariant(StrEnum):
    TINY = "tiny"
    HIDDEN_STATES = "hidden_states"


@dataclass
class MaskedLMOutput:
    logits: torch.Tensor
    hidden_states: tuple[torch.Tensor, ...] | None = None
    loss: torch.Tensor | None = None


class Bert(nn.Module):
    def __init__(self, vocabulary: int = 211, width: int = 32, depth: int = 2):
        super().__init__()
        self.words, self.segments, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(2, width), nn.Embedding(64, width)
        self.norm = nn.LayerNorm(width)
        self.blocks = nn.ModuleList(EncoderBlock(width, 4) for _ in range(depth))
        self.transform = nn.Linear(width, width)
        self.decoder = nn.Linear(width, vocabulary)
        self.decoder.weight = self.words.weight

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor, output_hidden_states: bool = False) -> MaskedLMOutput:
        places = torch.arange(input_ids.shape[1])
        x = self.norm(self.words(input_ids) + self.segments(token_type_ids) + self.positions(places))
        mask = attention_mask[:, None, None, :].bool()
        states = [x]
        for block in self.blocks:
            states.append(x := block(x, mask))
        logits = self.decoder(nn.functional.gelu(self.transform(x)))
        return MaskedLMOutput(logits, tuple(states) if output_hidden_states else None)


class ModelLoader(ForgeModel):
    _VARIANTS = {
        ModelVariant.TINY: ModelConfig("cupel/bert-tiny"),
        ModelVariant.HIDDEN_STATES: ModelConfig("cupel/bert-hidden_states"),
    }
    DEFAULT_VARIANT = ModelVariant.TINY

    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("BERT", variant, ModelGroup.RED, ModelTask.NLP_MASKED_LM, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return Bert()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> dict[str, Any]:
        ids = tokens(generator, batch_size, 24, 211)
        mask = torch.ones_like(ids)
        mask[:, 20:] = 0
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": (torch.arange(24) >= 12).long().expand_as(ids), "output_hidden_states": self._variant == ModelVariant.HIDDEN_STATES}
