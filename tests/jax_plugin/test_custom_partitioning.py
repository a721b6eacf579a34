"""custom_partitioning: what each device computes is what the user's function says, not something that gives the same values."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from children import check
from jax import lax
from jax.experimental.custom_partitioning import SdyShardingRule, custom_partitioning
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

X = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)


def mesh(shape=(4, 2), names=("x", "y")) -> Mesh:
    return Mesh(np.array(jax.devices())[: int(np.prod(shape))].reshape(shape), names)


def marked(rule: str, *, takes=None, gives=None, seen: list | None = None, **factors):
    """The identity, of which every device returns the size of its piece instead."""

    @custom_partitioning
    def f(x):
        return x

    def partition(mesh, arguments, result):
        if seen is not None:
            seen.append((arguments[0].sharding.spec, result.sharding.spec))
        argument = NamedSharding(mesh, takes) if takes is not None else arguments[0].sharding
        answer = NamedSharding(mesh, gives) if gives is not None else argument
        return mesh, lambda x: jnp.full_like(x, x.size), answer, (argument,)

    f.def_partition(partition=partition, sharding_rule=rule, **factors)
    return f


@pytest.mark.parametrize("spec, size", [(P("x"), 32), (P("x", "y"), 16), (P(("y", "x")), 16), (P(None, "x"), 32), (P("y", "x"), 16)], ids=str)
def test_the_functions_own_program_runs_on_each_piece(spec, size):
    seen = []
    result = jax.jit(marked("i j -> i j", seen=seen))(jax.device_put(X, NamedSharding(mesh(), spec)))
    np.testing.assert_array_equal(result, np.full_like(X, size))
    assert result.sharding.is_equivalent_to(NamedSharding(mesh(), spec), 2)
    normal = [NamedSharding(mesh(), one) for pair in seen for one in pair]
    assert normal and all(one.is_equivalent_to(NamedSharding(mesh(), spec), 2) for one in normal)


def test_operands_are_brought_to_where_the_function_wants_them():
    wants = P(None, "y")
    result = jax.jit(marked("i j -> i j", takes=wants))(jax.device_put(X, NamedSharding(mesh(), P("x"))))
    np.testing.assert_array_equal(result, np.full_like(X, 64))


def test_collectives_by_the_names_of_axes():
    @functools.partial(custom_partitioning, static_argnums=(2,))
    def product(x, y, scale):
        z = x @ y * scale
        return z, z + 1

    def partition(scale, mesh, arguments, results):
        shardings = tuple(one.sharding for one in arguments)
        assert shardings[0].spec == P("x", None) and shardings[1].spec == P("y", None)
        assert [one.sharding.spec for one in results] == [P("x", None)] * 2

        def each(x, y):
            start = lax.axis_index("y") * y.shape[0]
            z = lax.psum(lax.dynamic_slice_in_dim(x, start, y.shape[0], axis=1) @ y, "y") * scale
            return z, z + 1

        return mesh, each, tuple(one.sharding for one in results), shardings

    product.def_partition(partition=partition, sharding_rule=SdyShardingRule((("i", "j"), ("j", "k")), (("i", "k"), ("i", "k"))))
    y = X.T.copy()
    got = jax.jit(product, static_argnums=2)(jax.device_put(X, NamedSharding(mesh(), P("x"))), jax.device_put(y, NamedSharding(mesh(), P("y"))), 2.0)
    np.testing.assert_allclose(got[0], X @ y * 2, rtol=1e-6)
    np.testing.assert_allclose(got[1], X @ y * 2 + 1, rtol=1e-6)


def test_functions_of_the_function_and_several_calls():
    """Names of the author's functions may be those of the program's, and of one another's."""
    def author(scale):
        @jax.jit
        def inner(x):
            return x * scale

        f = custom_partitioning(lambda x: inner(x))
        f.def_partition(partition=lambda mesh, arguments, result: (mesh, lambda x: inner(x), result.sharding, (arguments[0].sharding,)), sharding_rule="i j -> i j")
        return f

    @jax.jit
    def inner(x):
        return x + 1

    result = jax.jit(lambda x: author(3)(author(2)(inner(x))))(jax.device_put(X, NamedSharding(mesh(), P("x"))))
    np.testing.assert_array_equal(result, (X + 1) * 6)


def test_inside_a_loop():
    f = marked("i -> i")
    result = jax.jit(lambda x: lax.fori_loop(0, 3, lambda _, c: c + f(c), x))(jax.device_put(np.zeros(16, np.float32), NamedSharding(mesh((4,), ("x",)), P("x"))))
    np.testing.assert_array_equal(result, np.full(16, 12))


def test_a_factor_that_must_be_whole_carries_no_sharding():
    seen = []
    f = marked("i j -> i j", seen=seen, need_replication_factors=("j",))
    jax.jit(f)(jax.device_put(X, NamedSharding(mesh(), P(None, "x"))))
    assert seen[0][1] in (P(), P(None, None))


def test_gradients_and_batches_use_the_function():
    """Outside of jit, and for one device, JAX calls the function itself."""
    f = marked("i j -> i j")
    np.testing.assert_array_equal(f(X), X)
    np.testing.assert_array_equal(jax.jit(f)(X), X)


@pytest.mark.parametrize("answer, words", [
    (lambda x: x[:1], "Mismatch in result shapes"),
    (lambda x: 1 / 0, "division by zero"),
], ids=["shape", "exception"])
def test_mistakes_of_the_function_are_told(answer, words):
    f = custom_partitioning(lambda x: x)
    f.def_partition(partition=lambda mesh, arguments, result: (mesh, answer, result.sharding, (arguments[0].sharding,)), sharding_rule="i j -> i j")
    with pytest.raises(Exception, match=words):
        jax.jit(f)(jax.device_put(X, NamedSharding(mesh(), P("x"))))


def test_saved_programs_need_no_function(tmp_path):
    """What was compiled is saved, not the call that only one process can answer."""
    program = """
        import pathlib
        from jax.experimental.custom_partitioning import custom_partitioning
        from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
        from jaxlib import xla_client
        path, client = pathlib.Path(%r), jax.devices()[0].client
        x = jax.device_put(np.ones(16, np.float32), NamedSharding(Mesh(np.array(jax.devices()), ("x",)), P("x")))
        if not path.exists():
            f = custom_partitioning(lambda x: x)
            f.def_partition(partition=lambda mesh, a, r: (mesh, lambda x: x * x.size, r.sharding, (a[0].sharding,)), sharding_rule="i -> i")
            path.write_bytes(client.serialize_executable(jax.jit(f).lower(x).compile().runtime_executable()))
        else:
            loaded = client.deserialize_executable(path.read_bytes(), xla_client.DeviceList(tuple(jax.devices())), None)
            pieces, = loaded.execute_sharded([x]).disassemble_into_single_device_arrays()
            print([np.asarray(piece).tolist() for piece in pieces])
    """ % str(tmp_path / "saved")
    check(program, num_devices=4)
    assert check(program, num_devices=4).strip() == str([[4.0] * 4] * 4)


def test_compiling_elsewhere_while_the_function_runs():
    """The function may compile, and drop, other programs; other threads may as well."""
    f = custom_partitioning(lambda x: x)

    def partition(mesh, arguments, result):
        import gc
        import threading

        for n in range(3):
            jax.jit(lambda x, n=n: x + n)(np.float32(1)).block_until_ready()
        jax.clear_caches()
        gc.collect()
        thread = threading.Thread(target=lambda: jax.jit(lambda x: x * 3)(np.float32(2)).block_until_ready())
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
        return mesh, lambda x: x + 1, result.sharding, (arguments[0].sharding,)

    f.def_partition(partition=partition, sharding_rule="i j -> i j")
    np.testing.assert_array_equal(jax.jit(f)(jax.device_put(X, NamedSharding(mesh(), P("x")))), X + 1)
