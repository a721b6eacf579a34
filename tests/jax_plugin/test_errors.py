"""What goes wrong is an exception that says what, and the process goes on."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.lib import xla_client
from jax.errors import JaxRuntimeError

import children


def compile_text(text: str, **options):
    client = jax.devices()[0].client
    settings = xla_client.CompileOptions()
    settings.env_option_overrides = list(options.items())
    devices = xla_client.DeviceList((jax.devices()[0],))
    return client.compile_and_load(text, devices, settings)


def test_unknown_custom_call_is_named():
    @jax.jit
    def f(x):
        return jax.ffi.ffi_call("no_such_target", jax.ShapeDtypeStruct((3,), jnp.float32))(x)

    with pytest.raises(JaxRuntimeError, match="UNIMPLEMENTED.*no_such_target"):
        f(jnp.ones(3))


def test_unknown_option_names_the_nearest():
    with pytest.raises(JaxRuntimeError, match="INVALID_ARGUMENT.*No such compile option: 'acumulate'.*nearest is 'accumulate'"):
        jax.jit(lambda x: x + 1, compiler_options={"acumulate": "f64"})(1.0)


def test_options_of_xla_are_taken():
    assert jax.jit(lambda x: x + 1, compiler_options={"xla_embed_ir_in_executable": True})(1.0) == 2
    assert jax.jit(lambda x: x + 1, compiler_options={"xla_embed_ir_in_executable": "false"})(1.0) == 2
    assert jax.jit(lambda x: x + 1, compiler_options={"xla_of_next_year": "whatever"})(1.0) == 2


@pytest.mark.parametrize("name, value, kind", [("xla_embed_ir_in_executable", "perhaps", "bool"), ("xla_backend_optimization_level", "high", "int64"),
                                               ("xla_backend_optimization_level", 1.5, "int64"), ("xla_embed_ir_in_executable", 2, "bool")])
def test_values_that_xla_would_refuse(name, value, kind):
    with pytest.raises(JaxRuntimeError, match=f"INVALID_ARGUMENT.*{name}.*is not a valid {kind} value"):
        jax.jit(lambda x: x + 1, compiler_options={name: value})(1.0)


def test_option_of_wrong_type():
    with pytest.raises(JaxRuntimeError, match="'accumulate' takes text"):
        jax.jit(lambda x: x + 1, compiler_options={"accumulate": True})(1.0)


def test_option_with_wrong_value():
    with pytest.raises(JaxRuntimeError, match="native or f64"):
        jax.jit(lambda x: x + 1, compiler_options={"accumulate": "f32"})(1.0)


def test_scatter_has_two_ways():
    numbers = jax.lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(), scatter_dims_to_operand_dims=(0,))
    def put(x):
        return jax.lax.scatter(x, jnp.array([[3]]), jnp.ones((1, 3)), numbers, mode=jax.lax.GatherScatterMode.PROMISE_IN_BOUNDS)
    x = jnp.zeros(5)
    assert np.asarray(jax.jit(put)(x)).sum() == 0
    assert np.asarray(jax.jit(put, compiler_options={"scatter": "windows"})(x)).sum() == 0
    assert np.asarray(jax.jit(put, compiler_options={"scatter": "elements"})(x)).sum() == 2


def test_accumulate_changes_results():
    data, ones = np.full(10000, 0.1, np.float32), np.ones(10000, np.float32)
    wide = jax.jit(jnp.dot, compiler_options={"accumulate": "f64"})(data, ones)
    native = jax.jit(jnp.dot, compiler_options={"accumulate": "native", "backend": "reference"})(data, ones)
    assert abs(float(wide) - 1000) < 1e-3
    assert float(native) != float(wide)
    # Of long reductions equal terms would drift: those are wide whatever is said.
    assert abs(float(jax.jit(jnp.sum, compiler_options={"accumulate": "native", "backend": "reference"})(data)) - 1000) < 1e-3


def test_runtime_failure_arrives_at_the_result():
    """A check that fails while the program runs makes its results fail, and nothing else."""
    done = children.run("""
        from jax._src.lib import xla_client
        text = '''module @failing {
          func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
            %c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
            stablehlo.custom_call @check.expect_eq(%x, %c) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
            return %x : tensor<2xf32>
          }
        }'''
        from jax._src.interpreters import mlir
        from jaxlib.mlir import ir
        devices = jax.devices()
        options = xla_client.CompileOptions()
        executable = devices[0].client.compile_and_load(text, xla_client.DeviceList((devices[0],)), options)
        good = executable.execute_sharded([jax.device_put(np.array([1, 2], np.float32))]).disassemble_into_single_device_arrays()[0][0]
        print(np.asarray(good))
        bad = executable.execute_sharded([jax.device_put(np.array([1, 3], np.float32))]).disassemble_into_single_device_arrays()[0][0]
        try:
            np.asarray(bad)
        except Exception as e:
            print("failed:", str(e)[:200])
        try:
            (bad + 1).block_until_ready()
        except Exception as e:
            print("and so does what uses it:", str(e)[:200])
        print((jnp.ones(2) + 1).tolist())
    """)
    assert done.returncode == 0, done.stderr
    assert "[1. 2.]" in done.stdout
    assert "failed: FAILED_PRECONDITION" in done.stdout, done.stdout + done.stderr
    assert "and so does what uses it: FAILED_PRECONDITION" in done.stdout
    assert "[2.0, 2.0]" in done.stdout


@pytest.mark.parametrize("options, message", [
    ({"arch": "n151"}, "there is no architecture 'n151'"),
    ({"num_devices": 0}, "num_devices is 0"),
    ({"num_device": 2}, "nearest is 'num_devices'"),
    ({"arch": "n300", "num_devices": 5}, "n300 has 1 to 2"),
    ({"memory_limit": "much"}, "takes a whole number"),
])
def test_bad_client_options(options, message):
    done = children.run("jax.devices()", **options)
    assert done.returncode != 0
    assert message in done.stderr


def test_out_of_memory_names_the_holders():
    out = children.check("""
        first = jnp.zeros(100_000); first.block_until_ready()
        second = jnp.zeros(50_000); second.block_until_ready()
        try:
            third = jnp.zeros(200_000); third.block_until_ready()
        except Exception as e:
            print(e)
        del first
        print("fits now:", jnp.zeros(200_000).sum())
    """, memory_limit=1_000_100)
    assert "RESOURCE_EXHAUSTED" in out
    assert "needs 800000 bytes; 40" in out and "of 1000100 are free" in out
    assert "400000 bytes tensor<100000xf32>" in out and "200000 bytes tensor<50000xf32>" in out
    assert "fits now: 0.0" in out


def test_out_of_memory_on_transfer():
    out = children.check("""
        try:
            jax.device_put(np.zeros(1000, np.float32)).block_until_ready()
        except Exception as e:
            print(e)
        print(jax.device_put(np.zeros(10, np.float32)).shape)
    """, memory_limit=1000)
    assert "RESOURCE_EXHAUSTED" in out and "tensor<1000xf32> needs 4000 bytes" in out
    assert "(10,)" in out


def test_out_of_memory_of_temporaries():
    out = children.check("""
        f = jax.jit(lambda x: (x[:, None] * x[None, :]).sum())
        try:
            f(np.ones(1000, np.float32)).block_until_ready()
        except Exception as e:
            print(e)
        print(f(np.ones(10, np.float32)))
    """, memory_limit=1_000_000)
    assert "RESOURCE_EXHAUSTED" in out and "running jit__lambda" in out
    assert "100.0" in out
