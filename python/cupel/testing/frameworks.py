"""What differs between JAX and PyTorch for a test: random inputs, the run on the CPU, the run on a device."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cupel._native import Array, Noise, RanOn, named_device, opened_device
from cupel.testing.comparison import POLICY
from cupel.worker.instructions import settle_once


class Framework(enum.Enum):
    JAX = "jax"
    TORCH = "torch"


def framework_of(values: Sequence[Any]) -> Framework | None:
    """By the module that the values' types come from; NumPy arrays are JAX's."""
    for value in values:
        root = type(value).__module__.partition(".")[0]
        if root == "torch":
            return Framework.TORCH
        if root in ("jax", "jaxlib", "numpy"):
            return Framework.JAX
    return None


def framework_of_function(function: Callable[..., Any]) -> Framework | None:
    """From the module a function was written in: a torch.nn.Module, or one whose globals hold only one of the two."""
    if any(base.__module__.startswith("torch.") for base in type(function).__mro__):
        return Framework.TORCH
    names = getattr(getattr(function, "__wrapped__", function), "__globals__", {})
    roots = {getattr(value, "__name__", "").partition(".")[0] for value in names.values() if type(value).__name__ == "module"}
    if ("jax" in roots) != ("torch" in roots):
        return Framework.JAX if "jax" in roots else Framework.TORCH
    return None


@dataclass(frozen=True)
class Ran:
    """What a function gave on the device and on the CPU, and the noise of the program that it became."""

    actual: list[Array]
    expected: list[Array]
    noise: Noise


class JaxRunner:
    """Runs on jax.devices("cupel"), or on the plugin that `--cupel-device` names, with JAX's CPU as the reference."""

    def random(self, shapes: Sequence[Sequence[int]], low: float, high: float, dtype: Any, seed: int) -> list[Any]:
        import jax
        import jax.numpy as jnp

        dtype = jnp.dtype(dtype or jnp.float32)
        values = []
        with jax.default_device(jax.devices("cpu")[0]):
            for key, shape in zip(jax.random.split(jax.random.key(seed), len(shapes)), shapes, strict=True):
                if dtype == jnp.bool_:
                    values.append(jax.random.bernoulli(key, 0.5, tuple(shape)))
                elif jnp.issubdtype(dtype, jnp.integer):
                    values.append(jax.random.randint(key, tuple(shape), int(low), int(high), dtype))
                elif jnp.issubdtype(dtype, jnp.complexfloating):
                    parts = jax.random.uniform(key, (2, *shape), minval=low, maxval=high)
                    values.append((parts[0] + 1j * parts[1]).astype(dtype))
                else:
                    values.append(jax.random.uniform(key, tuple(shape), jnp.float32, low, high).astype(dtype))
        return values

    def run(self, function: Callable[..., Any], inputs: Sequence[Any], keywords: Mapping[str, Any], artifacts: Path | None, given: Mapping[str, Any] | None = None) -> Ran:
        import jax

        from cupel.jax import PLATFORM, client_options, initialize

        initialize()
        tree = (tuple(inputs), dict(keywords))

        def call(arguments: Any) -> Any:
            return function(*arguments[0], **arguments[1])

        cpu, options = jax.devices("cpu")[0], dict(given or {})
        expected = jax.jit(call)(jax.device_put(tree, cpu))
        if POLICY.device == PLATFORM:
            placed = jax.device_put(tree, jax.devices(PLATFORM)[0])
            lowered = jax.jit(call).lower(placed)
            actual = [_of_jax(leaf) for leaf in jax.tree.leaves(lowered.compile(compiler_options=options | ({"export_path": str(artifacts)} if artifacts else {}))(placed))]
        else:
            actual = _on_plugin(call, tree, options, artifacts)

        def program() -> tuple[bytes, list[Array]]:
            return _program(call, tree), [_of_jax(leaf) for leaf in jax.tree.leaves(tree)]

        ran_on = RanOn(named_device(PLATFORM, client_options()) if POLICY.device == PLATFORM else POLICY.device, options)
        return Ran(actual, [_of_jax(leaf) for leaf in jax.tree.leaves(expected)], Noise(POLICY.precision_with(options), program, ran_on))


def _program(call: Callable[..., Any], tree: Any) -> bytes:
    """In StableHLO, with every array of the tree as an input."""
    import jax

    return jax.jit(call, keep_unused=True).trace(tree).lower(lowering_platforms=("cupel",)).as_text().encode()


def _on_plugin(call: Callable[..., Any], tree: Any, options: Mapping[str, Any], artifacts: Path | None) -> list[Array]:
    """On the plugin that `--cupel-device` names, through PJRT: JAX itself takes no plugin after its first use."""
    import jax

    from cupel._files import plugin_path

    named = POLICY.device_options()
    is_ours = named["device"] == "cupel"
    program = _program(call, tree)
    if artifacts:
        artifacts.mkdir(parents=True, exist_ok=True)
        (artifacts / "jax.stablehlo.mlir").write_bytes(program)
        options = {**options, **({"export_path": str(artifacts)} if is_ours else {})}
    device = opened_device(plugin_path() if is_ours else named["device"], named["client_options"])
    return device.compile(program, options).run([_of_jax(leaf) for leaf in jax.tree.leaves(tree)])


def _of_jax(value: Any) -> Array:
    import jax
    import numpy

    if isinstance(value, jax.Array) and jax.dtypes.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    # Numbers of Python have the types that JAX gives them; and what has no dimension keeps none.
    array = numpy.asarray(value if hasattr(value, "dtype") else jax.numpy.asarray(value), order="C")
    names = {"bool": "i1", "complex64": "complex<f32>", "complex128": "complex<f64>", "bfloat16": "bf16"}
    name = array.dtype.name
    letters = {"float": "f", "int": "i", "uint": "ui"}
    kind = name.rstrip("0123456789")
    text = names.get(name) or (letters[kind] + name[len(kind) :] if kind in letters else name.replace("float8_e", "f8E").replace("m", "M").upper().replace("F8", "f8"))
    return Array(array.ctypes.data, array.nbytes, tuple(array.shape), text, array)


class TorchRunner:
    """Runs with torch.compile(backend="cupel"), with eager torch on the CPU as the reference."""

    def random(self, shapes: Sequence[Sequence[int]], low: float, high: float, dtype: Any, seed: int) -> list[Any]:
        import torch

        dtype = dtype or torch.float32
        generator = torch.Generator().manual_seed(seed)
        values = []
        for shape in shapes:
            if dtype == torch.bool:
                values.append(torch.rand(tuple(shape), generator=generator) < 0.5)
            elif not dtype.is_floating_point and not dtype.is_complex:
                values.append(torch.randint(int(low), int(high), tuple(shape), generator=generator, dtype=dtype))
            else:
                unit = torch.rand((*shape, 2) if dtype.is_complex else tuple(shape), generator=generator)
                scaled = unit * (high - low) + low
                values.append((torch.view_as_complex(scaled) if dtype.is_complex else scaled).to(dtype))
        return values

    def run(self, function: Callable[..., Any], inputs: Sequence[Any], keywords: Mapping[str, Any], artifacts: Path | None, given: Mapping[str, Any] | None = None) -> Ran:
        import torch
        from torch.utils import _pytree as pytree

        from cupel.torch import backend
        from cupel.torch.arrays import to_array
        from cupel.torch.backend import watched

        fresh = lambda: pytree.tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, (tuple(inputs), dict(keywords)))  # noqa: E731
        options = {**POLICY.device_options(), **(given or {}), **({"export_path": str(artifacts)} if artifacts else {})}
        settle_once()
        torch._dynamo.reset()
        compiled = torch.compile(function, backend=lambda module, examples: backend(module, examples, options=options), fullgraph=True)
        with torch.no_grad():
            args, kwargs = fresh()
            # Copies: a function may give what it keeps, and the device must not write to what is expected.
            expected = pytree.tree_map(lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf, function(*args, **kwargs))
            args, kwargs = fresh()
            with watched() as calls:
                actual = compiled(*args, **kwargs)
        tensors = lambda tree: [to_array(leaf) for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]  # noqa: E731
        # Of a function that became several programs no single one says how its results round.
        single = len(calls) == 1
        noise = Noise(POLICY.precision, calls[0].program if single else None, calls[0].ran_on() if single else None)
        return Ran(tensors(actual), tensors(expected), noise)


def runner_for(framework: Framework) -> JaxRunner | TorchRunner:
    return JaxRunner() if framework is Framework.JAX else TorchRunner()
