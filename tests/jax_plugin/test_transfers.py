"""Between host and device: strides, empty and scalar arrays, copies, memories, views."""

import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from children import check
from jax.sharding import SingleDeviceSharding

BASE = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5)

VIEWS = {
    "dense": BASE,
    "fortran": np.asfortranarray(BASE),
    "transposed": BASE.T,
    "permuted": BASE.transpose(2, 0, 3, 1),
    "reversed": BASE[::-1, :, ::-1],
    "all_reversed": BASE[::-1, ::-1, ::-1, ::-1],
    "stepped": BASE[:, ::2, 1::2, ::3],
    "stepped_back": BASE[..., ::-2],
    "broadcast": np.broadcast_to(BASE[:1, :, :1], BASE.shape),
    "broadcast_scalar": np.broadcast_to(np.float32(7), (3, 4)),
    "slice": BASE[1:, 1:2, :3],
    "empty": BASE[:0],
    "empty_inside": BASE[:, :, 2:2],
    "scalar": np.float32(3),
    "zero_rank": np.array(3, np.float32),
    "one": np.ones((1, 1, 1), np.float32),
}


@pytest.mark.parametrize("view", VIEWS)
def test_strides(view):
    data = VIEWS[view]
    array = jax.device_put(data)
    np.testing.assert_array_equal(np.asarray(array), data)
    np.testing.assert_array_equal(np.asarray(array + 1), data + 1)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64", "complex128"])
def test_strides_by_size(dtype):
    jax.config.update("jax_enable_x64", True)
    data = np.arange(60).astype(dtype).reshape(3, 4, 5)
    np.testing.assert_array_equal(np.asarray(jax.device_put(data[::-1, :, ::2].T)), data[::-1, :, ::2].T)


def test_host_may_change_its_array_afterwards():
    data = np.ones(1000, np.float32)
    array = jax.device_put(data)
    data[:] = 2
    np.testing.assert_array_equal(np.asarray(array), np.ones(1000))


def test_to_numpy_shares_memory():
    array = jax.jit(lambda x: x * 2)(np.ones(1 << 20, np.float32))
    array.block_until_ready()
    first, second = np.asarray(array), np.asarray(array)
    assert first.ctypes.data == second.ctypes.data == array.unsafe_buffer_pointer()
    assert not first.flags.writeable


def test_view_outlives_array():
    array = jax.jit(lambda x: x * 2)(np.ones(1 << 16, np.float32))
    array.block_until_ready()
    view = np.asarray(array)
    del array
    gc.collect()
    jnp.zeros(1 << 16).block_until_ready()
    assert view.sum() == 2 << 16


def test_view_survives_donation():
    array = jax.device_put(np.arange(100, dtype=np.float32))
    view = np.asarray(array)
    result = jax.jit(lambda x: x + 1, donate_argnums=0)(array)
    result.block_until_ready()
    np.testing.assert_array_equal(view, np.arange(100))
    np.testing.assert_array_equal(np.asarray(result), np.arange(100) + 1)


@pytest.mark.parametrize("index", range(8))
def test_put_on_each_device(index, devices):
    array = jax.device_put(np.arange(5), devices[index])
    assert array.devices() == {devices[index]}
    result = jax.jit(lambda x: x * 2)(array)
    assert result.devices() == {devices[index]}
    np.testing.assert_array_equal(np.asarray(result), np.arange(5) * 2)


def test_between_devices(devices):
    first = jax.device_put(np.arange(5), devices[1])
    second = jax.device_put(first, devices[6])
    assert second.devices() == {devices[6]}
    np.testing.assert_array_equal(np.asarray(second), np.arange(5))


@pytest.mark.parametrize("kind", ["device", "pinned_host", "unpinned_host"])
def test_memory_kinds(kind, devices):
    sharding = SingleDeviceSharding(devices[0], memory_kind=kind)
    array = jax.device_put(np.arange(6.0, dtype=np.float32), sharding)
    assert array.sharding.memory_kind == kind
    np.testing.assert_array_equal(np.asarray(array), np.arange(6))


def test_memory_spaces_of_a_device(devices):
    assert {memory.kind for memory in devices[0].addressable_memories()} == {"device", "pinned_host", "unpinned_host"}
    assert devices[0].default_memory().kind == "device"


def test_result_in_host_memory(devices):
    sharding = SingleDeviceSharding(devices[0], memory_kind="pinned_host")
    result = jax.jit(lambda x: x + 1, out_shardings=sharding)(np.arange(3))
    assert result.sharding.memory_kind == "pinned_host"
    np.testing.assert_array_equal(np.asarray(result), [1, 2, 3])


def test_moves_within_a_program(devices):
    host = SingleDeviceSharding(devices[0], memory_kind="pinned_host")
    device = SingleDeviceSharding(devices[0], memory_kind="device")
    result = jax.jit(lambda x: jax.device_put(jax.device_put(x, host), device) * 2)(np.arange(3))
    np.testing.assert_array_equal(np.asarray(result), [0, 2, 4])


def test_large_array():
    data = np.random.default_rng(0).standard_normal((1 << 22,), np.float32)
    np.testing.assert_array_equal(np.asarray(jax.device_put(data)), data)


def test_copy_is_a_copy():
    array = jax.device_put(np.arange(4))
    copy = jnp.array(array, copy=True)
    assert copy.unsafe_buffer_pointer() != array.unsafe_buffer_pointer()
    np.testing.assert_array_equal(np.asarray(copy), np.asarray(array))


def test_deleted_array_is_refused():
    array = jax.device_put(np.arange(4))
    array.delete()
    assert array.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(array)


def test_device_get_tree():
    tree = {"a": jnp.ones(3), "b": (jnp.zeros(2), jnp.arange(4))}
    got = jax.device_get(tree)
    assert isinstance(got["b"][1], np.ndarray)
    np.testing.assert_array_equal(got["b"][1], np.arange(4))


def test_dlpack_to_numpy():
    array = jnp.arange(6.0).reshape(2, 3)
    array.block_until_ready()
    np.testing.assert_array_equal(np.array(array.tolist()), np.arange(6.0).reshape(2, 3))


@pytest.mark.parametrize("order", ["C", "F"])
def test_asarray_order(order):
    data = np.array(np.arange(12).reshape(3, 4), order=order)
    np.testing.assert_array_equal(np.asarray(jnp.asarray(data)), data)


READS = {
    "np.asarray": "np.asarray(x)",
    "str": "str(x)",
    "copy_to_host_async": "x.copy_to_host_async()",
    "numpy function": "np.add(x, 1)",
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_reads_of_a_device_with_its_own_memory_are_guarded(read):
    """`host_reads=copied`: what lies on the device is not the host's, and JAX's guard sees every implicit read."""
    check(f"""
        x, y = jnp.ones(3) + 1, jnp.ones(3) + 1
        with jax.transfer_guard_device_to_host("disallow"):
            try:
                {read}
            except Exception as error:
                assert "Disallowed device-to-host transfer" in str(error), error
            else:
                raise AssertionError("the read was not guarded")
            assert (jax.device_get(y) == 2).all()  # Asked for.
        {read}
    """, host_reads="copied", accumulate="f64")


def test_reads_in_place_are_no_transfers():
    with jax.transfer_guard_device_to_host("disallow_explicit"):
        np.testing.assert_array_equal(np.asarray(jnp.ones(3)), np.ones(3))
