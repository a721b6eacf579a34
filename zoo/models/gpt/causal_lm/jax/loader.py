"""A decoder in flax.nnx with learned positions, dropout and tied weights; split over a mesh by specs of its parameters."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax.sharding import PartitionSpec

from ....base import SEED
from ....config import Framework, ModelConfig, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum
from ....jax_base import JaxForgeModel, drawn

VOCABULARY, LENGTH = 192, 16


class ModelVariant(StrEnum):
    TINY = "tiny"
    DEEP = "deep"


class Block(nnx.Module):
    def __init__(self, width: int, heads: int, rngs: nnx.Rngs):
        self.heads = heads
        self.norm, self.second_norm = nnx.LayerNorm(width, rngs=rngs), nnx.LayerNorm(width, rngs=rngs)
        self.mix, self.project = nnx.Linear(width, 3 * width, rngs=rngs), nnx.Linear(width, width, rngs=rngs)
        self.widen, self.narrow = nnx.Linear(width, 4 * width, rngs=rngs), nnx.Linear(4 * width, width, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        batch, length, width = x.shape
        query, key, value = (part.reshape(batch, length, self.heads, -1) for part in jnp.split(self.mix(self.norm(x)), 3, axis=-1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / np.sqrt(width // self.heads)
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), value).reshape(x.shape)
        x = x + self.dropout(self.project(mixed))
        return x + self.narrow(jax.nn.gelu(self.widen(self.second_norm(x))))


class GPT(nnx.Module):
    def __init__(self, depth: int, width: int = 32):
        rngs = nnx.Rngs(SEED)
        self.words, self.positions = nnx.Embed(VOCABULARY, width, rngs=rngs), nnx.Embed(LENGTH, width, rngs=rngs)
        self.blocks = nnx.List([Block(width, 4, rngs) for _ in range(depth)])
        self.norm = nnx.LayerNorm(width, rngs=rngs)

    def __call__(self, input_ids: jax.Array) -> jax.Array:
        x = self.words(input_ids) + self.positions(jnp.arange(input_ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.words.attend(self.norm(x))


class ModelLoader(JaxForgeModel):
    _VARIANTS = {
        ModelVariant.TINY: ModelConfig("cupel/gpt-tiny"),
        ModelVariant.DEEP: ModelConfig("cupel/gpt-deep"),
    }
    DEFAULT_VARIANT = ModelVariant.TINY

    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("GPT", variant, ModelGroup.GENERALITY, ModelTask.NLP_CAUSAL_LM, ModelSource.CUSTOM, Framework.JAX)

    def build(self) -> nnx.Module:
        depth = 4 if self._variant == ModelVariant.DEEP else 2
        structure, _ = nnx.split(nnx.eval_shape(lambda: GPT(depth)))
        return nnx.merge(structure, drawn(lambda: nnx.split(GPT(depth))[1]))

    def make_arrays(self, batch_size: int, random: np.random.Generator) -> dict[str, jax.Array]:
        return {"input_ids": jnp.asarray(random.integers(1, VOCABULARY, (batch_size, LENGTH), dtype=np.int32))}

    # --- several devices -----------------------------------------------------------------------------------------------------------------

    def get_input_activations_partition_spec(self, mesh: Any, parallelism: Any, axis_name: str = "X") -> tuple[PartitionSpec, ...]:
        return (PartitionSpec() if str(parallelism) == "tensor_parallel" else PartitionSpec(axis_name),)

    def load_parameters_partition_spec(self, model_for_multichip: Any, parallelism: Any, axis_name: str = "X", **given: Any) -> Any:
        """Tensor parallel: layers that widen are split by columns, those that narrow by rows."""
        splits = {"mix": PartitionSpec(None, axis_name), "widen": PartitionSpec(None, axis_name), "project": PartitionSpec(axis_name), "narrow": PartitionSpec(axis_name)}

        def spec(path: Any, leaf: Any) -> PartitionSpec:
            names = [str(getattr(part, "key", getattr(part, "name", ""))) for part in path]
            found = next((splits[name] for name in names if name in splits), None)
            return found if found is not None and "kernel" in names and str(parallelism) == "tensor_parallel" else PartitionSpec()

        return jax.tree_util.tree_map_with_path(spec, nnx.split(model_for_multichip)[1])
