"""Exports real JAX programs as portable artifacts, MLIR bytecode and text into a folder.

Usage: export_programs.py OUT [--small]

Every program NAME yields
  NAME.export.mlir.bc    what jax.export serialises (JAX picks the StableHLO version)
  NAME.X.Y.Z.mlir.bc     portable artifacts for several target versions
  NAME.plain.mlir.bc     the module as MLIR bytecode, in the stablehlo dialect itself
  NAME.mlir              the module as text with locations
and a line in index.tsv: file, dialect (vhlo or stablehlo), target version, and what Cupel must do with it: `read`,
or `prepare` for plain bytecode, whose container must come through the
guard (operations of newer MLIR may have other properties than those of MLIR 19). `--small` writes the set that is checked
in under data/. Tests use the exports to prove that artifacts of JAX are read unchanged.
"""

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import argparse
import io
import pathlib
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax import lax
from jax._src.interpreters import mlir
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

# "current" is the newest version that this jaxlib writes.
TARGET_VERSIONS = ("1.0.0", "1.8.0", "1.13.7", "current")


def spec(*shape: int, dtype=jnp.float32, sharding=None) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def mesh() -> Mesh:
    return Mesh(np.array(jax.devices()[:8]).reshape(2, 4), ("data", "model"))


class Program:
    """A function with the arguments to trace it with."""

    def __init__(self, name: str, function: Callable, *arguments, small: bool = True, every_form: bool = False):
        self.name = name
        self.function = function
        self.arguments = arguments
        self.small = small
        self.every_form = every_form


def mlp() -> Program:
    def forward(parameters, inputs):
        for weights, bias in parameters:
            inputs = jax.nn.relu(inputs @ weights + bias)
        return jax.nn.softmax(inputs)

    parameters = [(spec(784, 128), spec(128)), (spec(128, 10), spec(10))]
    return Program("mlp", forward, parameters, spec(32, 784))


def mlp_gradient() -> Program:
    def loss(weights, inputs, labels):
        logits = jnp.tanh(inputs @ weights)
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * labels, axis=-1))

    step = jax.value_and_grad(loss)
    return Program("mlp_gradient", step, spec(16, 8), spec(4, 16), spec(4, 8), small=False)


def attention() -> Program:
    def attend(query, key, value):
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, key) / jnp.sqrt(query.shape[-1])
        length = scores.shape[-1]
        mask = jnp.tril(jnp.ones((length, length), bool))
        weights = jax.nn.softmax(jnp.where(mask, scores, -1e9))
        return jnp.einsum("bhqk,bkhd->bqhd", weights, value)

    shape = spec(2, 16, 4, 8, dtype=jnp.bfloat16)
    return Program("attention", attend, shape, shape, shape)


def convolution() -> Program:
    def network(images, filters):
        features = lax.conv_general_dilated(
            images, filters, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        return lax.reduce_window(features, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    return Program("convolution", network, spec(2, 32, 32, 3), spec(3, 3, 3, 8))


def loops() -> Program:
    def run(state, inputs):
        def body(carry, element):
            carry = jnp.sin(carry) * element
            return carry, carry.sum()

        state, sums = lax.scan(body, state, inputs)
        state = lax.while_loop(lambda s: s.sum() < 100.0, lambda s: s * 1.5 + 1.0, state)
        state = lax.cond(sums[0] > 0, lambda s: s + 1, lambda s: s - 1, state)
        return state, sums

    return Program("loops", run, spec(4), spec(10, 4))


def sorting() -> Program:
    def run(values, indices):
        ordered = jnp.sort(values, axis=-1)
        largest, where = lax.top_k(values, 3)
        return ordered, largest, where, values[indices], jnp.zeros(8).at[indices].add(1.0)

    return Program("sorting", run, spec(8, 16), spec(5, dtype=jnp.int32))


def sharded() -> Program:
    devices = mesh()

    def run(inputs, weights):
        outputs = inputs @ weights
        outputs = lax.with_sharding_constraint(outputs, NamedSharding(devices, PartitionSpec("data", "model")))
        return jnp.tanh(outputs).sum(axis=0)

    rows = NamedSharding(devices, PartitionSpec("data", None))
    columns = NamedSharding(devices, PartitionSpec(None, "model"))
    return Program("sharded", run, spec(16, 32, sharding=rows), spec(32, 64, sharding=columns))


def manual() -> Program:
    devices = mesh()

    def local(block):
        total = lax.psum(block.sum(axis=0), "data")
        return lax.all_gather(total, "model", tiled=True)

    run = jax.shard_map(
        local,
        mesh=devices,
        in_specs=PartitionSpec("data", "model"),
        out_specs=PartitionSpec(None),
        check_vma=False,
    )
    both = NamedSharding(devices, PartitionSpec("data", "model"))
    return Program("manual", run, spec(16, 32, sharding=both))


def constants() -> Program:
    table = np.random.RandomState(0).randn(64, 64).astype(np.float32)
    flags = np.arange(77) % 3 == 0

    def run(inputs):
        return inputs @ jnp.asarray(table), jnp.asarray(flags) & (inputs[0, 0] > 0)

    return Program("constants", run, spec(2, 64))


def large_constants() -> Program:
    table = np.random.RandomState(0).randn(1024, 1024).astype(np.float32)

    def run(inputs):
        return inputs @ jnp.asarray(table)

    return Program("large_constants", run, spec(2, 1024), small=False)


def polymorphic() -> Program:
    batch, length = export.symbolic_shape("b, n")

    def run(inputs):
        return jnp.concatenate([inputs, inputs], axis=0).reshape(-1), inputs.shape[0] * 2

    return Program("polymorphic", run, jax.ShapeDtypeStruct((batch, length), jnp.float32))


def low_precision() -> Program:
    def run(weights, inputs, scales):
        widened = weights.astype(jnp.bfloat16) * scales
        return widened @ inputs.astype(jnp.bfloat16), inputs.astype(jnp.float8_e5m2)

    weights, inputs = spec(8, 16, dtype=jnp.int4), spec(16, 4, dtype=jnp.float8_e4m3fn)
    return Program("low_precision", run, weights, inputs, spec(8, 1, dtype=jnp.bfloat16))


def many_types() -> Program:
    names = "int2 uint4 int8 uint16 float16 float64 complex64 float8_e4m3 float8_e4m3b11fnuz float8_e5m2fnuz".split()

    def run(*arguments):
        return [argument.reshape(-1) for argument in arguments]

    return Program("many_types", run, *(spec(2, 2, dtype=getattr(jnp, name)) for name in names), small=False)


def unknown_type(dtype: str) -> Program:
    """Of a type that MLIR 19 has not."""

    def run(values):
        return values.astype(jnp.float32)

    return Program(f"unknown_{dtype}", run, spec(4, dtype=getattr(jnp, dtype)), every_form=True)


def programs() -> Iterator[Program]:
    jax.config.update("jax_enable_x64", True)
    # Locations name this file as it lies in the repository, whoever runs it.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/(?=tests/jax/)")
    for make in (mlp, mlp_gradient, attention, convolution, loops, sorting, sharded, manual, constants):
        yield make()
    for make in (large_constants, polymorphic, low_precision, many_types):
        yield make()
    yield unknown_type("float4_e2m1fn")
    yield unknown_type("float8_e8m0fnu")
    yield unknown_type("float8_e3m4")


class Writer:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.index: list[tuple[str, str, str, str]] = []

    def write(self, file: str, data: bytes, dialect: str, version: str, expected: str) -> None:
        (self.folder / file).write_bytes(data)
        self.index.append((file, dialect, version, expected))

    def close(self) -> None:
        lines = ["\t".join(row) + "\n" for row in sorted(self.index)]
        (self.folder / "index.tsv").write_text("".join(lines))


def write_program(program: Program, out: Writer, small: bool) -> None:
    exported = export.export(jax.jit(program.function))(*program.arguments)
    expected = "read"
    artifact = exported.mlir_module_serialized
    version = artifact[5 : artifact.index(b"\0", 5)].decode().removeprefix("StableHLO_v")
    out.write(f"{program.name}.export.mlir.bc", artifact, "vhlo", version, expected)

    for target in TARGET_VERSIONS:
        if small and target not in ("1.0.0", "current") and program.name not in ("loops", "sharded"):
            continue
        number = stablehlo.get_current_version() if target == "current" else target
        # With all its locations, ranges too, and with the sdy dialect as it is (a mixed artifact).
        with mlir.make_ir_context():
            module = _jax.mlir.deserialize_portable_artifact(artifact)
            try:
                data = stablehlo.serialize_portable_artifact(module, number, allow_other_dialects=True)
            except Exception as error:  # noqa: BLE001: what a version lacks is for JAX to say
                print(f"{program.name}: not expressible at {target}: {str(error).splitlines()[0][:100]}")
                continue
        out.write(f"{program.name}.{number}.mlir.bc", data, "vhlo", number, expected)

    lowered = jax.jit(program.function).lower(*program.arguments).compiler_ir()
    if not small or program.name in ("mlp", "sharded", "manual", "constants", "low_precision") or program.every_form:
        buffer = io.BytesIO()
        lowered.operation.write_bytecode(buffer)
        out.write(f"{program.name}.plain.mlir.bc", buffer.getvalue(), "stablehlo", "-", "prepare")
    if not small or program.name in ("loops", "manual") or program.every_form:
        text = lowered.operation.get_asm(enable_debug_info=True)
        out.write(f"{program.name}.mlir", text.encode(), "stablehlo", "-", expected)


def write_resources(out: Writer) -> None:
    """A program whose large constants are resource blobs, aligned to 64 bytes, behind JAX's locations.

    JAX keeps constants inline however large they are; other producers of the same modules use resources.
    """
    program = constants()
    module = jax.jit(program.function).lower(*program.arguments).compiler_ir()
    with module.context, ir.Location.unknown():

        def replace(operation: ir.Operation) -> ir.WalkResult:
            if operation.name == "stablehlo.constant":
                value = operation.attributes["value"]
                if len(value) >= 1024:
                    data = np.array(ir.DenseFPElementsAttr(value)).astype(np.float32)
                    operation.attributes["value"] = ir.DenseResourceElementsAttr.get_from_buffer(
                        data, "table", value.type, alignment=64
                    )
            return ir.WalkResult.ADVANCE

        module.operation.walk(replace)
        buffer = io.BytesIO()
        module.operation.write_bytecode(buffer)
        text = module.operation.get_asm(enable_debug_info=True, large_resource_limit=1 << 20)
    out.write("resources.plain.mlir.bc", buffer.getvalue(), "stablehlo", "-", "prepare")
    out.write("resources.mlir", text.encode(), "stablehlo", "-", "read")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, help="folder to write to; made if it is not there")
    parser.add_argument("--small", action="store_true", help="only the programs and forms that are checked in")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    out = Writer(options.out)
    for program in programs():
        if program.small or not options.small:
            write_program(program, out, options.small)
    write_resources(out)
    out.close()
    print(f"{len(out.index)} files in {options.out}")


if __name__ == "__main__":
    main()
