"""Python functions called from programs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback
from jax.sharding import Mesh, PartitionSpec


def test_pure_callback_computes():
    @jax.jit
    def f(x):
        return 2 * jax.pure_callback(lambda y: np.sort(y), x, x)

    np.testing.assert_array_equal(f(jnp.array([3.0, 1.0, 2.0])), [2, 4, 6])


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint32, np.float16, jnp.bfloat16, np.float32, np.complex64, jnp.float4_e2m1fn, jnp.float8_e3m4])
def test_pure_callback_keeps_types(dtype):
    x = jnp.array([0, 1, 1], dtype)
    y = jax.jit(lambda x: jax.pure_callback(lambda v: v[::-1], x, x))(x)
    assert y.dtype == dtype
    np.testing.assert_array_equal(np.asarray(y), np.asarray(x)[::-1])


def test_several_results_and_scalars():
    shapes = (jax.ShapeDtypeStruct((), np.float32), jax.ShapeDtypeStruct((2, 3), np.int32))
    a, b = jax.jit(lambda x: jax.pure_callback(lambda v: (v.sum(), np.full((2, 3), 7, np.int32)), shapes, x))(jnp.ones(4))
    assert a == 4
    np.testing.assert_array_equal(b, np.full((2, 3), 7))


def test_operands_may_be_kept():
    kept = []
    jax.jit(lambda x: io_callback(lambda v: kept.append(v), None, x + 1))(jnp.arange(3.0))
    jax.effects_barrier()
    jax.jit(lambda x: x * 100)(jnp.arange(3.0)).block_until_ready()
    np.testing.assert_array_equal(kept[0], [1, 2, 3])


def test_ordered_callbacks_keep_their_order():
    seen = []

    @jax.jit
    def f(x):
        def body(i, x):
            io_callback(lambda i: seen.append(int(i)), None, i, ordered=True)
            return x + 1

        return jax.lax.fori_loop(0, 20, body, x)

    assert f(0.0) == 20
    jax.effects_barrier()
    assert seen == list(range(20))


def test_an_exception_reaches_the_caller():
    def fail(x):
        raise ValueError("the sky is green")

    with pytest.raises(jax.errors.JaxRuntimeError, match="the sky is green"):
        jax.jit(lambda x: jax.pure_callback(fail, x, x))(1.0).block_until_ready()
    assert jax.jit(lambda x: x + 1)(1.0) == 2


def test_a_wrong_shape_is_named():
    with pytest.raises(jax.errors.JaxRuntimeError, match="shape"):
        jax.jit(lambda x: jax.pure_callback(lambda v: np.zeros(5, np.float32), x, x))(jnp.ones(3)).block_until_ready()


def test_callback_that_uses_jax():
    y = jax.jit(lambda x: jax.pure_callback(lambda v: np.asarray(jnp.sin(v)), x, x))(jnp.ones(3))
    np.testing.assert_allclose(y, np.sin(np.ones(3)), rtol=1e-6)


def test_vmap_grad_and_cond():
    f = lambda x: jax.pure_callback(np.sin, x, x, vmap_method="sequential")
    np.testing.assert_allclose(jax.vmap(f)(jnp.arange(3.0)), np.sin(np.arange(3.0)), rtol=1e-6)

    @jax.custom_jvp
    def sine(x):
        return f(x)

    sine.defjvp(lambda p, t: (sine(p[0]), jnp.cos(p[0]) * t[0]))
    np.testing.assert_allclose(jax.grad(sine)(jnp.float32(0.5)), np.cos(0.5), rtol=1e-6)
    assert jax.jit(lambda x: jax.lax.cond(x > 0, f, lambda x: x, x))(jnp.float32(-1)) == -1


def test_debug_print(capfd):
    @jax.jit
    def f(x):
        jax.debug.print("x is {x}", x=x)
        return x

    f(jnp.int32(42))
    jax.effects_barrier()
    assert "x is 42" in capfd.readouterr().out


def test_debug_callback_on_every_device(devices):
    seen = []
    mesh = Mesh(np.array(devices[:4]), ("x",))

    @jax.jit
    @jax.shard_map(mesh=mesh, in_specs=PartitionSpec("x"), out_specs=PartitionSpec("x"))
    def f(x):
        jax.debug.callback(lambda v: seen.append(float(v[0])), x)
        return x

    f(jnp.arange(4.0))
    jax.effects_barrier()
    assert sorted(seen) == [0, 1, 2, 3]


def test_pure_callback_in_shard_map(devices):
    mesh = Mesh(np.array(devices), ("x",))
    f = jax.shard_map(lambda x: jax.pure_callback(lambda v: v + np.arange(len(v), dtype=v.dtype), x, x), mesh=mesh,
                      in_specs=PartitionSpec("x"), out_specs=PartitionSpec("x"))
    np.testing.assert_array_equal(jax.jit(f)(jnp.zeros(16)), np.tile([0, 1], 8))


def test_functions_go_with_their_programs():
    import gc
    import weakref

    class Function:
        def __call__(self, x):
            return x

    function = Function()
    alive = weakref.ref(function)
    compiled = jax.jit(lambda x: jax.pure_callback(function, x, x))
    compiled(1.0).block_until_ready()
    del compiled, function
    jax.clear_caches()
    gc.collect()
    assert alive() is None


def test_callbacks_do_not_see_the_mesh_of_the_caller(devices):
    mesh = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,), devices=devices[:2])
    with jax.set_mesh(mesh):

        @jax.shard_map(in_specs=jax.P("x"), out_specs=(jax.P("x"), jax.P("x")))
        def f(x):
            spec = jax.ShapeDtypeStruct(x.shape, x.dtype)
            return jax.pure_callback(lambda v: (v + 1, v * 2), (spec, spec), x)  # The callback's own JAX operations run on the CPU.

        value = jax.device_put(np.arange(8, dtype=np.float32), jax.P("x"))
        more, twice = f(value)
    np.testing.assert_array_equal(np.asarray(more), np.arange(8) + 1)
    np.testing.assert_array_equal(np.asarray(twice), np.arange(8) * 2)


def test_words_of_an_exception_do_not_choose_the_error_code():
    def fail(_):
        raise ValueError("I have no memory of this place: out of memory (joke)")

    with pytest.raises(jax.errors.JaxRuntimeError, match="^INTERNAL.*"):
        jax.jit(lambda x: jax.pure_callback(fail, x, x))(jnp.ones(2)).block_until_ready()


def buffer_call(callback, value, **options):
    from jax.experimental import buffer_callback

    return buffer_callback.buffer_callback(callback, jax.ShapeDtypeStruct(value.shape, value.dtype), **options)(value)


def test_buffers_of_a_callback():
    value = np.arange(6, dtype=np.float32).reshape(2, 3)

    def callback(context, result, operand):
        assert not operand.writeable and result.writeable
        with pytest.raises(jax.errors.JaxRuntimeError, match="GPU context is not available"):
            context.stream
        np.testing.assert_array_equal(np.from_dlpack(operand), value)
        np.asarray(result)[...] = np.asarray(operand) * 2

    np.testing.assert_array_equal(np.asarray(buffer_call(callback, value)), value * 2)


def test_a_buffer_that_is_operand_and_result():
    value = np.arange(6, dtype=np.float32)

    def callback(context, result, operand):
        assert np.asarray(operand).ctypes.data == np.asarray(result).ctypes.data
        np.asarray(result)[...] += 1

    device = jnp.asarray(value)
    np.testing.assert_array_equal(np.asarray(buffer_call(callback, device, input_output_aliases={0: 0})), value + 1)
    np.testing.assert_array_equal(np.asarray(device), value)  # The caller's array is as it was.
