"""How far a model tester goes and what it does on the way: tt-torch's settings with their environment variables.

What has no meaning on a PJRT device is taken and named as ignored; nothing is silently dropped.
"""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

from cupel.testing.arguments import flag, member, number


class CompileDepth(Enum):
    TORCH_FX = 1
    """The framework's graph is captured, no more."""
    STABLEHLO = 2
    TTNN_IR = 3
    """Compiled for the device; the framework runs in its place."""
    COMPILE_OP_BY_OP = 4
    EXECUTE_OP_BY_OP = 5
    EXECUTE = 6

    @property
    def is_op_by_op(self) -> bool:
        return self in (CompileDepth.COMPILE_OP_BY_OP, CompileDepth.EXECUTE_OP_BY_OP)


class OpByOpBackend(Enum):
    TORCH = 1
    STABLEHLO = 2


class IgnoredSetting(UserWarning):
    """A setting that was asked for and changes nothing here."""


DIALECTS = ("STABLEHLO", "TTIR", "TTNN")


def _ignored(default: Any, why: str) -> Any:
    factory = {"default_factory": default} if callable(default) else {"default": default}
    return field(**factory, metadata={"ignored": why})


# Of tt-torch's variables, those that no setting stands for and that change nothing.
_IGNORED_VARIABLES = {
    "TT_TORCH_FORCE_EXPERIMENTAL_BACKEND": "there is one backend", "TT_TORCH_FORCE_LEGACY_BACKEND": "there is one backend",
    "TT_TORCH_DISABLE_MODEL_REQS": "testers run in the interpreter that pytest runs in", "TT_TORCH_VERBOSE_MEMORY_TRACKER": "no memory is tracked"}
# Those that switch a setting on by a whole number, and all others that are read.
_FLAG_VARIABLES = {
    "TT_TORCH_VERIFY_OP_BY_OP": "verify_op_by_op", "TT_TORCH_VERIFY_INTERMEDIATES": "enable_intermediate_verification", "TT_TORCH_CONSTEVAL": "enable_consteval",
    "TT_TORCH_CONSTEVAL_PARAMETERS": "consteval_parameters", "TT_TORCH_OPTIMIZER": "enable_optimizer", "TT_TORCH_INLINE_PARAMETERS": "inline_parameters",
    "TT_TORCH_SAVE_BINARY": "dump_binary"}
_VARIABLES = ("TT_TORCH_COMPILE_DEPTH", "TT_TORCH_CHECK_ALL_OPS_EXECUTE", "TT_TORCH_IR_LOG_LEVEL", "TT_TORCH_SAVE_MLIR", *_FLAG_VARIABLES, *_IGNORED_VARIABLES)
_OWN_COMPILER = "the device's compiler decides"
_PLACEMENT = "where values lie is the plugin's"


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{name} is a text, not {value!r}")
    return value


def _options(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{name} has options by their names, e.g. {{'optimization_level': 1}}, and is {value!r}")
    return dict(value)


def _dialects(name: str, value: Any) -> list[str] | None:
    if value is None:
        return None
    if isinstance(value, str) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{name} is a list of names, not {value!r}; there are {', '.join(DIALECTS)}")
    if unknown := [one for one in value if one not in DIALECTS]:
        raise ValueError(f"{name}: there is no {', '.join(unknown)}; there are {', '.join(DIALECTS)}")
    return list(value)


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "compile_depth": lambda name, value: member(name, value, CompileDepth), "op_by_op_backend": lambda name, value: member(name, value, OpByOpBackend),
    "verify_op_by_op": flag, "check_all_ops_execute": flag, "enable_intermediate_verification": flag, "dump_info": flag, "dump_debug": flag, "profile_ops": flag,
    "single_op_timeout": lambda name, value: number(name, value, 0, is_open=True), "save_mlir_override": _dialects, "results_path": _text, "model_name": _text,
    "model_group": _text, "output_mlir_dir": _text, "compile_options": _options}


@dataclass
class CompilerConfig:
    """Settings of a tester. The environment beats what a test sets: it is looked at here and again when the test runs."""

    compile_depth: CompileDepth = CompileDepth.EXECUTE
    op_by_op_backend: OpByOpBackend = OpByOpBackend.TORCH
    verify_op_by_op: bool = False
    """Op by op, wrong results of operations are told as warnings."""
    check_all_ops_execute: bool = False
    """Op by op, the test fails unless every operation executes."""
    single_op_timeout: float = 30
    enable_intermediate_verification: bool = False
    """After the run, every call's result is compared and printed as CSV."""
    save_mlir_override: list[str] | None = None
    """Which of STABLEHLO, TTIR and TTNN go to model_mlir/<model>_<dialect>.mlir."""
    dump_info: bool = False
    dump_debug: bool = False
    """Either: every graph's StableHLO is printed."""
    results_path: str = "results/models/"
    model_name: str = ""
    model_group: str = ""
    output_mlir_dir: str = "model_mlir"
    compile_options: dict[str, Any] = field(default_factory=dict)
    """Ours: the plugin's own compile options."""

    profile_ops: bool = True
    """Times of operations are always measured."""
    enable_consteval: bool = _ignored(False, _OWN_COMPILER)
    consteval_parameters: bool = _ignored(False, _OWN_COMPILER)
    enable_optimizer: bool = _ignored(False, _OWN_COMPILER + "; compile_options has the plugin's own")
    inline_parameters: bool = _ignored(False, "parameters are arguments")
    dump_binary: bool = _ignored(False, "PJRT gives no flatbuffer")
    output_binary_dir: str = _ignored("model_flatbuffer", "PJRT gives no flatbuffer")
    typecast_inputs: bool = _ignored(True, "inputs keep their types")
    automatic_parallelization: bool = _ignored(False, "models run on one device")
    mesh_shape: list[int] = _ignored(lambda: [1, 1], "models run on one device")
    xla_mesh: Any = _ignored(None, "models run on one device")
    device_map: Any = _ignored(dict, "models run on one device")
    push_outputs_to_cpu: bool = _ignored(True, "results are the host's")
    cache_preprocessed_constants: bool = _ignored(False, _PLACEMENT)
    arg_type_map_override: Any = _ignored(None, _PLACEMENT)

    torch_mlir_module: str | None = field(default=None, repr=False)
    stablehlo_mlir_module: str | None = field(default=None, repr=False)
    unique_ops: dict[str, Any] = field(default_factory=dict, repr=False)
    stable_hlo_ops: list[Any] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self.apply_environment_overrides()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dataclass_fields__:
            warnings.warn(IgnoredSetting(f"CompilerConfig.{name} changes nothing: there is no such setting"), stacklevel=2)
        super().__setattr__(name, _CHECKS[name](f"CompilerConfig.{name}", value) if name in _CHECKS else value)

    def apply_environment_overrides(self) -> None:
        """TT_TORCH_* as tt-torch reads them: flags only switch on."""
        if depth := os.environ.get("TT_TORCH_COMPILE_DEPTH"):
            if depth not in CompileDepth.__members__:
                raise ValueError(f"TT_TORCH_COMPILE_DEPTH={depth}: there are {', '.join(CompileDepth.__members__)}")
            self.compile_depth = CompileDepth[depth]
        for variable, name in _FLAG_VARIABLES.items():
            value = os.environ.get(variable, "")
            if value and not value.lstrip("-").isdigit():
                raise ValueError(f"{variable}={value}: an integer switches it on")
            if value and int(value):
                setattr(self, name, True)
        if os.environ.get("TT_TORCH_CHECK_ALL_OPS_EXECUTE"):  # Any text, as there.
            self.check_all_ops_execute = True
        level = os.environ.get("TT_TORCH_IR_LOG_LEVEL", "")
        if level not in ("", "INFO", "DEBUG"):
            raise ValueError(f"TT_TORCH_IR_LOG_LEVEL={level}: there are INFO and DEBUG")
        self.dump_info |= level == "INFO"
        self.dump_debug |= level == "DEBUG"
        if dialects := os.environ.get("TT_TORCH_SAVE_MLIR"):
            self.save_mlir_override = [one.strip() for one in dialects.split(",")]

    def ignored(self) -> dict[str, str]:
        """Settings that differ from their defaults and change nothing, with the reason."""
        defaults = {one.name: one.default_factory() if callable(one.default_factory) else one.default for one in fields(self)}
        return {one.name: one.metadata["ignored"] for one in fields(self) if "ignored" in one.metadata and getattr(self, one.name) != defaults[one.name]}

    def warn_of_ignored(self, has_torch_operations: bool = True) -> None:
        for name, why in self.ignored().items():
            warnings.warn(IgnoredSetting(f"CompilerConfig.{name} changes nothing: {why}"), stacklevel=3)
        for name, why in _IGNORED_VARIABLES.items():
            if os.environ.get(name):
                warnings.warn(IgnoredSetting(f"{name} changes nothing: {why}"), stacklevel=3)
        for name in sorted(name for name in os.environ if name.startswith("TT_TORCH_") and name not in _VARIABLES):
            near = difflib.get_close_matches(name, _VARIABLES, 1)
            warnings.warn(IgnoredSetting(f"{name} changes nothing: there is no such variable" + (f"; did you mean {near[0]}?" if near else "")), stacklevel=3)
        if self.verify_op_by_op and self.compile_depth is not CompileDepth.EXECUTE_OP_BY_OP:
            warnings.warn(IgnoredSetting("CompilerConfig.verify_op_by_op is for the depth EXECUTE_OP_BY_OP alone"), stacklevel=3)
        if has_torch_operations and self.op_by_op_backend is OpByOpBackend.STABLEHLO and self.compile_depth not in (CompileDepth.COMPILE_OP_BY_OP, CompileDepth.EXECUTE_OP_BY_OP):
            warnings.warn(IgnoredSetting("CompilerConfig.op_by_op_backend is for the depths COMPILE_OP_BY_OP and EXECUTE_OP_BY_OP alone"), stacklevel=3)

    def to_dict(self) -> dict[str, Any]:
        return {
            "compile_depth": self.compile_depth.name, "profile_ops": self.profile_ops, "torch_mlir_module": self.torch_mlir_module,
            "stablehlo_mlir_module": self.stablehlo_mlir_module, "unique_ops": self.unique_ops, "stable_hlo_ops": self.stable_hlo_ops, "model_name": self.model_name,
            "results_path": self.results_path, "single_op_timeout": self.single_op_timeout, "enable_consteval": self.enable_consteval,
            "enable_optimizer": self.enable_optimizer, "_consteval_parameters": self.consteval_parameters,
            "_enable_intermediate_verification": self.enable_intermediate_verification, "_verify_op_by_op": self.verify_op_by_op,
        }
