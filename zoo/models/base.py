"""What all loaders of this zoo share: variants, seeded weights, and the interface that test runners call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import torch

from .config import ModelConfig, ModelInfo, StrEnum

SEED = 17

# Which attribute of a result is the one that training goes back from.
_UNPACKED = {"MaskedLMOutput": "logits", "CausalLMOutput": "logits", "Seq2SeqOutput": "logits", "Detections": "scores"}


class ForgeModel(ABC):
    """A loader: `ModelLoader(variant)`, then `load_model`, then `load_inputs` on the same instance."""

    _VARIANTS: dict[StrEnum, ModelConfig] = {}
    DEFAULT_VARIANT: StrEnum | None = None

    def __init__(self, variant: StrEnum | None = None):
        self._variant = self._validate_variant(variant)
        self._variant_config = self.get_variant_config(variant)

    @classmethod
    def query_available_variants(cls) -> dict[StrEnum, ModelConfig]:
        return cls._VARIANTS

    @classmethod
    def _validate_variant(cls, variant: StrEnum | None = None) -> StrEnum | None:
        if not cls._VARIANTS:
            return None
        if variant is None:
            return cls.DEFAULT_VARIANT
        if not isinstance(variant, type(cls.DEFAULT_VARIANT)):
            raise TypeError(f"a variant is a {type(cls.DEFAULT_VARIANT).__name__}, not a {type(variant).__name__}")
        if variant not in cls._VARIANTS:
            raise ValueError(f"there is no variant '{variant}'; there are {', '.join(str(one) for one in cls._VARIANTS)}")
        return variant

    @classmethod
    def get_variant_config(cls, variant: StrEnum | None = None) -> ModelConfig | None:
        chosen = cls._validate_variant(variant)
        return None if chosen is None else cls._VARIANTS[chosen]

    @classmethod
    def get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        info = cls._get_model_info(cls._validate_variant(variant))
        config = cls.get_variant_config(variant)
        if info.model_name_clean is None and config is not None:
            info.model_name_clean = config.model_name_clean
        return info

    @classmethod
    @abstractmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo: ...

    @abstractmethod
    def build(self) -> torch.nn.Module:
        """The model with fresh weights; torch's generator is seeded."""

    @abstractmethod
    def make_inputs(self, batch_size: int, generator: torch.Generator) -> Any:
        """What the model is called with, in float32 where it is floating point."""

    def load_model(self, *, dtype_override: torch.dtype | None = None, **kwargs: Any) -> torch.nn.Module:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            model = self.build()
        return (model if dtype_override is None else model.to(dtype_override)).eval()

    def load_inputs(self, dtype_override: torch.dtype | None = None, batch_size: int = 1) -> Any:
        inputs = self.make_inputs(batch_size, torch.Generator().manual_seed(SEED))
        return inputs if dtype_override is None else cast(inputs, dtype_override)

    def unpack_forward_output(self, fwd_output: Any) -> torch.Tensor:
        if isinstance(fwd_output, torch.Tensor):
            return fwd_output
        name = type(fwd_output).__name__
        if name not in _UNPACKED:
            raise ValueError(f"No handler for class {name} exists in `unpack_forward_output`.")
        return getattr(fwd_output, _UNPACKED[name])

    def get_mesh_config(self, num_devices: int) -> tuple[tuple[int, ...] | None, tuple[str, ...]]:
        return None, ()

    def load_shard_spec(self, model: torch.nn.Module) -> dict[torch.nn.Parameter, tuple[str | None, ...]] | None:
        return None


class ForgePrefillModel(ForgeModel):
    """A loader of a language model's prompts: inputs of a length, weights split by a strategy (`fsdp`, `megatron`)."""

    @abstractmethod
    def load_inputs_prefill(self, dtype_override: torch.dtype | None = None, batch_size: int = 1, seq_len: int = 128) -> Any: ...

    @abstractmethod
    def load_shard_spec(self, model: torch.nn.Module, strategy: str, batch_axis: str) -> dict[torch.nn.Parameter, tuple[str | None, ...]] | None: ...


def cast(value: Any, dtype: torch.dtype) -> Any:
    """Floating-point tensors in the dtype; containers and other values stay."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, dict):
        return {key: cast(item, dtype) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(cast(item, dtype) for item in value)
    return value


def normal(generator: torch.Generator, *shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=generator)


def tokens(generator: torch.Generator, batch_size: int, length: int, vocabulary: int) -> torch.Tensor:
    return torch.randint(1, vocabulary, (batch_size, length), generator=generator)
