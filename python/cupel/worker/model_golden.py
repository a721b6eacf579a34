"""The golden result of a model: the very module, eager, on the CPU, in the dtype it was loaded in; before anything is captured.

Where an earlier test computed it the graph alone is made here, and its results come from remembered.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from cupel.torch.captured import Capture, capture, exported, first_difference
from cupel.torch.captured_training import capture_training, joint
from cupel.torch.graphs import Graph
from cupel.torch.model_state import ModelState, WeightsWritten, settled
from cupel.torch.sound_kernels import sound_kernels, sound_sums
from cupel.torch.structure import Flat, describe, realized, replaced, results_of
from cupel.worker.llm import Padding
from cupel.worker.loaders import LoaderError
from cupel.worker.seeds import seed_all, seeds_drawn_alike
from cupel.worker.training_output import TrainingOutput


@dataclass
class Golden:
    """What is expected, and the function that a device has to compute it with."""

    flat: Flat
    expected: list[torch.Tensor]
    result_names: list[str]
    facts: dict[str, Any] = field(default_factory=dict)
    capture: Callable[..., Capture] | None = None
    """To the graphs of the model that gave this; with True, torch.export's is compared with the model."""
    gradient: torch.Tensor | None = None
    """Of the output, in training."""
    output_paths: list[str] = field(default_factory=list)
    """Where that output is in the model's result, if the loader does not say it."""
    again: Callable[[], list[torch.Tensor]] | None = None
    """Runs the model once more, from where its first run began, and gives what ends `expected`."""

    def differs_again(self) -> str:
        """How another run of the model is off from the first, though all that can be seeded is seeded alike; empty where it is not, or nobody can say."""
        if self.again is None:
            return ""
        self.flat.begin()
        try:
            with seeds_drawn_alike():
                results = self.again()
        except Exception:
            return ""
        finally:
            self.flat.begin()
        return first_difference(results, self.expected[-len(results):] if results else self.expected)


def _cloned(value: Any) -> Any:
    """Caches are written to: each run starts from the same state."""
    return replaced(value, lambda tensor: tensor.detach().clone())


def _generators(value: Any) -> list[torch.Generator]:
    """Those among the arguments: each run moves them on."""
    if isinstance(value, torch.Generator):
        return [value]
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return [one for item in items for one in _generators(item)]


def _check_values(found: list[tuple[str, torch.Tensor]]) -> None:
    """Raises for results that hold nothing a device's could be compared with."""
    for path, tensor in found:
        name = f"the model's result '{path}'" if path else "the model's result"
        if tensor.device.type != "cpu":
            raise LoaderError("no_tensor", f"{name} is on device '{tensor.device}': it has no values to compare with")
        if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized:
            kind = "nested" if tensor.is_nested else "quantized" if tensor.is_quantized else str(tensor.layout).removeprefix("torch.")
            raise LoaderError("no_tensor", f"{name} is {kind}: only dense tensors can be compared")


def _is_finite(tensors: list[torch.Tensor]) -> bool:
    # torch asks no float of 8 bits for it.
    return all(bool(torch.isfinite(tensor.float() if tensor.element_size() == 1 else tensor).all()) for tensor in tensors if tensor.is_floating_point())


def _told(calls: list[str]) -> dict[str, Any]:
    """Which of torch's calls were made otherwise, and how often."""
    return {"golden_calls": {call: calls.count(call) for call in dict.fromkeys(calls)}} if calls else {}


@contextlib.contextmanager
def plain_encoders() -> Iterator[None]:
    """torch's encoder layers as they are written. Outside of graphs torch takes a shorter way through them, which gives zeros at positions that are padding, and others do not."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


def _settle_state(before: ModelState, model: torch.nn.Module, flat: Flat, again: Callable[[], list[torch.Tensor]], expected: list[torch.Tensor]) -> dict[str, Any]:
    """Decides what state the model is captured from."""
    try:
        begins, is_first = settled(before, model, again, expected)
    except WeightsWritten as error:
        raise LoaderError("not_captured", str(error)) from error
    flat.begin = begins.put_back
    return {"state": "the model gives another result when it is called again; every run begins with the state it was loaded with"} if is_first else {}


def _give_sizes(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], seed: int) -> None:
    """Lazy layers get their sizes in a run of their own, before anything is kept of the model. One that no run goes through has no values, and no graph a place for it: it goes."""
    stores = [store for module in model.modules() for store in (module._parameters, module._buffers)]
    if not any(torch.nn.parameter.is_lazy(tensor) for store in stores for tensor in store.values()):
        return
    seed_all(seed)
    own_args, own_kwargs = _cloned((args, kwargs))
    with torch.no_grad(), sound_kernels():
        model(*own_args, **own_kwargs)
    for store in stores:
        store.update((name, None) for name, tensor in store.items() if torch.nn.parameter.is_lazy(tensor))


@seeds_drawn_alike()
def golden_inference(loader: Any, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], seed: int, padding: Padding | None = None) -> Golden:
    def judged(result: Any) -> list[torch.Tensor]:
        """What is compared: every tensor of the result, without positions that are padding."""
        return [padding.left_out(tensor) if padding else tensor for _, tensor in results_of(realized(result))]

    _give_sizes(model, args, kwargs, seed)

    def call() -> Any:
        own_args, own_kwargs = _cloned((args, kwargs))
        seed_all(seed)
        return realized(model(*own_args, **own_kwargs))

    def again() -> list[torch.Tensor]:
        with torch.no_grad(), sound_kernels():
            return judged(call())

    before = ModelState(model, _generators((args, kwargs)))
    with torch.no_grad(), sound_kernels() as replaced:
        output = call()
    found = results_of(output)
    _check_values(found)
    expected = [tensor.detach().clone() for tensor in judged(output)]
    flat = Flat(model, args, kwargs, judged, seed)
    facts = {"output": f"{type(output).__name__} {describe(output)}" if not isinstance(output, torch.Tensor) else describe(output), "finite": _is_finite(expected)}
    with torch.no_grad(), sound_kernels():
        facts |= _settle_state(before, model, flat, lambda: judged(call()), expected)
    return Golden(flat, expected, [path or "output" for path, _ in found], facts | _told(replaced), seeds_drawn_alike()(lambda is_checked=False: capture(flat, expected, seed, is_checked)), again=again)


class _Counted(torch.nn.Module):
    """What counts of an output; the positions are a buffer, which a graph takes as it takes weights."""

    def __init__(self, padding: Padding | None):
        super().__init__()
        self._padding = padding
        if padding:
            self.register_buffer("positions", padding.kept)

    def forward(self, output: torch.Tensor) -> torch.Tensor:
        return self._padding.left_out(output, self.positions) if self._padding else output


@seeds_drawn_alike()
def golden_training(loader: Any, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], seed: int, padding: Padding | None = None) -> Golden:
    """Forward in train mode, the output that the loader picks, and every parameter's gradient for a drawn gradient of that output.

    Positions that are padding are left out of the comparison of the output; gradients come from all of them.
    """
    output_of = TrainingOutput(loader)
    _give_sizes(model, args, kwargs, seed)
    parameters = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    buffers = {name: buffer.detach().clone() for name, buffer in model.named_buffers()}  # Running statistics move; both sides start alike.

    def call() -> torch.Tensor:
        own_args, own_kwargs = _cloned((args, kwargs))
        seed_all(seed)
        return output_of(model(*own_args, **own_kwargs))

    def again() -> list[torch.Tensor]:
        with torch.enable_grad(), sound_kernels():
            return [judged(call().detach())]

    before = ModelState(model, _generators((args, kwargs)))
    with torch.enable_grad(), sound_kernels() as replaced:
        output = call()
        _check_values([("", output)])
        if not output.is_floating_point() and not output.is_complex():
            raise LoaderError("no_output", f"unpack_forward_output gives {describe(output)}, which has no gradient")
        gradient = torch.randn(output.shape, dtype=output.dtype)
        with sound_sums(replaced):
            output.backward(gradient=gradient)
    found = {name: parameter.grad for name, parameter in parameters.items()}
    model.zero_grad(set_to_none=True)
    for name, buffer in model.named_buffers():
        buffer.data.copy_(buffers[name])
    without = sorted(name for name, one in found.items() if one is None)
    gradients = {name: one for name, one in found.items() if one is not None}
    judged = _Counted(padding)
    expected = [*gradients.values(), judged(output.detach()).clone()]  # Backward first, as upstream tells it.
    flat = Flat(model, args, kwargs, lambda result: [output_of(result)], seed)
    facts = {"output": describe(output), "finite": _is_finite(expected), "gradients": len(gradients)} | ({"without_gradient": without} if without else {})
    facts |= {"training_output": output_of.note} if output_of.note else {}
    with torch.enable_grad(), sound_kernels():  # As the first run was: models ask for it, and so do loaders that look for an output with a gradient.
        facts |= _settle_state(before, model, flat, lambda: [call().detach()], [output.detach()])
    return Golden(flat, expected, [*gradients, "output"], facts | _told(replaced),
                  seeds_drawn_alike()(lambda is_checked=False: capture_training(flat, gradient, list(gradients), expected, seed, judged, is_checked)), gradient, output_of.paths, again)


def _unknown(count: int) -> list[torch.Tensor]:
    return [torch.empty(0)] * count


@seeds_drawn_alike()
def export_inference(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], count: int, seed: int, padding: Padding | None = None) -> Graph:
    """The graph of a model that nobody has run, of whose `count` results nothing is expected yet; raises where torch.export gives none."""
    flat = Flat(model, args, kwargs, lambda result: [padding.left_out(tensor) if padding else tensor for _, tensor in results_of(realized(result))], seed)
    with torch.no_grad():
        return exported(flat, _unknown(count), seed)


@seeds_drawn_alike()
def export_training(loader: Any, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], gradient: torch.Tensor, names: list[str], seed: int,
                    padding: Padding | None = None, output_paths: Sequence[str] = ()) -> Graph:
    """The same of forward and backward: the gradients by `names` and the output, for this gradient of it."""
    output_of = TrainingOutput(loader, output_paths)
    flat = Flat(model, args, kwargs, lambda result: [output_of(result)], seed)
    return joint(flat, gradient, names, _unknown(len(names) + 1), seed, _Counted(padding))
