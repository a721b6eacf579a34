"""Testers of whole models with tt-xla's interface: derive, say what the model and its inputs are, `test()`.

    class MNISTMLPTester(JaxModelTester):
        def _get_model(self): ...
        def _get_forward_method_name(self): return "apply"
        def _get_input_activations(self): ...
        def _get_forward_method_args(self): ...

A test that configures no comparator, or the default one, is judged by Cupel's strict rule.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cupel._native import Noise
from cupel.testing.arguments import member
from cupel.testing.artifacts import Artifacts
from cupel.testing.comparison import POLICY, Comparison, ComparisonConfig, check, checked
from cupel.testing.compiler_config import CompileDepth, CompilerConfig
from cupel.testing.frameworks import JaxRunner


class RunMode(enum.Enum):
    INFERENCE = "inference"
    TRAINING = "training"

    def __str__(self) -> str:
        return self.value


def _options_of(compiler_config: Any) -> dict[str, Any]:
    """The device compiler's own options: a mapping, or what a CompilerConfig has of them."""
    if isinstance(compiler_config, CompilerConfig):
        if compiler_config.compile_depth is not CompileDepth.EXECUTE:
            raise ValueError(f"compile_depth {compiler_config.compile_depth.name} is ModelTester's: this tester executes")
        compiler_config.warn_of_ignored()
        return dict(compiler_config.compile_options)
    if compiler_config is not None and not isinstance(compiler_config, Mapping):
        raise ValueError(f"compiler_config has the compiler's options by name, e.g. {{'optimization_level': 1}}, and is {compiler_config!r}")
    return dict(compiler_config or {})


class FrameworkModelTester:
    """What testers of both frameworks have in common."""

    default_method = ""

    def __init__(self, comparison_config: ComparisonConfig | None = None, run_mode: RunMode = RunMode.INFERENCE, compiler_config: Mapping[str, Any] | None = None) -> None:
        self._comparison_config = None if checked(comparison_config) == ComparisonConfig() else comparison_config
        self._run_mode = member("run_mode", run_mode, RunMode)
        self._compiler_config = _options_of(compiler_config)
        self._model = self._get_model()

    def _get_model(self) -> Any:
        """The model."""
        raise NotImplementedError("derive from the tester and give it _get_model()")

    def _get_input_activations(self) -> Any:
        """What the model is called with."""
        raise NotImplementedError("derive from the tester and give it _get_input_activations()")

    def _get_forward_method_name(self) -> str:
        """The method of the model that is tested."""
        return self.default_method

    def _get_forward_method_args(self) -> Sequence[Any]:
        """Its positional arguments."""
        given = self._get_input_activations()
        if isinstance(given, Mapping):
            return []
        return list(given) if isinstance(given, (list, tuple)) else [given]

    def _get_forward_method_kwargs(self) -> Mapping[str, Any]:
        """Its arguments by name."""
        given = self._get_input_activations() if self._takes_default_arguments() else None
        return dict(given) if isinstance(given, Mapping) else {}

    def _takes_default_arguments(self) -> bool:
        return type(self)._get_forward_method_args is FrameworkModelTester._get_forward_method_args

    def _get_static_argnames(self) -> Sequence[str]:
        """Arguments by name that are no inputs of the program."""
        return []

    def _forward(self) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
        """The method with its static arguments bound, and the others."""
        method = getattr(self._model, self._get_forward_method_name())
        kwargs = dict(self._get_forward_method_kwargs())
        static = {name: kwargs.pop(name) for name in self._get_static_argnames() if name in kwargs}
        return (lambda *a, **k: method(*a, **k, **static)), list(self._get_forward_method_args()), kwargs

    def test(self, request: Any = None) -> list[Comparison]:
        """Runs the model on the device and on the CPU and compares; with `request`, --serialize and the mark filecheck act."""
        artifacts = Artifacts.of(request)
        actual, expected, noise = self._run(artifacts)
        if not expected:
            raise ValueError("the model returns no tensor: there is nothing to compare")
        if artifacts:
            artifacts.finish()
        return check(actual, expected, self._comparison_config, noise)

    def _run(self, artifacts: Artifacts | None) -> tuple[list[Any], list[Any], Noise]:
        raise NotImplementedError


class JaxModelTester(FrameworkModelTester):
    """Tests a JAX model: flax's `nnx` and `linen`, or anything with a method that jax.jit takes. Training is `jax.vjp` with output gradients drawn
    from [0, 1) with key 0; compared are the outputs and the gradient of every float that goes in."""

    default_method = "__call__"

    def _get_input_parameters(self) -> Any:
        """The model's parameters, where the method takes them before the activations."""
        return None

    def _get_forward_method_args(self) -> Sequence[Any]:
        parameters, given = self._get_input_parameters(), self._get_input_activations()
        rest = [] if isinstance(given, Mapping) else list(given) if isinstance(given, (list, tuple)) else [given]
        return rest if parameters is None else [parameters, *rest]

    def _takes_default_arguments(self) -> bool:
        return type(self)._get_forward_method_args is JaxModelTester._get_forward_method_args

    def _wrap(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        if self._run_mode is RunMode.INFERENCE:
            return forward
        import jax
        import jax.numpy as jnp

        def train(*args: Any, **kwargs: Any) -> Any:
            leaves, tree = jax.tree.flatten((args, kwargs))
            moves = [jnp.issubdtype(jnp.result_type(leaf), jnp.inexact) for leaf in leaves]

            def of_floats(floats: Any) -> Any:
                given = iter(floats)
                a, k = jax.tree.unflatten(tree, [next(given) if move else leaf for leaf, move in zip(leaves, moves, strict=True)])
                return forward(*a, **k)

            outputs, pull_back = jax.vjp(of_floats, [leaf for leaf, move in zip(leaves, moves, strict=True) if move])
            drawn = jax.tree.map(lambda one: jax.random.uniform(jax.random.key(0), one.shape, jnp.float32).astype(one.dtype), outputs)
            return pull_back(drawn), outputs

        return train

    def _run(self, artifacts: Artifacts | None) -> tuple[list[Any], list[Any], Noise]:
        forward, args, kwargs = self._forward()
        ran = JaxRunner().run(self._wrap(forward), args, kwargs, artifacts.folder if artifacts else None, self._compiler_config)
        return ran.actual, ran.expected, ran.noise


class TorchModelTester(FrameworkModelTester):
    """Tests a torch.nn.Module. Training: forward, `_unpack_forward_output`, backward with a seeded gradient; compared are the output and the gradient of
    every parameter."""

    default_method = "forward"

    def _unpack_forward_output(self, output: Any) -> Any:
        """The tensor that is trained on."""
        import torch
        from torch.utils import _pytree as pytree

        if isinstance(output, torch.Tensor):
            return output
        tensors = [leaf for leaf in pytree.tree_leaves(output) if isinstance(leaf, torch.Tensor)]
        if len(tensors) != 1:
            raise ValueError(f"the output is a {type(output).__name__} of {len(tensors)} tensors; override _unpack_forward_output")
        return tensors[0]

    def _run(self, artifacts: Artifacts | None) -> tuple[list[Any], list[Any], Noise]:
        import torch
        from torch.utils import _pytree as pytree

        from cupel.torch import backend
        from cupel.torch.arrays import to_array
        from cupel.torch.backend import watched
        from cupel.torch.model_state import ModelState, settled
        from cupel.torch.structure import replaced
        from cupel.worker.instructions import settle_once

        settle_once()
        options: dict[str, Any] = POLICY.device_options() | {"compile_options": self._compiler_config}
        if artifacts:
            options["export_path"] = str(artifacts.folder)
        model, training = self._model, self._run_mode is RunMode.TRAINING
        model.train(training)
        forward, args, kwargs = self._forward()

        def fresh() -> Any:
            return replaced((args, kwargs), lambda tensor: tensor.detach().clone().requires_grad_(tensor.requires_grad))

        def once(call: Callable[..., Any]) -> list[Any]:
            torch.manual_seed(0)
            a, k = fresh()
            if not training:
                with torch.no_grad():
                    return [leaf for leaf in pytree.tree_leaves(self._leaves(call(*a, **k))) if isinstance(leaf, torch.Tensor)]
            model.zero_grad()
            output = self._unpack_forward_output(call(*a, **k))
            gradient = torch.randn(output.shape, generator=torch.Generator().manual_seed(0)).to(output.dtype)
            output.backward(gradient=gradient)
            grads = {name: one.grad.clone() for name, one in model.named_parameters() if one.grad is not None}
            model.zero_grad()
            self._none_grads.append(sorted(name for name, one in model.named_parameters() if one.requires_grad and name not in grads))
            return [*grads.values(), output.detach()]

        self._none_grads: list[list[str]] = []
        before = ModelState(model)
        # Copies: a model may give tensors that it keeps, and the device must not write to what is expected.
        expected = [one.detach().clone() for one in once(forward)]
        state, _ = settled(before, model, lambda: once(forward), expected)
        state.put_back()
        torch._dynamo.reset()
        compiled = torch.compile(forward, backend=lambda module, examples: backend(module, examples, options=options), dynamic=False)
        with watched() as calls:
            actual = once(compiled)
        if not calls:
            raise RuntimeError("nothing of the model ran on the device: torch.compile made no graph of it (TORCH_LOGS=graph_breaks says why)")
        if training and self._none_grads[0] != self._none_grads[-1]:
            raise AssertionError(f"CPU and device have different None grad parameters: {self._none_grads[0]} and {self._none_grads[-1]}")
        # Of a model that became several programs no single one says how its results round.
        single = len(calls) == 1 and not training
        noise = Noise(POLICY.precision_with(self._compiler_config), calls[0].program if single else None, calls[0].ran_on() if single else None)
        return [to_array(one) for one in actual], [to_array(one) for one in expected], noise

    @staticmethod
    def _leaves(output: Any) -> Any:
        return output.to_tuple() if hasattr(output, "to_tuple") else output
