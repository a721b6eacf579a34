"""The tensor that training goes back from, of whatever a model gives.

The loader says which (`unpack_forward_output`). What loaders inherit from their zoo knows results by the names of their classes and refuses every other one: there a rule
takes its place, and the record says what it took (the note `training output`). Never overrules a loader that has an answer, or one that fails in another way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from cupel.torch.graphs import one_line
from cupel.torch.structure import realized, results_of
from cupel.worker.loaders import LoaderError

# How a zoo's registry begins when it has no handler.
_NO_HANDLER = "No handler for class"


def _reached(tensor: torch.Tensor) -> set[int]:
    """The leaves that a gradient of this tensor comes to, by identity."""
    if tensor.grad_fn is None:
        return {id(tensor)}
    found, seen, waiting = set(), {tensor.grad_fn}, [tensor.grad_fn]
    while waiting:
        step = waiting.pop()
        if (leaf := getattr(step, "variable", None)) is not None:
            found.add(id(leaf))
        for following, _ in step.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
    return found


def _is_loss(path: str) -> bool:
    return path.split(".")[0].endswith("loss")


def chosen_paths(result: Any) -> list[str]:
    """The fewest tensors of a result from which every parameter is reached that any of them reaches; the shallowest and first where several do as well. None where no tensor has a gradient.

    A loss is one number: it counts only where there is nothing else.
    """
    found = [(path, tensor) for path, tensor in results_of(result) if tensor.requires_grad and (tensor.is_floating_point() or tensor.is_complex())]
    left = {path: _reached(tensor) for path, tensor in [pair for pair in found if not _is_loss(pair[0])] or found}
    paths: list[str] = []
    while left:
        best = max(left, key=lambda path: (len(left[path]), -path.count(".")))  # Of equal ones the first.
        reached = left.pop(best)
        paths.append(best)
        left = {path: more for path, others in left.items() if (more := others - reached)}
    return paths


def joined(result: Any, paths: Sequence[str]) -> torch.Tensor:
    """The tensors of these paths, as one."""
    by_path = dict(results_of(result))
    if len(paths) == 1:
        return by_path[paths[0]]
    return torch.cat([by_path[path].flatten() for path in paths])


class TrainingOutput:
    """Takes the output out of results of one model: the first result decides how, and all that follow are taken alike."""

    def __init__(self, loader: Any, paths: Sequence[str] = ()):
        self._loader = loader
        self.paths = list(paths)
        """Chosen by the rule; none: by the loader."""
        self.note = ""

    def __call__(self, result: Any) -> torch.Tensor:
        if self.paths:
            return joined(realized(result), self.paths)
        try:
            output = self._loader.unpack_forward_output(result)
        except Exception as error:
            said = f"unpack_forward_output fails on a {type(result).__name__}: {one_line(error)}"
            if not (isinstance(error, ValueError) and str(error).startswith(_NO_HANDLER)) or isinstance(result, torch.Tensor):
                raise LoaderError("no_output", said) from error
            name = type(result).__name__
            result = realized(result)
            self.paths = chosen_paths(result)
            if not self.paths:
                raise LoaderError("no_output", f"{said}; and no tensor in it depends on a parameter that wants a gradient") from error
            self.note = (f"{', '.join(path or 'the result' for path in self.paths)} of a {name}, for which the zoo's unpack_forward_output has no handler: "
                         + ("all parameters that it depends on are reached from there" if len(self.paths) == 1 else "taken as one, since none of them alone depends on all parameters"))
            return joined(result, self.paths)
        if not isinstance(output, torch.Tensor):
            raise LoaderError("no_output", f"unpack_forward_output gives a {type(output).__name__}, which is no tensor")
        return output
