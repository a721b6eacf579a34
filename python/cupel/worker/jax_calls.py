"""How a JAX model of a zoo is called: the function, its parameters and arguments, on one device or on a mesh of several.

Models are flax modules (nnx, linen) or Flax models of transformers; what a loader says of parameters, arguments and keywords comes
before what follows from its model. Never computes anything of the model.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cupel import zoo_import
from cupel.worker.loaders import LoaderError, call_named

AXIS = "X"


@dataclass
class Call:
    """`function(*args, **kwargs)`; on a mesh, `specs` is a tree like (args, kwargs) of PartitionSpecs."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    kind: str
    mesh: Any = None
    specs: Any = None


def kind_of(model: Any) -> str:
    """`nnx`, `linen` or `transformers`; raises for anything else."""
    names = {f"{one.__module__}.{one.__qualname__}" for one in type(model).__mro__}
    if "flax.linen.module.Module" in names:
        return "linen"
    if any(name.startswith("flax.nnx.") and name.endswith(".Module") for name in names):
        return "nnx"
    if any(one.__name__ == "FlaxPreTrainedModel" for one in type(model).__mro__):
        return "transformers"
    raise LoaderError("not_a_module", f"load_model gives a {type(model).__module__}.{type(model).__name__}, which is no module of flax (nnx, linen) and no Flax model of transformers")


def set_mode(model: Any, is_training: bool) -> None:
    method = getattr(model, "train" if is_training else "eval", None)
    if kind_of(model) == "nnx" and callable(method):
        method()


def _flags(function: Callable[..., Any], is_training: bool) -> dict[str, bool]:
    """Those of the usual switches that the function names."""
    names = inspect.signature(function).parameters
    return {name: value for name, value in (("train", is_training), ("deterministic", not is_training)) if name in names}


def _as_arguments(inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """As torch's models are called: a mapping gives keywords, a sequence arguments, an array is one."""
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    if isinstance(inputs, (list, tuple)):
        return tuple(inputs), {}
    if hasattr(inputs, "shape") and hasattr(inputs, "dtype"):
        return (inputs,), {}
    raise LoaderError("bad_inputs", f"load_inputs gives a {type(inputs).__name__}: neither an array, a mapping nor a sequence")


def _parameters(loader: Any, model: Any, kind: str, is_training: bool) -> Any:
    if hasattr(loader, "get_input_parameters"):
        return call_named(loader.get_input_parameters, train=is_training)
    if kind == "nnx":
        from flax import nnx

        return nnx.split(model)[1]
    if kind == "transformers":
        return model.params
    raise LoaderError("loader_parameters", "the loader of a linen model has no get_input_parameters, and its parameters are known from nowhere else")


def _nnx_forward(model: Any) -> Callable[..., Any]:
    from flax import nnx

    definition = nnx.split(model)[0]
    return lambda params, *args, **kwargs: nnx.merge(definition, params)(*args, **kwargs)


def single_device(loader: Any, model: Any, inputs: Any, run_mode: str) -> Call:
    """The call on one device."""
    is_training, kind = run_mode == "training", kind_of(model)
    parameters = _parameters(loader, model, kind, is_training)
    positional, named = _as_arguments(inputs)
    if kind == "nnx":
        function, args, kwargs = _nnx_forward(model), (parameters, *positional), {**named, **_flags(type(model).__call__, is_training)}
    elif kind == "linen":
        method = loader.get_forward_method_name() if hasattr(loader, "get_forward_method_name") else "apply"
        function, args, kwargs = getattr(model, method), (parameters, *positional), {**named, **_flags(type(model).__call__, is_training)}
    else:
        function, args, kwargs = model.__call__, positional, {**named, "params": parameters, **_flags(model.__call__, is_training)}
        if is_training and "dropout_rng" in inspect.signature(function).parameters:
            import jax

            kwargs["dropout_rng"] = jax.random.key(1)
    if hasattr(loader, "get_forward_method_args"):
        args = tuple(loader.get_forward_method_args())
    if hasattr(loader, "get_forward_method_kwargs"):
        own = call_named(loader.get_forward_method_kwargs, train=is_training, run_mode=run_mode)
        kwargs = {**kwargs, **own} if kind == "transformers" else {**named, **own}
    return Call(function, args, kwargs, kind)


def wrapped(loader: Any, call: Call) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
    """`f(args, kwargs)` with the output that training goes back from: the loader picks it, or it is the whole."""
    if hasattr(loader, "wrapper_model"):
        return loader.wrapper_model(call.function)
    return lambda args, kwargs: call.function(*args, **kwargs)


# --- several devices -------------------------------------------------------------------------------------------------------------------------


def _parallelism(name: str) -> Any:
    """The zoo's own enum member: loaders compare with it."""
    config = sys.modules.get(f"{zoo_import.PACKAGE}.config")
    return getattr(config, "Parallelism")(name) if config is not None and hasattr(config, "Parallelism") else name


def check_has_specs(loader: Any) -> None:
    """Most loaders have none, which is known before their model is loaded."""
    missing = [name for name in ("get_input_activations_partition_spec", "load_parameters_partition_spec") if not hasattr(loader, name)]
    if missing:
        raise LoaderError("no_partition_specs", f"the loader says nothing of several devices: it has no {' and no '.join(missing)}")


def as_each_device(body: Callable[..., Any]) -> Callable[..., Any]:
    """A function for shard_map: there each device has its pieces, and flax must not ask for them to be split once more."""

    def traced(*args: Any) -> Any:
        from flax.core import meta

        asks = meta.global_mesh_defined
        meta.global_mesh_defined = lambda: False
        try:
            return body(*args)
        finally:
            meta.global_mesh_defined = asks

    return traced


def load_on_mesh(loader: Any, chips: int, is_training: bool) -> Any:
    """The model for several devices: a loader may have one of its own for that."""
    if hasattr(loader, "load_multichip_model"):
        return call_named(loader.load_multichip_model, axis_name=AXIS, num_devices=chips, train_mode=is_training)
    return loader.load_model()


def make_mesh(chips: int) -> Any:
    import jax

    return jax.sharding.Mesh(jax.devices("cpu")[:chips], (AXIS,))


def _spec_of(value: Any, spec: Any) -> Any:
    """Rank-0 values are whole everywhere, whatever a rule says."""
    from jax.sharding import PartitionSpec

    return spec if getattr(value, "ndim", 0) else PartitionSpec()


def _specs_of_arguments(values: list[Any], given: tuple[Any, ...]) -> list[Any]:
    """For each argument a tree like it: a loader gives a spec an argument, or one for all of them, and a spec of a container holds for all that is in it."""
    import jax

    if len(given) not in (1, len(values)):
        raise LoaderError("no_partition_specs", f"get_input_activations_partition_spec gives {len(given)} specs for {len(values)} arguments")
    specs = given if len(given) == len(values) else given * len(values)
    return [jax.tree_util.tree_map(lambda leaf, spec=spec: _spec_of(leaf, spec), value) if isinstance(spec, jax.sharding.PartitionSpec) else spec
            for value, spec in zip(values, specs, strict=True)]


def _divided(value: Any, spec: Any, mesh: Any) -> str:
    """Why the spec cannot be that of the value; empty where every dimension comes in equal pieces."""
    from jax.sharding import PartitionSpec

    shape = getattr(value, "shape", ())
    if not isinstance(spec, PartitionSpec):
        return ""
    if len(spec) > len(shape):
        return f"its spec {spec} has {len(spec)} dimensions, the array {len(shape)}"
    for dimension, axes in enumerate(spec):
        names = (axes,) if isinstance(axes, str) else axes if isinstance(axes, tuple) else ()
        unknown = [name for name in names if name not in mesh.shape]
        if unknown:
            return f"its spec {spec} names the axis {unknown[0]}, and the mesh has {', '.join(mesh.shape)}"
        parts = math.prod(mesh.shape[name] for name in names)
        if shape[dimension] % parts:
            return f"dimension {dimension} of {shape[dimension]} does not come in {parts} equal pieces"
    return ""


def _check_divided(values: Any, specs: Any, mesh: Any) -> None:
    """A loader's specs may be for fewer devices: that is said of them, not of the model that JAX then refuses to trace."""
    import jax

    leaves = jax.tree_util.tree_flatten_with_path(values)[0]
    given = jax.tree_util.tree_leaves(specs, is_leaf=lambda value: isinstance(value, jax.sharding.PartitionSpec))
    for (path, value), spec in zip(leaves, given, strict=True):
        if why := _divided(value, spec, mesh):
            raise LoaderError("bad_shard_spec", f"the loader's partition specs are not for {mesh.size} devices: {jax.tree_util.keystr(path, simple=True, separator='.')}: {why}")


def on_mesh(loader: Any, model: Any, inputs: Any, run_mode: str, parallelism: str, mesh: Any) -> Call:
    """The call with every parameter and argument split as the loader says, results whole on every device."""
    import jax
    from jax.sharding import PartitionSpec

    is_training, kind = run_mode == "training", kind_of(model)
    member = _parallelism(parallelism)
    input_specs = loader.get_input_activations_partition_spec(mesh, axis_name=AXIS, parallelism=member)
    input_specs = (input_specs,) if isinstance(input_specs, PartitionSpec) else tuple(input_specs)
    common = {"model_for_multichip": model, "cpu_mesh": mesh, "input_activations_partition_specs": input_specs, "inputs": inputs}
    parameter_specs = call_named(loader.load_parameters_partition_spec, parallelism=member, **common)
    if hasattr(loader, "load_parameters"):
        parameters = call_named(loader.load_parameters, train=is_training, input_parameters_partition_specs=parameter_specs, **common)
    else:
        parameters = _parameters(loader, model, kind, is_training)
    is_spec = lambda value: isinstance(value, PartitionSpec)  # noqa: E731
    flat, structure = jax.tree_util.tree_flatten(parameters)
    given = jax.tree_util.tree_leaves(parameter_specs, is_leaf=is_spec)
    if len(given) != len(flat):
        raise LoaderError("no_partition_specs", f"load_parameters_partition_spec gives {len(given)} specs for {len(flat)} parameters")
    parameter_specs = jax.tree_util.tree_unflatten(structure, [_spec_of(value, spec) for value, spec in zip(flat, given, strict=True)])
    positional, named = _as_arguments(inputs)
    _check_divided(parameters, parameter_specs, mesh)
    own = call_named(loader.get_forward_method_kwargs, train=is_training, run_mode=run_mode) if hasattr(loader, "get_forward_method_kwargs") else _flags(type(model).__call__, is_training)
    each = _specs_of_arguments([*positional, *named.values()], input_specs)
    _check_divided([*positional, *named.values()], each, mesh)
    positional_specs, named_specs = tuple(each[:len(positional)]), dict(zip(named, each[len(positional):], strict=True))
    if kind == "nnx":
        forward = _nnx_forward(model)
        function = lambda params, *args, **kwargs: forward(params, *args, **{**kwargs, **own})  # noqa: E731
    else:
        inner = getattr(model, loader.get_forward_method_name() if hasattr(loader, "get_forward_method_name") else "apply")

        def function(params: Any, *args: Any, **kwargs: Any) -> Any:
            body = jax.shard_map(as_each_device(lambda params, args, kwargs: inner(params, *args, **{**kwargs, **own})), mesh=mesh,
                                 in_specs=(parameter_specs, positional_specs, named_specs), out_specs=PartitionSpec(), check_vma=False)
            return body(params, args, kwargs)

    return Call(function, (parameters, *positional), dict(named), kind, mesh, ((parameter_specs, *positional_specs), named_specs))
