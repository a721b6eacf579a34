"""Python callbacks on `cupel`: pure_callback, io_callback, debug callbacks and buffer_callback.

JAX lowers callbacks for a fixed list of platforms. Here each becomes a custom call whose attribute `key` names an entry of
a table of Python functions, answered by one FFI handler that the plugin calls back into this process.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import secrets
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from cupel import _ffi_frame, _pjrt

CALLBACK_TARGET = "cupel_python_callback"
BUFFER_TARGET = "cupel_python_buffer_callback"
INSPECT_TARGET = "cupel_inspect_sharding"

_lock = threading.Lock()
_functions: dict[int, Callable[..., Any]] = {}
# No two processes begin at the same number: an executable that comes from another one must not find a function here.
_keys = itertools.count(secrets.randbits(62) + 1)


class _Entry:
    """Keeps a function in the table for as long as an executable keeps this."""

    def __init__(self, function: Callable[..., Any]):
        self.key = next(_keys)
        with _lock:
            _functions[self.key] = function
        weakref.finalize(self, _functions.pop, self.key, None)


@contextlib.contextmanager
def _without_mesh() -> Iterator[None]:
    """The user's functions may be called on the thread that runs the program, where `jax.set_mesh` speaks of Cupel's devices;
    what they compute, JAX places on its CPU."""
    from jax._src import config, mesh

    abstract = config.abstract_mesh_context_manager.swap_local(mesh.empty_abstract_mesh)
    concrete = config.device_context.swap_local(mesh.empty_concrete_mesh)
    try:
        yield
    finally:
        config.abstract_mesh_context_manager.set_local(abstract)
        config.device_context.set_local(concrete)


def _function(key: int) -> Callable[..., Any]:
    function = _functions.get(key)
    if function is None:
        raise RuntimeError("this program calls a Python function of the process that compiled it, which is not here; compile it again in this one")
    return function


def _answer(key: int, operands: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
    # Operands are views of device memory that ends with the call; a callback may keep what it gets.
    with _without_mesh():
        values = _function(key)(*(operand.copy() for operand in operands))
    for result, value in zip(results, values, strict=True):
        result[...] = value


class _BufferContext:
    """What a buffer callback gets as its first argument; there is one stage."""

    def __init__(self) -> None:
        from jax._src import buffer_callback

        stage = getattr(buffer_callback, "ExecutionStage", None)
        self.stage = stage.EXECUTE if stage is not None else None

    @property
    def stream(self) -> int:
        import jax

        raise jax.errors.JaxRuntimeError("UNIMPLEMENTED: XLA FFI GPU context is not available: devices of cupel have no streams")


class _Buffer:
    """Device memory, lent for the length of one call."""

    def __init__(self, array: np.ndarray):
        self._array = array

    dtype = property(lambda self: self._array.dtype)
    ndim = property(lambda self: self._array.ndim)
    shape = property(lambda self: self._array.shape)
    writeable = property(lambda self: self._array.flags.writeable)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if dtype is not None and np.dtype(dtype) != self._array.dtype:
            return self._array.astype(dtype)
        return self._array.copy() if copy else self._array

    def __dlpack__(self, **options: Any) -> Any:
        # NumPy hands on no memory that must not be written to.
        array = self._array if self._array.flags.writeable else self._array.copy()
        return array.__dlpack__(**{name: value for name, value in options.items() if name == "max_version" and np.lib.NumpyVersion(np.__version__) >= "2.1.0"})

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()


def _answer_with_buffers(key: int, operands: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
    with _without_mesh():
        _function(key)(_BufferContext(), *(_Buffer(array) for array in (*operands, *results)))


def _answer_with_sharding(key: int, operands: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
    """The compiler says how a value is split: its kind, the parts of each dimension, the devices of the parts."""
    from jaxlib import xla_client

    function = _functions.get(key)
    if function is None:
        return  # A program from another process, where somebody asked.
    (kind,), tiles, devices = (operand.tolist() for operand in operands)
    sharding = xla_client.OpSharding()
    if kind == _TILED:
        sharding.type = xla_client.OpSharding.Type.OTHER
        copies = len(devices) // int(np.prod(tiles))
        sharding.tile_assignment_dimensions = tiles + ([copies] if copies > 1 else [])
        sharding.tile_assignment_devices = devices
        sharding.replicate_on_last_tile_dim = copies > 1
    else:
        sharding.type = xla_client.OpSharding.Type.MANUAL if kind == _MANUAL else xla_client.OpSharding.Type.REPLICATED
    function(xla_client.HloSharding.from_proto(sharding))


_TILED, _MANUAL = 1, 3  # Of tensor::Shards::Kind.

# Kept alive for ever: the plugin holds their addresses.
_handlers = {
    CALLBACK_TARGET: _ffi_frame.make_handler(_answer),
    BUFFER_TARGET: _ffi_frame.make_handler(_answer_with_buffers),
    INSPECT_TARGET: _ffi_frame.make_handler(_answer_with_sharding),
}


def _emit(ctx: Any, callback: Callable[..., Any], token: Any, operands: Sequence[Any], operand_avals: Sequence[Any], result_avals: Sequence[Any], *,
          has_side_effect: bool, returns_token: bool = True, partitioned: bool = False, sharding: Any = None) -> tuple[Any, Any, Any]:
    """JAX's emit_python_callback, for this platform."""
    from jax._src import core, dtypes, ffi
    from jax._src.interpreters import mlir

    if partitioned and result_avals:
        raise ValueError("Partitioned callback not supported with return values.")

    def checked(*args: np.ndarray) -> tuple[np.ndarray, ...]:
        values = callback(*args)
        if len(values) != len(result_avals):
            raise RuntimeError(f"Mismatched number of outputs from callback. Expected: {len(result_avals)}, Actual: {len(values)}")
        arrays = tuple(dtypes.canonicalize_value(np.asarray(value)) for value in values)
        for i, (array, aval) in enumerate(zip(arrays, result_avals)):
            if array.shape != aval.shape:
                raise RuntimeError(f"Incorrect output shape for return value #{i}: Expected: {aval.shape}, Actual: {array.shape}")
            if array.dtype != aval.dtype:
                raise RuntimeError(f"Incorrect output dtype for return value #{i}: Expected: {aval.dtype}, Actual: {array.dtype}")
        return arrays

    entry = _Entry(checked)
    ctx.module_context.add_keepalive(entry)
    if token:
        # The token orders the call and is not seen by the handler.
        operands = [token, *operands]
        if sharding is not None and hasattr(sharding, "shardings") and ctx.avals_out:
            first = sharding.shardings[0]
            sharding = type(sharding)((dataclasses.replace(first, mesh_shape=(), dim_shardings=()), *sharding.shardings))
        ctx = dataclasses.replace(ctx, avals_in=[core.abstract_token, *ctx.avals_in], avals_out=[core.abstract_token, *ctx.avals_out])
    build = ffi.build_ffi_lowering_function(CALLBACK_TARGET, has_side_effect=has_side_effect)
    result = build(ctx, *operands, key=np.uint64(entry.key))
    if sharding is not None:
        mlir.set_sharding(ctx.module_context, result, sharding)
    if partitioned:  # Every device calls with the piece that it has.
        result.attributes["mhlo.frontend_attributes"] = mlir.ir.DictAttr.get({"cupel_partitioned": mlir.ir.StringAttr.get("true")})
    results = list(result.results)
    if token:
        token, *results = results
    return results, token, entry


def _buffer_callback_rule(ctx: Any, *args: Any, callback: Callable[..., Any], in_tree: Any, out_tree: Any, has_side_effect: bool,
                          input_output_aliases: Sequence[tuple[int, int]], **_: Any) -> Any:
    from jax import tree_util
    from jax._src import ffi

    def call(context: _BufferContext, *buffers: _Buffer) -> None:
        count = in_tree.num_leaves
        arguments, keywords = tree_util.tree_unflatten(in_tree, buffers[:count])
        outputs = tree_util.tree_unflatten(out_tree, buffers[count:])
        if callback(context, outputs, *arguments, **keywords) is not None:
            raise ValueError("buffer_callback callback must not return any values.")

    entry = _Entry(call)
    ctx.module_context.add_keepalive(entry)
    rule = ffi.ffi_lowering(BUFFER_TARGET, has_side_effect=has_side_effect, operand_output_aliases=dict(input_output_aliases))
    return rule(ctx, *args, key=np.uint64(entry.key))


def _inspect_sharding_rule(ctx: Any, value: Any, *, callback: Callable[[Any], Any]) -> Any:
    """jax.debug.inspect_array_sharding: the compiler calls back once it knows."""
    from jax._src import ffi, sharding_impls
    from jax._src import mesh as mesh_lib

    context = ctx.module_context.axis_context
    mesh = mesh_lib.thread_resources.env.physical_mesh
    if isinstance(context, sharding_impls.SPMDAxisContext):
        mesh = context.mesh
        devices = mesh._flat_devices_tuple
    else:
        devices = context.device_assignment
        if context.abstract_mesh is not None:
            mesh = mesh_lib.Mesh(np.array(devices).reshape(context.abstract_mesh.axis_sizes), context.abstract_mesh.axis_names)

    def found(sharding: Any) -> None:
        if mesh.empty:
            callback(sharding_impls.GSPMDSharding(devices, sharding))
            return
        spec = sharding_impls.PartitionSpec() if sharding.is_manual() else sharding_impls.parse_flatten_op_sharding(sharding, mesh)[0]
        callback(sharding_impls.NamedSharding(mesh, spec))

    if len(devices) == 1:
        found(sharding_impls.replicated_hlo_sharding)
        return []
    entry = _Entry(found)
    ctx.module_context.add_keepalive(entry)
    ffi.build_ffi_lowering_function(INSPECT_TARGET, has_side_effect=True)(ctx, value, key=np.uint64(entry.key))
    return []


def register() -> None:
    import ctypes

    from jax._src import buffer_callback, callback, debugging
    from jax._src.interpreters import mlir

    from cupel.jax import PLATFORM

    for target, handler in _handlers.items():
        _pjrt.register_ffi_handler(target, ctypes.cast(handler, ctypes.c_void_p).value or 0)

    original = callback.emit_python_callback

    def emit_python_callback(ctx: Any, *args: Any, **options: Any) -> Any:
        emit = _emit if tuple(ctx.module_context.platforms) == (PLATFORM,) else original
        return emit(ctx, *args, **options)

    callback.emit_python_callback = emit_python_callback
    import jax.interpreters.mlir as public_mlir

    public_mlir.emit_python_callback = emit_python_callback
    mlir.register_lowering(buffer_callback.buffer_callback_p, _buffer_callback_rule, platform=PLATFORM)
    mlir.register_lowering(debugging.inspect_sharding_p, _inspect_sharding_rule, platform=PLATFORM)
