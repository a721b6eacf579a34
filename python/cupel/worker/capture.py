"""Records what torch calls while a function runs, as the program of a torch.export archive (schema 8, TRAINING dialect).

One run on the CPU gives both the expected result and the program: the calls are seen as they enter torch's dispatcher, before torch takes
composite operators apart, which is what torch.export sees too. That costs microseconds where an export costs tens of milliseconds.
"""

from __future__ import annotations

import math
from typing import Any, Callable

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from cupel.worker.inputs import tensors_in
from cupel.worker.uninitialised import gives_uninitialised_memory

SCHEMA_VERSION = {"major": 8, "minor": 20}

_DTYPE_NUMBERS = {
    getattr(torch, name): number
    for name, number in (("uint8", 1), ("int8", 2), ("int16", 3), ("int32", 4), ("int64", 5), ("float16", 6), ("float32", 7), ("float64", 8),
                         ("complex32", 9), ("complex64", 10), ("complex128", 11), ("bool", 12), ("bfloat16", 13), ("uint16", 28),
                         ("float8_e4m3fn", 29), ("float8_e5m2", 30), ("float8_e4m3fnuz", 31), ("float8_e5m2fnuz", 32),
                         ("float8_e8m0fnu", 33), ("uint32", 34), ("uint64", 35))
    if hasattr(torch, name)
}
_LAYOUT_NUMBERS = {torch.sparse_coo: 1, torch.sparse_csr: 2, torch.sparse_csc: 3, torch.sparse_bsr: 4, torch.sparse_bsc: 5, torch.strided: 7}
_MEMORY_FORMAT_NUMBERS = {torch.contiguous_format: 1, torch.channels_last: 2, torch.channels_last_3d: 3, torch.preserve_format: 4}
_RANDOM = ("rand", "randn", "randint", "randperm", "bernoulli", "normal", "multinomial", "poisson", "native_dropout", "uniform", "exponential")


class CannotCapture(Exception):
    """The program holds something that its form has no place for."""


def _float(value: float) -> Any:
    return value if math.isfinite(value) else "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def can_be_held(tensor: torch.Tensor) -> bool:
    """Whether a program of dense tensors has a place for it."""
    return not tensor.is_nested and tensor.layout == torch.strided and tensor.dtype in _DTYPE_NUMBERS


class Program(TorchDispatchMode):
    """The calls made while it is entered. Inputs are declared first; tensors of unknown origin become further inputs."""

    def __init__(self) -> None:
        super().__init__()
        self.inputs: list[torch.Tensor] = []
        self._copies: list[torch.Tensor] = []  # Of inputs that came in later, as they were then.
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []  # Names go by identity: nothing may die meanwhile.
        self._metas: dict[str, Any] = {}
        self._nodes: list[dict[str, Any]] = []
        self._declared = 0
        self.is_random = False
        self.may_be_uninitialised = False
        self.mutated: list[torch.Tensor] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Nothing here is ever compiled by torch, and saying so to torch costs it two seconds of imports.
        return False

    # --- values --------------------------------------------------------------------------------------------------------------------------

    def declare(self, tensor: torch.Tensor) -> None:
        self._input(tensor)
        self._declared = len(self.inputs)

    def constants(self) -> list[torch.Tensor]:
        """The values of inputs that nobody declared: constants of the function."""
        return self._copies

    def _input(self, tensor: torch.Tensor) -> str:
        name = f"arg_{len(self.inputs)}"
        self.inputs.append(tensor)
        self._bind(tensor, name)
        return name

    def _bind(self, tensor: torch.Tensor, name: str) -> None:
        if tensor.layout not in _LAYOUT_NUMBERS or tensor.dtype not in _DTYPE_NUMBERS:
            raise CannotCapture(f"a tensor of the type {tensor.dtype} and the layout {tensor.layout} cannot be exported")
        self._names[id(tensor)] = name
        self._kept.append(tensor)
        is_strided = tensor.layout == torch.strided
        self._metas[name] = {
            "dtype": _DTYPE_NUMBERS[tensor.dtype],
            "sizes": [{"as_int": size} for size in tensor.shape],
            "requires_grad": False,
            "device": {"type": "cpu", "index": None},
            "strides": [{"as_int": stride} for stride in tensor.stride()] if is_strided else [],
            "storage_offset": {"as_int": tensor.storage_offset() if is_strided else 0},
            "layout": _LAYOUT_NUMBERS[tensor.layout],
        }

    def name_of(self, tensor: torch.Tensor) -> str:
        name = self._names.get(id(tensor))
        if name is None:
            name = self._input(tensor)
            self._copies.append(tensor.detach().clone())
        return name

    # --- calls ---------------------------------------------------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        # Arguments are named before the call, which may change them.
        schema = func._schema.arguments
        inputs = [{"name": schema[i].name, "arg": self._argument(value, schema[i].type), "kind": 1} for i, value in enumerate(args)]
        by_name = {argument.name: argument for argument in schema}
        inputs += [{"name": name, "arg": self._argument(value, by_name[name].type), "kind": 2} for name, value in kwargs.items()]
        result = self._run(func)(*args, **kwargs)
        name = func._schema.name.replace("::", ".")
        operator = name.rpartition(".")[2]
        self.is_random |= any(operator == one or operator in (one + "_", one + "_like") for one in _RANDOM)
        self.may_be_uninitialised |= gives_uninitialised_memory(func)
        self.is_random |= operator in ("dropout", "dropout_") and len(args) > 2 and bool(args[2]) and args[1] != 0
        for argument, value in zip(schema, args):
            if argument.alias_info is not None and argument.alias_info.is_write:
                self.mutated += [tensor for tensor in tensors_in(value) if not any(tensor is known for known in self.mutated)]
        overload = func._schema.overload_name or "default"
        self._nodes.append({"target": f"torch.ops.{name}.{overload}", "inputs": inputs, "outputs": self._outputs(result, len(func._schema.returns)), "metadata": {},
                            "is_hop_single_tensor_return": None})
        return result

    def _run(self, func: Any) -> Callable[..., Any]:
        """What computes the call."""
        return func

    def _outputs(self, result: Any, count: int) -> list[Any]:
        def bound(tensor: torch.Tensor) -> dict[str, str]:
            name = f"value_{len(self._metas)}"
            self._bind(tensor, name)
            return {"name": name}

        def one(value: Any) -> dict[str, Any]:
            if isinstance(value, torch.Tensor):
                return {"as_tensor": bound(value)}
            if isinstance(value, (list, tuple)):
                return {"as_tensors": [bound(tensor) for tensor in value]}
            if value is None:
                return {"as_none": True}
            raise CannotCapture(f"a call gives {type(value).__name__}, which depends on the values of tensors")

        if count == 0:
            return []
        return [one(result)] if count == 1 else [one(value) for value in result]

    def _argument(self, value: Any, kind: Any) -> dict[str, Any]:
        if value is None:
            return {"as_none": True}
        if isinstance(value, torch.Tensor):
            return {"as_tensor": {"name": self.name_of(value)}}
        if isinstance(value, bool):
            return {"as_bool": value}
        if isinstance(value, int):
            return {"as_int": value}
        if isinstance(value, float):
            return {"as_float": _float(value)}
        if isinstance(value, complex):
            return {"as_complex": {"real": _float(value.real), "imag": _float(value.imag)}}
        if isinstance(value, str):
            return {"as_string": value}
        if isinstance(value, torch.dtype) and value not in _DTYPE_NUMBERS:
            raise CannotCapture(f"the type {value} cannot be exported")
        if isinstance(value, torch.dtype):
            return {"as_scalar_type": _DTYPE_NUMBERS[value]}
        if isinstance(value, torch.layout):
            return {"as_layout": _LAYOUT_NUMBERS[value]}
        if isinstance(value, torch.memory_format):
            return {"as_memory_format": _MEMORY_FORMAT_NUMBERS[value]}
        if isinstance(value, torch.device):
            return {"as_device": {"type": value.type, "index": value.index}}
        if isinstance(value, (list, tuple)):
            return self._list(list(value), str(kind))
        raise CannotCapture(f"an argument of the type {type(value).__name__} cannot be exported")

    def _list(self, values: list[Any], kind: str) -> dict[str, Any]:
        if any(isinstance(value, torch.Tensor) for value in values) or "Tensor" in kind:
            if all(isinstance(value, torch.Tensor) for value in values):
                return {"as_tensors": [{"name": self.name_of(value)} for value in values]}
            return {"as_optional_tensors": [{"as_none": True} if value is None else {"as_tensor": {"name": self.name_of(value)}} for value in values]}
        if values and all(isinstance(value, bool) for value in values):
            return {"as_bools": values}
        if all(isinstance(value, int) for value in values) and not ("float" in kind and values):
            return {"as_floats": []} if "float" in kind else {"as_ints": [int(value) for value in values]}
        if all(isinstance(value, (int, float)) for value in values):
            return {"as_floats": [_float(float(value)) for value in values]}
        if all(isinstance(value, str) for value in values):
            return {"as_strings": values}
        raise CannotCapture(f"a list of {', '.join(sorted({type(value).__name__ for value in values}))} cannot be exported")

    # --- the whole -----------------------------------------------------------------------------------------------------------------------

    def model(self, results: list[torch.Tensor]) -> dict[str, Any]:
        """model.json, with these results; every input is a user input."""
        outputs = [{"as_tensor": {"name": self.name_of(tensor)}} for tensor in results]
        inputs = [{"as_tensor": {"name": f"arg_{i}"}} for i in range(len(self.inputs))]
        leaf = {"type": None, "context": None, "children_spec": []}

        def tree(kind: str, children: list[Any], context: str = "null") -> dict[str, Any]:
            return {"type": kind, "context": context, "children_spec": children}

        import json
        in_spec = json.dumps([1, tree("builtins.tuple", [tree("builtins.tuple", [leaf] * len(inputs)), tree("builtins.dict", [], "[]")])])
        out_spec = json.dumps([1, tree("builtins.tuple", [leaf] * len(outputs))])
        return {
            "graph_module": {
                "graph": {"inputs": inputs, "outputs": outputs, "nodes": self._nodes, "tensor_values": self._metas, "sym_int_values": {},
                          "sym_bool_values": {}, "sym_float_values": {}, "custom_obj_values": {}, "is_single_tensor_return": False},
                "signature": {"input_specs": [{"user_input": {"arg": argument}} for argument in inputs],
                              "output_specs": [{"user_output": {"arg": argument}} for argument in outputs]},
                "module_call_graph": [{"fqn": "", "signature": {"inputs": [], "outputs": [], "in_spec": in_spec, "out_spec": out_spec,
                                                               "forward_arg_names": [f"arg_{i}" for i in range(len(inputs))]}}],
                "metadata": {}, "treespec_namedtuple_fields": {},
            },
            "opset_version": {"aten": 10}, "range_constraints": {}, "schema_version": SCHEMA_VERSION, "verifiers": ["TRAINING"],
            "torch_version": torch.__version__, "guards_code": [],
        }


def run_and_capture(function: Callable[..., Any], positional: list[Any], named: dict[str, Any]) -> tuple[Any, Program]:
    """Calls the function; its result and the program of what it did."""
    program = Program()
    for tensor in tensors_in(positional) + tensors_in(named):
        program.declare(tensor)
    with torch.inference_mode(), program:
        result = function(*positional, **named)
    return result, program
