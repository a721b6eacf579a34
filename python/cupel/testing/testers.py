"""Op and graph tests: a function of JAX or PyTorch run on a device and compared with the framework's own result on the CPU.

    def test_add():
        run_op_test_with_random_inputs(jnp.add, [(32, 32), (32, 32)])

Results are judged by Cupel's own rule (docs/reference/compare.md) unless the test configures comparators. With pytest's `request` fixture passed on, `--serialize` writes the stages of the compilation and the mark `filecheck` checks them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cupel.testing.arguments import choice, interval
from cupel.testing.artifacts import Artifacts
from cupel.testing.comparison import ComparisonConfig, check
from cupel.testing.frameworks import Framework, framework_of, framework_of_function, runner_for


def _framework(function: Callable[..., Any], inputs: Sequence[Any], given: Framework | str | None) -> Framework:
    if isinstance(given, Framework):
        return given
    if given is not None:
        return Framework(choice("framework", given, [one.value for one in Framework]))
    found = framework_of(inputs) or framework_of_function(function)
    if found is None:
        raise ValueError("neither the inputs nor the function say whether this is JAX or PyTorch; pass framework='jax' or 'torch'")
    return found


def _run(
    function: Callable[..., Any], inputs: Sequence[Any], keywords: Mapping[str, Any], config: ComparisonConfig | None, framework: Framework, request: Any,
    options: Mapping[str, Any] | None
) -> None:
    if options and framework is not Framework.TORCH:
        raise ValueError(f"torch_options are for PyTorch, and this is {framework.value}")
    artifacts = Artifacts.of(request)
    ran = runner_for(framework).run(function, inputs, keywords, artifacts.folder if artifacts else None, options)
    if not ran.expected:
        raise ValueError("the function returns no tensor: there is nothing to compare")
    if artifacts:
        artifacts.finish()
    check(ran.actual, ran.expected, config, ran.noise)


def run_op_test(
    op: Callable[..., Any],
    inputs: Sequence[Any],
    comparison_config: ComparisonConfig | None = None,
    framework: Framework | str | None = None,
    request: Any = None,
    torch_options: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> None:
    """Runs `op(*inputs, **keywords)` on the device and on the CPU and compares every result; `torch_options` are those of torch.compile."""
    _run(op, inputs, keywords, comparison_config, _framework(op, inputs, framework), request, torch_options)


def run_op_test_with_random_inputs(
    op: Callable[..., Any],
    input_shapes: Sequence[Sequence[int]],
    minval: float = 0.0,
    maxval: float = 1.0,
    comparison_config: ComparisonConfig | None = None,
    dtype: Any = None,
    framework: Framework | str | None = None,
    request: Any = None,
    seed: int = 0,
    torch_options: Mapping[str, Any] | None = None,
    **keywords: Any,
) -> None:
    """The same with inputs of these shapes, uniform in [minval, maxval); bools are half True."""
    dtype_framework = Framework.TORCH if type(dtype).__module__.partition(".")[0] == "torch" else None
    chosen = _framework(op, [], framework or dtype_framework)
    interval("minval to maxval", (minval, maxval))
    if not all(isinstance(shape, (list, tuple)) for shape in input_shapes):
        raise ValueError(f"input_shapes has a shape an input, e.g. [(2, 3), ()], and is {input_shapes!r}")
    if chosen is Framework.TORCH and dtype is not None and dtype_framework is None:
        raise ValueError(f"dtype is one of torch's, e.g. torch.float32, not {dtype!r}")
    inputs = runner_for(chosen).random(input_shapes, minval, maxval, dtype, seed)
    _run(op, inputs, keywords, comparison_config, chosen, request, torch_options)


# A graph is a function of several operators; it is tested like one.
run_graph_test = run_op_test
run_graph_test_with_random_inputs = run_op_test_with_random_inputs
