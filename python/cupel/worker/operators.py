"""From the name of an operator in a case file to what is called. Names are looked up in a fixed set of places, never evaluated."""

from __future__ import annotations

import difflib
import operator
from typing import Any, Callable

import torch
import torch.nn.functional

# Where `torch.<place>.<name>` may point to.
_PLACES: dict[str, Any] = {
    "torch.nn.functional": torch.nn.functional,
    "torch.special": torch.special,
    "torch.linalg": torch.linalg,
    "torch.fft": torch.fft,
    "torch.functional": torch.functional,
}
_NAMESPACES = ("aten", "prims")
_PYTHON_OPERATORS = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "neg", "pos", "abs", "invert", "and_", "or_", "xor",
                 "lshift", "rshift", "eq", "ne", "lt", "le", "gt", "ge", "getitem", "iadd", "isub", "imul", "itruediv")
}


class UnknownOperator(Exception):
    """The name means nothing here; the message says what is near."""


def _set_item(tensor: torch.Tensor, index: Any, value: Any) -> torch.Tensor:
    tensor[index] = value
    return tensor


def _is_operator_of_torch(name: str) -> bool:
    return hasattr(torch._C._VariableFunctions, name) or name in torch.functional.__all__ or name in ("softmax", "log_softmax")


def _method(name: str) -> Callable[..., Any]:
    method = getattr(torch.Tensor, name)

    def call(tensor: torch.Tensor, *arguments: Any, **attributes: Any) -> Any:
        return method(tensor, *arguments, **attributes)

    call.__name__ = name
    return call


def _without_randomness(function: Callable[..., Any]) -> Callable[..., Any]:
    """Dropout as it is at inference, unless the case asks for training: otherwise no two runs agree."""

    def call(*arguments: Any, **attributes: Any) -> Any:
        if len(arguments) < 3:
            attributes.setdefault("training", False)
        return function(*arguments, **attributes)

    return call


def _python_operator(name: str) -> Callable[..., Any] | None:
    name = name.strip("_") if name.startswith("__") else name
    if name == "setitem":
        return _set_item
    return _PYTHON_OPERATORS.get(name) or _PYTHON_OPERATORS.get(name + "_")


def resolve(name: str) -> Callable[..., Any]:
    """`torch.add`, `torch.nn.functional.softmax`, `torch.ops.aten.view[.default]`, `torch.view` (a method), `torch.getitem`..."""
    place, _, last = name.rpartition(".")
    if place in ("operator", "_operator"):
        if found := _python_operator(last):
            return found
    elif name.startswith("torch.ops."):
        parts = name.split(".")[2:]
        if 2 <= len(parts) <= 3 and parts[0] in _NAMESPACES and all(part and not part.startswith("__") for part in parts[1:]):
            packet = getattr(getattr(torch.ops, parts[0]), parts[1], None)
            found = packet if packet is None or len(parts) == 2 else getattr(packet, parts[2], None)
            if isinstance(found, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
                return found
            if packet is not None and len(parts) == 3:
                raise UnknownOperator(f"'{'.'.join(parts[:2])}' has no overload '{parts[2]}'; there are: {', '.join(packet.overloads())}")
    elif place == "torch.Tensor":
        if last in ("__getitem__", "__setitem__"):
            return _python_operator(last)
        if callable(getattr(torch.Tensor, last, None)) and (not last.startswith("_") or _python_operator(last)):
            return _method(last)
    elif place in _PLACES:
        found = getattr(_PLACES[place], last, None)
        if callable(found) and not last.startswith("_"):
            return _without_randomness(found) if "dropout" in last else found
    elif place == "torch.nn" and callable(getattr(torch.nn.functional, last, None)) and not last.startswith("_"):
        return getattr(torch.nn.functional, last)
    elif place in ("torch", "torch.aten"):
        if _is_operator_of_torch(last) and callable(getattr(torch, last, None)) and not last.startswith("_"):
            return getattr(torch, last)
        if found := _python_operator(last) if last in ("getitem", "setitem") or last.startswith("__") else None:
            return found
        if not last.startswith("_") and callable(getattr(torch.Tensor, last, None)):
            return _method(last)
        if found := _python_operator(last):
            return found
    raise UnknownOperator(_no_such(name))


def _no_such(name: str) -> str:
    place = name.rpartition(".")[0]
    if place in _PLACES:
        known = [f"{place}.{one}" for one in dir(_PLACES[place]) if not one.startswith("_")]
    elif place.startswith("torch.ops.aten"):
        known = ["torch.ops.aten." + one.removeprefix("aten::").partition(".")[0] for one in torch._C._dispatch_get_all_op_names()
                 if one.startswith("aten::")]
    else:
        known = [f"torch.{one}" for one in (*dir(torch._C._VariableFunctions), *dir(torch.Tensor)) if not one.startswith("_")]
        known += [f"torch.nn.functional.{one}" for one in dir(torch.nn.functional) if not one.startswith("_")]
    near = difflib.get_close_matches(name, known, 1)
    return f"there is no operator '{name}'" + (f"; did you mean '{near[0]}'?" if near else "")
