"""A convolutional network in flax.linen with batch normalisation and dropout; on several devices convolutions split the batch and the classifier its classes."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from flax import linen as nn
from jax.sharding import PartitionSpec

from ...base import SEED
from ...config import Framework, ModelConfig, ModelGroup, ModelInfo, ModelSource, ModelTask, StrEnum
from ...jax_base import JaxForgeModel, drawn


class ModelVariant(StrEnum):
    SMALL = "small"


class Cnn(nn.Module):
    """`axis`, where it is set, is that of a mesh of `parts` devices: each computes a part, and all have the whole result."""

    classes: int = 32  # A class for each chip of the largest architecture.
    axis: str | None = None
    parts: int = 1

    @nn.compact
    def __call__(self, x: jax.Array, train: bool) -> jax.Array:
        for features in (8, 16):
            x = nn.Conv(features, (3, 3), strides=(2, 2), use_bias=False)(x)
            x = nn.relu(nn.BatchNorm(use_running_average=not train, axis_name=self.axis)(x))
        x = nn.Dropout(0.1, deterministic=not train)(x.mean(axis=(1, 2)))
        x = self._whole(x, 0)
        return self._whole(nn.Dense(self.classes // self.parts)(x), 1)

    def _whole(self, x: jax.Array, dimension: int) -> jax.Array:
        return jax.lax.all_gather(x, self.axis, axis=dimension, tiled=True) if self.axis else x


class ModelLoader(JaxForgeModel):
    _VARIANTS = {ModelVariant.SMALL: ModelConfig("cupel/cnn-small")}
    DEFAULT_VARIANT = ModelVariant.SMALL

    @classmethod
    def _get_model_info(cls, variant: StrEnum | None = None) -> ModelInfo:
        return ModelInfo("CNN", variant, ModelGroup.GENERALITY, ModelTask.CV_IMAGE_CLS, ModelSource.CUSTOM, Framework.JAX)

    def build(self) -> nn.Module:
        return Cnn()

    def make_arrays(self, batch_size: int, random: np.random.Generator) -> jax.Array:
        return jax.numpy.asarray(random.standard_normal((batch_size, 16, 16, 3), dtype=np.float32))

    def get_input_parameters(self, train: bool = False) -> Any:
        return drawn(self._initial)

    def _initial(self) -> Any:
        return self.build().init(jax.random.PRNGKey(SEED), self.load_inputs(), train=False)

    def get_forward_method_kwargs(self, train: bool = False) -> dict[str, Any]:
        return {"train": True, "rngs": {"dropout": jax.random.key(1)}, "mutable": ("batch_stats",)} if train else {"train": False}

    def wrapper_model(self, f: Any) -> Any:
        """Training gives the new running statistics as well."""

        def picked(args: Any, kwargs: Any) -> Any:
            result = f(*args, **kwargs)
            return result[0] if isinstance(result, tuple) else result

        return picked

    # --- several devices -----------------------------------------------------------------------------------------------------------------

    def load_multichip_model(self, axis_name: str = "X", num_devices: int = 2, train_mode: bool = False) -> nn.Module:
        self._axis = axis_name
        return Cnn(axis=axis_name, parts=num_devices)

    def get_input_activations_partition_spec(self, mesh: Any, axis_name: str = "X", parallelism: Any = None) -> tuple[PartitionSpec, ...]:
        return (PartitionSpec(axis_name),)

    def load_parameters_partition_spec(self, model_for_multichip: Any, cpu_mesh: Any, input_activations_partition_specs: Any, inputs: Any, parallelism: Any) -> Any:
        def spec(path: Any, leaf: Any) -> PartitionSpec:
            names = [part.key for part in path]
            if "Dense_0" not in names:
                return PartitionSpec()
            return PartitionSpec(None, self._axis) if names[-1] == "kernel" else PartitionSpec(self._axis)

        return jax.tree_util.tree_map_with_path(spec, jax.eval_shape(self._initial))

    def load_parameters(self, train: bool = False, **given: Any) -> Any:
        """Whole: the same as on one device."""
        return self.get_input_parameters(train)
