"""Eight devices: shardings in and out, uneven parts, shard_map, collectives, subsets and orders."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

X = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)


def mesh(shape=(4, 2), names=("x", "y"), order=None) -> Mesh:
    devices = np.array(jax.devices())[: int(np.prod(shape))]
    if order is not None:
        devices = devices[order]
    return Mesh(devices.reshape(shape), names)


SPECS = [P(), P("x"), P("y"), P("x", "y"), P("y", "x"), P(("x", "y")), P(("y", "x")), P(None, "x"), P(None, ("x", "y")), P(None, "y")]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_put_and_get(spec):
    array = jax.device_put(X, NamedSharding(mesh(), spec))
    np.testing.assert_array_equal(np.asarray(array), X)
    for shard in array.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), X[shard.index])


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_elementwise(spec):
    array = jax.device_put(X, NamedSharding(mesh(), spec))
    result = jax.jit(lambda x: x * 2 + 1)(array)
    np.testing.assert_array_equal(np.asarray(result), X * 2 + 1)
    for shard in result.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), (X * 2 + 1)[shard.index])


@pytest.mark.parametrize("source", SPECS[1:6], ids=str)
@pytest.mark.parametrize("target", SPECS[:5], ids=str)
def test_reshard(source, target):
    array = jax.device_put(X, NamedSharding(mesh(), source))
    wanted = NamedSharding(mesh(), target)
    result = jax.jit(lambda x: x + 1, out_shardings=wanted)(array)
    assert result.sharding.is_equivalent_to(wanted, 2)
    np.testing.assert_array_equal(np.asarray(result), X + 1)
    for shard in result.addressable_shards:
        np.testing.assert_array_equal(np.asarray(shard.data), (X + 1)[shard.index])


@pytest.mark.parametrize("left, right", [(P("x", "y"), P("y", "x")), (P("x"), P()), (P(None, "x"), P("x", "y")), (P(), P(None, "y"))], ids=str)
def test_matmul(left, right):
    a, b = X, X.T.copy()
    result = jax.jit(jnp.matmul)(jax.device_put(a, NamedSharding(mesh(), left)), jax.device_put(b, NamedSharding(mesh(), right)))
    np.testing.assert_allclose(np.asarray(result), a @ b, rtol=1e-5)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reduction(axis):
    array = jax.device_put(X, NamedSharding(mesh(), P("x", "y")))
    np.testing.assert_allclose(np.asarray(jax.jit(lambda x: x.sum(axis))(array)), X.sum(axis))


def test_constraint_inside():
    m = mesh()

    @jax.jit
    def f(x):
        y = lax.with_sharding_constraint(x * 2, NamedSharding(m, P("y", "x")))
        return y + 1

    np.testing.assert_array_equal(np.asarray(f(jax.device_put(X, NamedSharding(m, P("x"))))), X * 2 + 1)


@pytest.mark.parametrize("length", [1, 3, 5, 7, 9, 13])
def test_uneven_parts_inside(length):
    m = mesh((8,), ("x",))
    data = np.arange(length, dtype=np.float32)

    @jax.jit
    def f(x):
        y = lax.with_sharding_constraint(x * 3, NamedSharding(m, P("x")))
        return lax.with_sharding_constraint(y + 1, NamedSharding(m, P()))

    np.testing.assert_array_equal(np.asarray(f(jax.device_put(data, NamedSharding(m, P())))), data * 3 + 1)


def test_order_of_devices():
    m = mesh((8,), ("x",), order=[3, 1, 7, 5, 0, 2, 4, 6])
    array = jax.device_put(np.arange(8), NamedSharding(m, P("x")))
    result = jax.jit(lambda x: x * 10)(array)
    np.testing.assert_array_equal(np.asarray(result), np.arange(8) * 10)
    assert [shard.device.id for shard in sorted(result.addressable_shards, key=lambda s: s.index[0].start)] == [3, 1, 7, 5, 0, 2, 4, 6]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 7])
def test_subsets(count):
    m = Mesh(np.array(jax.devices())[8 - count:], ("x",))
    data = np.arange(count * 2, dtype=np.float32)
    result = jax.jit(lambda x: x.sum() + x)(jax.device_put(data, NamedSharding(m, P("x"))))
    np.testing.assert_array_equal(np.asarray(result), data.sum() + data)


def test_single_device_and_replicated_together():
    m = mesh((8,), ("x",))
    array = jax.device_put(X, NamedSharding(m, P("x")))
    result = jax.jit(lambda a, b: a + b)(array, 5.0)
    np.testing.assert_array_equal(np.asarray(result), X + 5)


#--- shard_map and collectives ------------------------------------------------


def shmap(f, in_specs, out_specs, m=None, **rest):
    return jax.jit(jax.shard_map(f, mesh=m or mesh((8,), ("i",)), in_specs=in_specs, out_specs=out_specs, **rest))


def test_shard_map_axis_index():
    result = shmap(lambda: lax.axis_index("i").reshape(1), (), P("i"))()
    np.testing.assert_array_equal(np.asarray(result), np.arange(8))


def test_psum():
    result = shmap(lambda x: lax.psum(x, "i"), P("i"), P())(np.arange(8.0))
    np.testing.assert_array_equal(np.asarray(result), [28])


def test_pmax_pmin_pmean():
    f = shmap(lambda x: (lax.pmax(x, "i"), lax.pmin(x, "i"), lax.pmean(x, "i")), P("i"), (P(), P(), P()))
    high, low, mean = f(np.arange(8.0))
    assert (high[0], low[0], mean[0]) == (7, 0, 3.5)


def test_all_gather():
    result = shmap(lambda x: lax.all_gather(x, "i", tiled=True), P("i"), P("i"))(np.arange(8))
    np.testing.assert_array_equal(np.asarray(result), np.tile(np.arange(8), 8))


def test_psum_scatter():
    data = np.arange(64.0, dtype=np.float32).reshape(8, 8)
    result = shmap(lambda x: lax.psum_scatter(x[0], "i", tiled=True), P("i"), P("i"))(data)
    np.testing.assert_array_equal(np.asarray(result), data.sum(0))


def test_all_to_all():
    data = np.arange(64).reshape(8, 8)
    result = shmap(lambda x: lax.all_to_all(x, "i", 1, 0, tiled=True), P("i"), P("i"))(data)
    np.testing.assert_array_equal(np.asarray(result).reshape(8, 8), data.T)


@pytest.mark.parametrize("shift", [1, 3, 7])
def test_ppermute(shift):
    result = shmap(lambda x: lax.ppermute(x, "i", [(i, (i + shift) % 8) for i in range(8)]), P("i"), P("i"))(np.arange(8))
    np.testing.assert_array_equal(np.asarray(result), np.roll(np.arange(8), shift))


def test_ppermute_leaves_zeros():
    result = shmap(lambda x: lax.ppermute(x, "i", [(0, 1)]), P("i"), P("i"))(np.arange(1, 9))
    np.testing.assert_array_equal(np.asarray(result), [0, 1, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("axis, expected", [("x", [[16, 20], [16, 20], [16, 20], [16, 20]]), ("y", None), (("x", "y"), None)], ids=str)
def test_psum_over_mesh_axes(axis, expected):
    data = np.arange(8.0).reshape(4, 2)
    m = mesh()
    result = np.asarray(shmap(lambda v: lax.psum(v, axis), P("x", "y"), P("x", "y"), m, check_vma=False)(data))
    axes = tuple("xy".index(a) for a in ((axis,) if isinstance(axis, str) else axis))
    np.testing.assert_array_equal(result, np.broadcast_to(data.sum(axes, keepdims=True), (4, 2)))


def test_manual_over_one_axis_only():
    m = mesh()

    def f(x):
        return x * lax.psum(1, "x") + lax.axis_index("x")

    result = jax.jit(jax.shard_map(f, mesh=m, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}))(X)
    np.testing.assert_array_equal(np.asarray(result), X * 4 + np.repeat(np.arange(4), 2)[:, None])


def test_collective_in_a_loop():
    def f(x):
        return lax.fori_loop(0, 5, lambda i, v: v + lax.ppermute(v, "i", [(j, (j + 1) % 8) for j in range(8)]), x)

    data = np.arange(8.0)
    expected = data
    for _ in range(5):
        expected = expected + np.roll(expected, 1)
    np.testing.assert_array_equal(np.asarray(shmap(f, P("i"), P("i"))(data)), expected)


def test_grad_through_shard_map():
    f = shmap(lambda x: lax.psum(x ** 2, "i"), P("i"), P())
    np.testing.assert_allclose(np.asarray(jax.grad(lambda x: f(x)[0])(np.arange(8.0, dtype=np.float32))), np.arange(8) * 2)


def test_pmap():
    result = jax.pmap(lambda x: lax.psum(x, "i") + x, axis_name="i")(np.arange(8.0))
    np.testing.assert_array_equal(np.asarray(result), 28 + np.arange(8))


def test_pmap_in_axes():
    data = np.arange(16.0).reshape(2, 8)
    result = jax.pmap(lambda x, y: x.sum() + y, in_axes=(1, None))(data, 1.0)
    np.testing.assert_array_equal(np.asarray(result), data.sum(0) + 1)


def test_data_parallel_training_step():
    m = mesh((8,), ("data",))
    rng = np.random.default_rng(0)
    w, x, y = rng.standard_normal((16, 4)).astype(np.float32), rng.standard_normal((32, 16)).astype(np.float32), rng.standard_normal((32, 4)).astype(np.float32)
    loss = lambda w, x, y: jnp.mean((jnp.tanh(x @ w) - y) ** 2)
    step = jax.jit(lambda w, x, y: w - 0.1 * jax.grad(loss)(w, x, y))
    single = step(w, x, y)
    sharded = step(jax.device_put(w, NamedSharding(m, P())), *(jax.device_put(v, NamedSharding(m, P("data"))) for v in (x, y)))
    np.testing.assert_allclose(np.asarray(sharded), np.asarray(single), rtol=1e-5, atol=1e-6)


def test_tensor_parallel_mlp():
    m = mesh((2, 4), ("data", "model"))
    rng = np.random.default_rng(1)
    x, w1, w2 = (rng.standard_normal(s).astype(np.float32) for s in [(8, 16), (16, 32), (32, 16)])
    put = lambda v, *spec: jax.device_put(v, NamedSharding(m, P(*spec)))
    f = jax.jit(lambda x, w1, w2: jax.nn.relu(x @ w1) @ w2, out_shardings=NamedSharding(m, P("data")))
    result = f(put(x, "data"), put(w1, None, "model"), put(w2, "model"))
    np.testing.assert_allclose(np.asarray(result), np.maximum(x @ w1, 0) @ w2, rtol=1e-4, atol=1e-4)


def test_donation_of_sharded():
    array = jax.device_put(X, NamedSharding(mesh(), P("x", "y")))
    result = jax.jit(lambda x: x + 1, donate_argnums=0)(array)
    assert array.is_deleted()
    np.testing.assert_array_equal(np.asarray(result), X + 1)


def test_device_failure_reaches_all():
    """An array with a failed shard makes what uses it fail, without a deadlock."""
    m = mesh((8,), ("i",))

    def f(x):
        return lax.psum(x, "i")

    result = shmap(f, P("i"), P(), m)(np.arange(8.0))
    assert result[0] == 28


def test_visualised_names():
    array = jax.device_put(X, NamedSharding(mesh(), P("x", "y")))
    assert len(array.addressable_shards) == 8
    assert {shard.data.shape for shard in array.addressable_shards} == {(2, 8)}


def test_explicit_output_sharding_is_reported():
    m = mesh()
    compiled = jax.jit(lambda x: (x, x.sum()), out_shardings=(NamedSharding(m, P("y")), NamedSharding(m, P()))).lower(
        jax.ShapeDtypeStruct((8, 16), jnp.float32, sharding=NamedSharding(m, P("x")))).compile()
    first, second = compiled.output_shardings
    assert first.is_equivalent_to(NamedSharding(m, P("y")), 2)
    assert second.is_equivalent_to(NamedSharding(m, P()), 0)
    assert compiled.input_shardings[0][0].is_equivalent_to(NamedSharding(m, P("x")), 2)


def test_make_array_from_callback():
    sharding = NamedSharding(mesh(), P("x", "y"))
    array = jax.make_array_from_callback(X.shape, sharding, lambda index: X[index])
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda x: x + 1)(array)), X + 1)


@functools.partial(jax.jit, static_argnums=1)
def outer(x, m):
    return jax.shard_map(lambda v: v * 2, mesh=m, in_specs=P("i"), out_specs=P("i"))(x) + 1


def test_shard_map_within_jit():
    np.testing.assert_array_equal(np.asarray(outer(np.arange(8.0), mesh((8,), ("i",)))), np.arange(8.0) * 2 + 1)


def test_sums_over_groups_of_different_sizes():
    f = jax.pmap(lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1, 5], [2, 3, 4, 6, 7]]), axis_name="i")
    np.testing.assert_array_equal(f(np.arange(8.0)), [6, 6, 22, 22, 22, 6, 22, 22])


def test_text_of_what_each_device_runs():
    mesh = Mesh(np.array(jax.devices()[:4]), ("x",))
    f = jax.jit(jax.shard_map(lambda x: lax.psum(x * 2, "x"), mesh=mesh, in_specs=P("x"), out_specs=P()))
    text = f.lower(jnp.arange(8.0)).compile().as_text()
    assert "all-reduce" in text and "f32[2]" in text and "f32[8]" not in text


def test_text_of_a_program_with_a_shard_map_inside():
    mesh = Mesh(np.array(jax.devices()[:4]), ("x",))
    f = jax.jit(lambda x: jax.shard_map(lambda x: lax.ppermute(x, "x", [(0, 1), (1, 0)]), mesh=mesh, in_specs=P("x"), out_specs=P("x"))(x + 1) * 2)
    text = f.lower(jnp.arange(8.0)).compile().as_text()
    assert "collective-permute" in text and "f32[2]" in text and "SPMD" not in text
    text = f.lower(jnp.arange(8.0)).compile(compiler_options={"partition": "whole"}).as_text()
    assert "collective-permute" in text and "SPMDFullToShardShape" in text and "SPMDShardToFullShape" in text


def test_text_with_many_truth_values():
    mask = np.arange(200).reshape(10, 20) % 3 == 0
    text = jax.jit(lambda x: jnp.where(mask, x, 0)).lower(jnp.ones((10, 20))).compile().as_text()
    assert "pred[10,20]" in text


def test_values_of_a_sharding_group_are_split_alike():
    from jax.experimental.shard_alike import shard_alike

    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))
    x = jax.device_put(np.arange(16.0).reshape(8, 2), NamedSharding(mesh, P("x", "y")))
    first, second = jax.jit(lambda x: shard_alike(x, jnp.arange(16.0).reshape(8, 2)))(x)
    assert first.sharding == x.sharding and second.sharding == x.sharding
    np.testing.assert_array_equal(second, x)


def test_inspect_array_sharding():
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))
    seen = []

    @jax.jit
    def f(x, w):
        jax.debug.inspect_array_sharding(x * 2, callback=seen.append)
        jax.debug.inspect_array_sharding(x @ w, callback=seen.append)
        return x.sum()

    x = jax.device_put(np.ones((8, 6), np.float32), NamedSharding(mesh, P("x", None)))
    w = jax.device_put(np.ones((6, 4), np.float32), NamedSharding(mesh, P(None, "y")))
    f.lower(x, w).compile()
    assert len(seen) == 2
    assert seen[0].is_equivalent_to(x.sharding, 2)
    assert seen[1].is_equivalent_to(NamedSharding(mesh, P("x", "y")), 2)
    assert f(x, w) == 48


def test_unreduced_results_of_shard_map_are_what_each_device_gave():
    mesh = jax.make_mesh((4,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,))
    with jax.set_mesh(mesh):
        x = jax.device_put(np.arange(8.0), P("x"))
        summands = jax.jit(jax.shard_map(lambda x: x * 2, in_specs=P("x"), out_specs=P(unreduced={"x"})))(x)
        pieces = [np.asarray(shard.data).tolist() for shard in summands.addressable_shards]
        assert pieces == [[0, 2], [4, 6], [8, 10], [12, 14]]
        np.testing.assert_array_equal(jax.jit(lambda s: jax.reshard(s, P()))(summands), [24, 32])


def test_copies_that_differ_stay_apart():
    mesh = Mesh(np.array(jax.devices()), ("x",))
    f = jax.jit(jax.shard_map(lambda: lax.axis_index("x") + jnp.zeros(1, jnp.int32), mesh=mesh, in_specs=(), out_specs=P(), check_vma=False))
    assert [int(shard.data[0]) for shard in f().addressable_shards] == list(range(8))


def test_ragged_all_to_all():
    mesh = Mesh(np.array(jax.devices()[:2]), ("x",))

    def exchange(operand, output, starts, sizes, targets, expected):
        return lax.ragged_all_to_all(operand, output, starts, sizes, targets, expected, axis_name="x")

    f = jax.jit(jax.shard_map(exchange, mesh=mesh, in_specs=P("x"), out_specs=P("x"), check_vma=False))
    operand = jnp.array([[1, 2, 2], [3, 4, 0]], jnp.float32).reshape(6)
    # The first device keeps one row and sends two, the second sends one and keeps one.
    numbers = [np.array(rows, np.int32).reshape(4) for rows in ([[0, 1], [0, 1]], [[1, 2], [1, 1]], [[0, 0], [1, 2]], [[1, 1], [2, 1]])]
    np.testing.assert_array_equal(f(operand, jnp.zeros(8), *numbers), [1, 3, 0, 0, 2, 2, 4, 0])
    numbers[1] = np.array([1, 3, 1, 1], np.int32)
    with pytest.raises(jax.errors.JaxRuntimeError, match="member 0 sends 3 rows to member 1"):
        f(operand, jnp.zeros(8), *numbers).block_until_ready()


def test_a_program_that_speaks_of_two_meshes():
    m, other = mesh((2, 4), ("x", "y")), mesh((8, 1), ("a", "b"))

    @jax.jit
    def f(x):
        return jax.lax.with_sharding_constraint(jnp.sin(x), NamedSharding(other, P("a", None))) * 2

    value = np.arange(64.0, dtype=np.float32).reshape(8, 8)
    result = f(jax.device_put(value, NamedSharding(m, P("x", "y"))))
    assert result.sharding.is_equivalent_to(NamedSharding(other, P("a")), 2)
    np.testing.assert_allclose(np.asarray(result), np.sin(value) * 2, rtol=1e-6)


def test_axes_left_to_the_compiler_pass_through_shard_map():
    m = mesh((2, 2, 2), ("i", "j", "k"))
    wanted = NamedSharding(m, P("i"))

    def g(x):
        return jax.lax.with_sharding_constraint(x * x, wanted)

    f = jax.jit(jax.shard_map(g, mesh=m, in_specs=P(), out_specs=P(), axis_names={"j", "k"}, check_vma=False))
    value = np.arange(32.0, dtype=np.float32).reshape(4, 8)
    result = f(jax.device_put(value, wanted))
    assert result.sharding == wanted
    np.testing.assert_array_equal(np.asarray(result), value * value)


def test_shardings_pass_through_groups_before_products():
    from jax.experimental.shard_alike import shard_alike

    m = mesh((4, 2), ("x", "y"))
    wanted = NamedSharding(m, P("x", "y"))

    @jax.jit
    def f(x):
        product = x @ x.T
        summed = jax.shard_map(lambda v: jax.lax.psum(v, "x"), mesh=m, in_specs=P("x", "y"), out_specs=P(None, "y"))(product)
        return shard_alike(product, summed.T @ summed)

    for result in f(jax.device_put(np.arange(16.0, dtype=np.float32).reshape(8, 2), wanted)):
        assert result.sharding == wanted


def lowered_product(left, right, **options):
    a, b = np.arange(32.0, dtype=np.float32).reshape(8, 4), np.arange(32.0, dtype=np.float32).reshape(4, 8)
    m = mesh()
    left, right = jax.device_put(a, NamedSharding(m, left)), jax.device_put(b, NamedSharding(m, right))
    compiled = jax.jit(jnp.matmul).lower(left, right).compile(compiler_options=options)
    np.testing.assert_allclose(np.asarray(compiled(left, right)), a @ b)
    return compiled.as_text()


def test_text_shows_the_collectives_that_are_run():
    assert "all-" not in lowered_product(P("x"), P(None, "y"))
    assert "all-reduce(" in lowered_product(P(None, "y"), P("y"))
    assert "all-gather(" in lowered_product(P("x"), P("x"))
    assert "all-" not in lowered_product(P("x"), P("x"), partition="whole")


def test_shards_of_an_unreduced_sum_are_the_devices_own():
    m = jax.make_mesh((2,), ("x",), axis_types=(jax.sharding.AxisType.Explicit,), devices=jax.devices()[:2])
    with jax.set_mesh(m):
        value = jax.device_put(np.arange(8, dtype=np.float32), P("x"))
        result = jax.jit(lambda v: jax.lax.reduce_sum(v, axes=(0,), out_sharding=P(unreduced={"x"})))(value)
        assert [float(shard.data) for shard in result.addressable_shards] == [6, 22]
        assert float(jax.reshard(result, P())) == 28


def test_independent_sums_meet_once():
    m = mesh((8,), ("i",))
    values = [jax.device_put(np.arange(8.0, dtype=np.float32) * k, NamedSharding(m, P("i"))) for k in (1, 2, 3)]
    compiled = jax.jit(lambda *v: [x.sum() for x in v], out_shardings=NamedSharding(m, P())).lower(*values).compile()
    assert compiled.as_text().count("all-reduce(") == 1
    assert [float(x) for x in compiled(*values)] == [28, 56, 84]


def test_partitioned_callbacks_see_pieces():
    seen = []
    m = mesh((8,), ("i",))

    @jax.jit
    def f(x):
        jax.debug.callback(lambda v: seen.append(np.asarray(v).tolist()), x * 2, partitioned=True)
        return x + 1

    result = f(jax.device_put(np.arange(16), NamedSharding(m, P("i"))))
    jax.effects_barrier()
    assert sorted(seen) == [[4 * i, 4 * i + 2] for i in range(8)]
    np.testing.assert_array_equal(np.asarray(result), np.arange(16) + 1)
