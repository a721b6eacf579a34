"""Rotary positions, grouped queries, a gated feed-forward network and a key-value cache, which is an object among arguments and results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from ....base import SEED, ForgeModel, ForgePrefillModel, cast, normal, tokens
from ....config import Framework, ModelConfig, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum
from ....layers import RMSNorm


class ModelVariant(StrEnum):
    PREFILL = "prefill"
    DECODE = "decode"


class CacheLayer:
    """Keys and values of the positions so far; `static` ones are written in place at fixed positions."""

    def __init__(self, keys: torch.Tensor | None = None, values: torch.Tensor | None = None):
        self.keys, self.values = keys, values


class Cache:
    def __init__(self, layers: list[CacheLayer], is_static: bool):
        self.layers = layers
        self.is_static = is_static

    def update(self, index: int, keys: torch.Tensor, values: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        layer = self.layers[index]
        if self.is_static:
            layer.keys.index_copy_(2, positions, keys)
            layer.values.index_copy_(2, positions, values)
        elif layer.keys is None:
            layer.keys, layer.values = keys, values
        else:
            layer.keys, layer.values = torch.cat((layer.keys, keys), 2), torch.cat((layer.values, values), 2)
        return layer.keys, layer.values


@dataclass
class CausalLMOutput:
    logits: torch.Tensor
    past_key_values: Cache | None = None


def rotated(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat((-second, first), -1) * sine


class Block(nn.Module):
    def __init__(self, index: int, width: int, heads: int, groups: int):
        super().__init__()
        self.index, self.heads, self.groups, self.size = index, heads, groups, width // heads
        self.query, self.output = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.key, self.value = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
        self.gate, self.up, self.down = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, 3 * width, bias=False), nn.Linear(3 * width, width, bias=False)
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor, mask: torch.Tensor, cache: Cache, positions: torch.Tensor) -> torch.Tensor:
        y = self.norm1(x)
        query, key, value = (projected.unflatten(-1, (-1, self.size)).transpose(1, 2) for projected in (self.query(y), self.key(y), self.value(y)))
        key, value = cache.update(self.index, rotated(key, cosine, sine), value, positions)
        key, value = (one.repeat_interleave(self.heads // self.groups, 1) for one in (key, value))
        mixed = nn.functional.scaled_dot_product_attention(rotated(query, cosine, sine), key, value, mask)
        x = x + self.output(mixed.transpose(1, 2).flatten(-2))
        y = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, vocabulary: int = 199, width: int = 32, heads: int = 4, groups: int = 2, depth: int = 2):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(index, width, heads, groups) for index in range(depth))
        self.norm, self.head = RMSNorm(width), nn.Linear(width, vocabulary, bias=False)
        size = width // heads
        self.register_buffer("frequencies", 1.0 / 10000 ** (torch.arange(0, size, 2) / size), persistent=False)

    def forward(self, input_ids: torch.Tensor, past_key_values: Cache | None = None, cache_position: torch.Tensor | None = None,
                attention_mask: torch.Tensor | None = None, use_cache: bool = True) -> CausalLMOutput:
        length = input_ids.shape[1]
        cache = past_key_values or Cache([CacheLayer() for _ in self.blocks], is_static=False)
        positions = torch.arange(length) if cache_position is None else cache_position
        angles = positions[:, None].float() * self.frequencies.float()
        angles = torch.cat((angles, angles), -1)
        x = self.words(input_ids)
        cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        known = cache.layers[0].keys.shape[2] if cache.is_static else length
        mask = torch.arange(known)[None, :] <= positions[:, None]
        if attention_mask is not None:  # [batch, heads, queries, keys]; padding sees itself, so that no row is empty.
            mask = (mask & attention_mask.bool()[:, None, None, :]) | torch.eye(length, dtype=torch.bool)
        for block in self.blocks:
            x = block(x, cosine, sine, mask, cache, positions)
        return CausalLMOutput(self.head(self.norm(x)), cache if use_cache else None)


def _decode_inputs(batch_size: int, generator: torch.Generator) -> dict[str, Any]:
    layers = [CacheLayer(normal(generator, batch_size, 2, 24, 8), normal(generator, batch_size, 2, 24, 8)) for _ in range(2)]
    return {"input_ids": tokens(generator, batch_size, 1, 199), "past_key_values": Cache(layers, is_static=True), "cache_position": torch.tensor([17])}


def _with_cache_in(dtype: torch.dtype | None, inputs: dict[str, Any]) -> dict[str, Any]:
    for layer in inputs["past_key_values"].layers:
        layer.keys, layer.values = cast([layer.keys, layer.values], dtype or torch.float32)
    return inputs


class ModelLoader(ForgeModel):
    _VARIANTS = {
        ModelVariant.PREFILL: ModelConfig("cupel/llama-prefill"),
        ModelVariant.DECODE: ModelConfig("cupel/llama-decode"),
    }
    DEFAULT_VARIANT = ModelVariant.PREFILL

    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("Llama", variant, ModelGroup.RED, ModelTask.NLP_CAUSAL_LM, ModelSource.CUSTOM, Framework.TORCH)

    def build(self) -> nn.Module:
        return Llama()

    def make_inputs(self, batch_size: int, generator: torch.Generator) -> dict[str, Any]:
        if self._variant == ModelVariant.PREFILL:
            return {"input_ids": tokens(generator, batch_size, 16, 199), "use_cache": True}
        return _decode_inputs(batch_size, generator)

    def load_inputs(self, dtype_override: torch.dtype | None = None, batch_size: int = 1) -> dict[str, Any]:
        inputs = super().load_inputs(dtype_override, batch_size)
        return _with_cache_in(dtype_override, inputs) if "past_key_values" in inputs else inputs

    def load_inputs_decode(self, dtype_override: torch.dtype | None = None, batch_size: int = 1) -> dict[str, Any]:
        """One token behind a full cache, whatever the variant."""
        return _with_cache_in(dtype_override, _decode_inputs(batch_size, torch.Generator().manual_seed(SEED)) | {"use_cache": True})

    def get_mesh_config(self, num_devices: int) -> tuple[tuple[int, int], tuple[str, str]]:
        return (1, num_devices), ("batch", "model")

    def load_shard_spec(self, model: nn.Module) -> dict[nn.Parameter, tuple[str | None, ...]]:
        """Projections into the heads and the feed-forward network are split by rows, those out of them by columns."""
        specs = {}
        for block in model.blocks:
            specs |= {layer.weight: ("model", "batch") for layer in (block.query, block.gate, block.up)}
            specs |= {layer.weight: ("batch", "model") for layer in (block.output, block.down)}
        return specs


class ModelLoaderPrefill(ModelLoader, ForgePrefillModel):
    """Prompts of a length, the later rows of a batch shorter and padded on the left; weights split by a strategy."""

    _VARIANTS = {ModelVariant.PREFILL: ModelConfig("cupel/llama-prefill")}

    def load_inputs_prefill(self, dtype_override: torch.dtype | None = None, batch_size: int = 1, seq_len: int = 128) -> dict[str, Any]:
        input_ids = tokens(torch.Generator().manual_seed(SEED), batch_size, seq_len, 199)
        padding = torch.tensor([(row * seq_len) // 8 % seq_len for row in range(batch_size)]) + (seq_len // 8)
        attention_mask = (torch.arange(seq_len)[None, :] >= padding[:, None]).long()
        return {"input_ids": input_ids * attention_mask, "attention_mask": attention_mask, "use_cache": True}

    def load_shard_spec(self, model: nn.Module, strategy: str = "megatron", batch_axis: str = "batch") -> dict[nn.Parameter, tuple[str | None, ...]]:
        """`fsdp` splits each weight over both axes; `megatron` over the heads alone."""
        other = batch_axis if strategy == "fsdp" else None
        specs = {model.words.weight: (None, other), model.norm.weight: (None,)}
        for block in model.blocks:
            specs |= {layer.weight: ("model", other) for layer in (block.query, block.gate, block.up)}
            specs |= {layer.weight: (other, "model") for layer in (block.output, block.down)}
        return specs
