"""The peers: each a function that loads a program and gives back how it is run. A new one is a function and a row of `PEERS`.

Peers import what they need themselves, so that their memory is theirs. Weights are constants where a peer reads a model,
and arguments where it reads StableHLO, as for our own device.
"""

from __future__ import annotations

import contextlib
import io
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cupel.bench.arrays import read_arrays


@dataclass
class Facts:
    """What `cupel bench` says of a program."""

    file: str
    form: str
    folder: str
    inputs: int
    input_names: list[str]
    expected: str
    threads: int

    def arguments(self) -> list[np.ndarray]:
        """Inputs, then weights, as the StableHLO program takes them."""
        return read_arrays(f"{self.folder}/inputs.safetensors")

    def own_inputs(self) -> list[np.ndarray]:
        """Without the weights, which a peer has from its model: its memory must not be charged with ours."""
        return read_arrays(f"{self.folder}/inputs.safetensors", self.inputs)


@dataclass
class Peer:
    version: str
    compile_seconds: float
    base_bytes: int
    run: Callable[[], Any]
    results: Callable[[], Sequence[Any]]
    note: str = ""


class CannotRead(RuntimeError):
    pass


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


# ---- ONNX -----------------------------------------------------------------------------------------------------------


def onnx_file(facts: Facts) -> str:
    """The model as ONNX: the file itself, one of the same name beside it, or what torch's exporter makes of it."""
    if facts.form == "onnx":
        return facts.file
    if facts.form != "pt2":
        raise CannotRead("it reads ONNX, which StableHLO cannot be made into")
    beside = os.path.splitext(facts.file)[0] + ".onnx"
    if os.path.exists(beside):
        return beside
    made = f"{facts.folder}/model.onnx"
    if not os.path.exists(made):
        import subprocess
        import sys

        # In a process of its own: what torch takes is not the peer's memory.
        script = "import sys, torch; torch.onnx.export(torch.export.load(sys.argv[1]), (), sys.argv[2], dynamo=True, verbose=False)"
        done = subprocess.run([sys.executable, "-c", script, facts.file, made], capture_output=True, text=True)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [""]
            raise CannotRead(f"torch's exporter makes no ONNX of it: {lines[-1]}")
    return made


def onnxruntime(facts: Facts) -> Peer:
    import onnxruntime as ort

    inputs, base, path = facts.own_inputs(), resident(), onnx_file(facts)
    begin = time.perf_counter()
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = facts.threads, 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    seconds = time.perf_counter() - begin
    binding = session.io_binding()
    for node, value in zip(session.get_inputs(), ordered(inputs, [node.name for node in session.get_inputs()], facts), strict=True):
        binding.bind_ortvalue_input(node.name, ort.OrtValue.ortvalue_from_numpy(value))
    for node in session.get_outputs():
        binding.bind_output(node.name)
    return Peer(ort.__version__, seconds, base, lambda: session.run_with_iobinding(binding), binding.copy_outputs_to_cpu)


def ordered(inputs: list[np.ndarray], names: list[str], facts: Facts) -> list[np.ndarray]:
    """The inputs in the order of the peer's names; by position where it has names of its own."""
    if len(names) != len(inputs):
        raise CannotRead(f"it takes {len(names)} inputs, the program {len(inputs)} (some decide shapes and are bound)")
    if set(names) == set(facts.input_names):
        return [inputs[facts.input_names.index(name)] for name in names]
    return inputs


def openvino(facts: Facts) -> Peer:
    return openvino_in(facts, "bf16" if any(str(a.dtype) == "bfloat16" for a in facts.own_inputs()) else "f32")


def openvino_bf16(facts: Facts) -> Peer:
    return openvino_in(facts, "bf16")


def openvino_in(facts: Facts, precision: str) -> Peer:
    import openvino as ov

    inputs, base, path = facts.own_inputs(), resident(), onnx_file(facts)
    begin = time.perf_counter()
    core = ov.Core()
    config = {"INFERENCE_NUM_THREADS": facts.threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": precision}
    compiled = core.compile_model(core.read_model(path), "CPU", config)
    request = compiled.create_infer_request()
    seconds = time.perf_counter() - begin
    names = [port.get_any_name() for port in compiled.inputs]
    for i, value in enumerate(ordered(inputs, names, facts)):
        if str(value.dtype) == "bfloat16":  # numpy has no such type: it is shown as f16
            tensor = ov.Tensor(ov.Type.bf16, ov.Shape(value.shape))
            tensor.data.view(np.uint16)[...] = value.view(np.uint16)
        else:
            tensor = ov.Tensor(value)
        request.set_input_tensor(i, tensor)

    def result(i: int) -> np.ndarray:
        tensor = request.get_output_tensor(i)
        data = np.array(tensor.data)
        return (data.view(np.uint16).astype(np.uint32) << 16).view(np.float32) if tensor.element_type == ov.Type.bf16 else data

    return Peer(ov.__version__.split("-")[0], seconds, base, request.infer, lambda: [result(i) for i in range(len(compiled.outputs))])


# ---- torch ----------------------------------------------------------------------------------------------------------


def to_torch(value: np.ndarray) -> Any:
    import torch

    if str(value.dtype) == "bfloat16":
        return torch.from_numpy(value.view(np.uint16).copy()).view(torch.bfloat16)
    return torch.from_numpy(value)


def torch_peer(facts: Facts, compiles: bool) -> Peer:
    import torch

    if facts.form != "pt2":
        raise CannotRead("it reads exported PyTorch programs (.pt2)")
    torch.set_num_threads(facts.threads)
    inputs, base = [to_torch(value) for value in facts.own_inputs()], resident()
    begin = time.perf_counter()
    module = torch.export.load(facts.file).module()
    if compiles:
        module = torch.compile(module)
    last: list[Any] = []

    def run() -> None:
        with torch.no_grad():
            last[:] = [module(*inputs)]

    if compiles:
        run()

    def results() -> list[Any]:
        out = last[0] if isinstance(last[0], (tuple, list)) else (last[0],)
        return [tensor.detach().to(torch.float32 if tensor.dtype == torch.bfloat16 else tensor.dtype).numpy() for tensor in out]

    return Peer(torch.__version__, time.perf_counter() - begin, base, run, results)


def torch_eager(facts: Facts) -> Peer:
    return torch_peer(facts, compiles=False)


def inductor(facts: Facts) -> Peer:
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", f"{facts.folder}/inductor")
    return torch_peer(facts, compiles=True)


# ---- StableHLO ------------------------------------------------------------------------------------------------------


def program_bytes(facts: Facts) -> bytes:
    with open(f"{facts.folder}/program.mlirbc", "rb") as file:
        return file.read()


def xla(facts: Facts) -> Peer:
    import jax

    jax.config.update("jax_enable_x64", True)  # 64-bit integers stay what they are
    import jax.extend
    from jax._src.interpreters.mlir import make_ir_context
    from jaxlib import xla_client
    from jaxlib.mlir.dialects import stablehlo

    client = jax.extend.backend.get_backend("cpu")
    device, base = client.local_devices()[0], resident()
    arguments = [jax.device_put(value, device) for value in facts.arguments()]
    code = program_bytes(facts)
    begin = time.perf_counter()
    with make_ir_context() as context:
        module = stablehlo.deserialize_portable_artifact(context, code)
        executable = client.compile_and_load(module, xla_client.DeviceList((device,)), xla_client.CompileOptions())
    seconds = time.perf_counter() - begin
    last: list[Any] = []

    def run() -> None:
        last[:] = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
        for shards in last:
            shards[0].block_until_ready()

    return Peer(jax.__version__, seconds, base, run, lambda: [np.asarray(shards[0]) for shards in last])


def iree(facts: Facts) -> Peer:
    import iree.compiler.tools as tools
    import iree.runtime as rt
    import iree.runtime.version as version

    base, begin = resident(), time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        binary = tools.compile_file(f"{facts.folder}/program.mlirbc", input_type="stablehlo", target_backends=["llvm-cpu"],
                                    extra_args=["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3", "--iree-opt-data-tiling",
                                                "--iree-llvmcpu-stack-allocation-limit=262144"])
    if facts.threads > 1:
        rt.flags.parse_flags(f"--task_topology_group_count={facts.threads}")
    config = rt.Config("local-task" if facts.threads > 1 else "local-sync")
    module = rt.VmModule.copy_buffer(config.vm_instance, binary)
    context = rt.SystemContext(vm_modules=[rt.create_hal_module(config.vm_instance, config.device), module], config=config)
    entry = next(name for name in module.function_names if not name.startswith("_") and "$async" not in name)
    function = context.modules[module.name][entry]
    arguments = [rt.asdevicearray(config.device, value) for value in facts.arguments()]
    seconds = time.perf_counter() - begin
    last: list[Any] = []

    def run() -> None:
        out = function(*arguments)
        last[:] = out if isinstance(out, (tuple, list)) else [out]

    return Peer(version.VERSION, seconds, base, run, lambda: [np.asarray(one.to_host()) for one in last])


PEERS: dict[str, Callable[[Facts], Peer]] = {"onnxruntime": onnxruntime, "openvino": openvino, "openvino_bf16": openvino_bf16, "torch": torch_eager, "inductor": inductor, "xla": xla, "iree": iree}
