"""Helpers for the parameters of JAX models on a mesh: how each is split, and seeded parameters laid out so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_TENSOR_PARALLEL = "tp"


def make_easydel_parameters_partition_specs(model_state: Any, partition_rules: Sequence[tuple[str, Any]], axis_name: str = "X") -> Any:
    """A tree like `model_state` of PartitionSpecs: the first rule whose pattern is found in a parameter's path (`a/b/kernel`) decides.

    Of the axes that rules speak of only tensor parallelism (`tp`, alone or among others) exists here: it is the mesh's axis. What
    is split along others, what no rule names and what has no dimensions is whole on every device.
    """
    import jax
    from jax.sharding import PartitionSpec

    def axis(entry: Any) -> str | None:
        return axis_name if entry == _TENSOR_PARALLEL or (isinstance(entry, tuple) and _TENSOR_PARALLEL in entry) else None

    def spec(path: Any, leaf: Any) -> Any:
        words = (getattr(part, "name", None) or getattr(part, "key", None) or getattr(part, "idx", part) for part in path)
        name = "/".join(str(word) for word in words)
        rule = next((rule for pattern, rule in partition_rules if re.search(pattern, name)), None)
        return PartitionSpec() if rule is None or getattr(leaf, "ndim", None) == 0 else PartitionSpec(*(axis(entry) for entry in rule))

    return jax.tree_util.tree_map_with_path(spec, model_state)


def _init_on_mesh(model: Any, mesh: Any, inputs_specs: Any, params_specs: Any) -> Any:
    """`model.init(key, inputs)` as each device runs it: collectives inside need the mesh's axis to be traced."""
    import jax
    from jax.sharding import PartitionSpec

    from cupel.worker.jax_calls import as_each_device

    return jax.shard_map(as_each_device(model.init), mesh=mesh, in_specs=(PartitionSpec(), *inputs_specs), out_specs=params_specs, check_vma=False)


def make_flax_linen_parameters_partition_specs_on_cpu(model: Any, cpu_mesh: Any, inputs_specs: Any, cpu_inputs: Any) -> Any:
    """What a linen model declares about its parameters (nn.Partitioned); nothing is computed."""
    import jax
    from flax import linen
    from jax.sharding import PartitionSpec

    return linen.get_partition_spec(jax.eval_shape(_init_on_mesh(model, cpu_mesh, inputs_specs, PartitionSpec()), jax.random.PRNGKey(0), cpu_inputs))


def initialize_flax_linen_parameters_on_cpu(model: Any, inputs_specs: Any, cpu_inputs: Any, params_specs: Any, cpu_mesh: Any, rng_seed: int) -> Any:
    """Seeded parameters of a linen model, laid out on the mesh as `params_specs` says."""
    import jax

    return _init_on_mesh(model, cpu_mesh, inputs_specs, params_specs)(jax.random.PRNGKey(rng_seed), cpu_inputs)
