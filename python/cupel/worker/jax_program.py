"""A call of a JAX model as a program: arrays in, arrays out; traced once, computed by JAX on the CPU and lowered to StableHLO for a device.

What is no array among the arguments is fixed. Inference gives the results of the call, training the gradients of
everything that is a float and the results. On a mesh the values are those pieces that each device has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from cupel.worker.golden_cache import GoldenCache, key_of, of_array, surroundings, to_arrays
from cupel.worker.jax_calls import Call
from cupel.worker.loaders import LoaderError
from cupel.worker.workload_folder import Contents


@dataclass
class Program:
    """A function of a flat list of arrays, with their values and names."""

    function: Callable[..., list[Any]]
    inputs: list[Any]
    names: list[str]
    result_names: list[str]
    shardings: list[Any] | None = None
    mesh: Any = None


def _is_array(value: Any) -> bool:
    return isinstance(value, (jax.Array, np.ndarray, np.generic))


def _as_jax(value: Any) -> Any:
    """Arrays in the types that a trace has for them: without 64-bit types, what NumPy and torch have of these is narrower."""
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "iufc":
        return np.asarray(value, jax.dtypes.canonicalize_dtype(value.dtype))
    return value


def _name(path: Any) -> str:
    words = (getattr(part, "name", None) or getattr(part, "key", None) or getattr(part, "idx", part) for part in path)
    return ".".join(str(word) for word in words)


def _is_key(value: Any) -> bool:
    return isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key)


def _flatten(call: Call) -> tuple[list[Any], list[str], list[Any], Callable[[list[Any]], Any]]:
    """The arrays of a call with names and specs, and how the call's (args, kwargs) are made from others like them."""
    mapped = jax.tree_util.tree_map(_as_jax, (call.args, call.kwargs))
    leaves, structure = jax.tree_util.tree_flatten_with_path(mapped)
    places = [i for i, (_, value) in enumerate(leaves) if _is_array(value)]
    specs: list[Any] = []
    if call.specs is not None:
        from jax.sharding import PartitionSpec

        given = jax.tree_util.tree_leaves(call.specs, is_leaf=lambda value: isinstance(value, PartitionSpec))
        specs = [given[i] for i in places]
    others = [value for _, value in leaves]

    def rebuilt(values: list[Any]) -> Any:
        whole = list(others)
        for place, value in zip(places, values, strict=True):
            whole[place] = value
        return jax.tree_util.tree_unflatten(structure, whole)

    names = [_name(leaves[i][0]).removeprefix("0.").removeprefix("1.") for i in places]
    return [leaves[i][1] for i in places], names, specs, rebuilt


def _values_of(result: Any) -> Any:
    """The same without what jax.jit does not give back: texts and objects, which no device computes."""
    return jax.tree_util.tree_map(lambda leaf: leaf if hasattr(leaf, "dtype") or isinstance(leaf, (bool, int, float, complex)) else None, result)


def _drawn(output: Any) -> Any:
    """The gradient of an output; each part of a complex one is drawn."""
    if not jax.numpy.issubdtype(output.dtype, jax.numpy.complexfloating):
        return jax.random.uniform(jax.random.key(0), output.shape, output.dtype)
    part = jax.numpy.finfo(output.dtype).dtype
    return jax.lax.complex(*(jax.random.uniform(jax.random.key(i), output.shape, part) for i in range(2)))


def inference(call: Call) -> Program:
    arrays, names, specs, rebuilt = _flatten(call)

    def whole(*values: Any) -> Any:
        args, kwargs = rebuilt(list(values))
        return _values_of(call.function(*args, **kwargs))

    def function(*values: Any) -> list[Any]:
        return jax.tree_util.tree_leaves(whole(*values))

    result_names = [_name(path) or "output" for path, _ in jax.tree_util.tree_flatten_with_path(jax.eval_shape(whole, *arrays))[0]]
    return _placed(Program(function, arrays, names, result_names), call, specs)


def training(call: Call, forward: Callable[[tuple[Any, ...], dict[str, Any]], Any]) -> Program:
    """A gradient of every float among parameters and arguments for output gradients drawn from [0, 1), then the results: backward comes before forward, as in the record of any training test."""
    arrays, names, specs, rebuilt = _flatten(call)
    floats = [i for i, value in enumerate(arrays) if not _is_key(value) and jax.numpy.issubdtype(value.dtype, jax.numpy.inexact)]

    def outputs(values: list[Any]) -> list[Any]:
        return jax.tree_util.tree_leaves(_values_of(forward(*rebuilt(values))))

    shapes = jax.eval_shape(lambda *values: outputs(list(values)), *arrays)
    used = [i for i, one in enumerate(shapes) if jax.numpy.issubdtype(one.dtype, jax.numpy.inexact)]
    if not used:
        raise LoaderError("no_output", "no result of the model is a float: there is nothing to go back from")
    drawn = [_drawn(shapes[i]) for i in used]

    def function(*values: Any) -> list[Any]:
        given, gradients = list(values[:len(arrays)]), list(values[len(arrays):])

        def differentiable(*chosen: Any) -> tuple[list[Any], list[Any]]:
            whole = list(given)
            for place, value in zip(floats, chosen, strict=True):
                whole[place] = value
            found = outputs(whole)
            return [found[i] for i in used], found

        _, pullback, found = jax.vjp(differentiable, *[given[i] for i in floats], has_aux=True)
        return [*pullback(gradients), *found]

    result_names = [f"gradient of {names[i]}" for i in floats] + [f"output {i}" if len(shapes) > 1 else "output" for i in range(len(shapes))]
    program = Program(function, arrays + drawn, names + [f"gradient of output {i}" for i in used], result_names)
    from jax.sharding import PartitionSpec

    return _placed(program, call, specs + [PartitionSpec()] * len(drawn) if specs else [])


def _placed(program: Program, call: Call, specs: list[Any]) -> Program:
    if call.mesh is None:
        return program
    from jax.sharding import NamedSharding

    program.mesh = call.mesh
    program.shardings = [NamedSharding(call.mesh, spec) for spec in specs]
    program.inputs = [jax.device_put(value, sharding) for value, sharding in zip(program.inputs, program.shardings, strict=True)]
    return program


class Traced:
    """A program traced once; golden results and the device's program come from the same trace."""

    def __init__(self, program: Program):
        self.program = program
        if program.mesh is None:
            jitted = jax.jit(program.function, keep_unused=True)
        else:
            from jax.sharding import NamedSharding, PartitionSpec

            whole = NamedSharding(program.mesh, PartitionSpec())
            jitted = jax.jit(program.function, keep_unused=True, in_shardings=tuple(program.shardings or ()), out_shardings=whole)
        self._trace = jitted.trace(*program.inputs)
        self._portable: bytes | None = None
        self.is_remembered = False

    def golden(self) -> list[Any]:
        """What JAX computes on the CPU, compiled as for any of its users; or computed, where an earlier test had the same program and inputs."""
        cache = GoldenCache()
        key = self._key() if cache.is_on else ""
        if (known := to_arrays(cache.find(key))) is not None:
            self.is_remembered = True
            return known
        results = self._trace.lower().compile()(*self.program.inputs)
        golden = [jax.block_until_ready(result) for result in results]
        cache.keep(key, {}, [of_array(_plain(one)) for one in golden])
        return golden

    def _key(self) -> str:
        """Empty where the program cannot be lowered: what is wrong with it is told when that is its turn."""
        try:
            program = self.portable()
        except Exception:
            return ""
        import jaxlib

        said = surroundings({"jax": jax.__version__, "jaxlib": jaxlib.__version__}, (__file__,)) | {"devices": self.program.mesh.size if self.program.mesh else 1}
        return key_of(said | {"precision": str(jax.config.jax_default_matmul_precision)}, [program], (of_array(_plain(one)) for one in self.program.inputs))

    def portable(self) -> bytes:
        """The program as JAX lowers it for our platform: what it has no rule of its own for is lowered as for every accelerator."""
        if self._portable is not None:
            return self._portable
        from jaxlib.mlir.dialects import stablehlo

        from cupel import jax as platform

        module = self._trace.lower(lowering_platforms=(platform.PLATFORM,)).compiler_ir("stablehlo")
        with module.context:
            self._portable = stablehlo.serialize_portable_artifact(module, stablehlo.get_current_version(), allow_other_dialects=True)
        return self._portable

    def contents(self, golden: list[Any]) -> Contents:
        """Everything that a device needs."""
        program = self.program
        if program.mesh is None:
            return Contents(self.portable(), [[_plain(value) for value in program.inputs]], [[_plain(value) for value in golden]], program.names)
        devices = list(program.mesh.devices.flat)
        pieces = [[_piece(value, device) for value in program.inputs] for device in devices]
        expected = [[_piece(value, device) for value in golden] for device in devices]
        return Contents(self.portable(), pieces, expected, program.names, {"partitions": len(devices), "use_spmd": True, "use_shardy": bool(jax.config.jax_use_shardy_partitioner)})


def _plain(value: Any) -> np.ndarray:
    return np.asarray(jax.random.key_data(value) if _is_key(value) else value)


def _piece(value: Any, device: Any) -> np.ndarray:
    if isinstance(value, np.ndarray):
        return value  # Remembered results: whole on every device.
    data = jax.random.key_data(value) if _is_key(value) else value
    return np.asarray(next(shard.data for shard in data.addressable_shards if shard.device == device))
