"""Writes the sample files of this folder. Needs numpy, ml_dtypes and safetensors from PyPI."""

import pathlib

import ml_dtypes
import numpy as np
import safetensors.numpy

here = pathlib.Path(__file__).parent
ramp = np.arange(6).reshape(2, 3) * 0.5 - 1  # -1, -0.5, 0, 0.5, 1, 1.5


def save(name: str, array: np.ndarray, version: tuple[int, int] | None = None) -> None:
    with open(here / name, "wb") as file:
        np.lib.format.write_array(file, array, version=version, allow_pickle=False)


save("f32.npy", ramp.astype(np.float32))
save("f64-big-endian.npy", ramp.astype(">f8"))
save("c64-big-endian.npy", (ramp + 2j).astype(">c8"))
save("i16-fortran.npy", np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)))
save("bool.npy", np.array([True, False, True]))
save("u64-scalar.npy", np.array(2**64 - 1, dtype=np.uint64))
save("f16-empty.npy", np.zeros((0, 3), dtype=np.float16))
save("i32-version2.npy", np.arange(3, dtype=np.int32), version=(2, 0))
save("i8-version3.npy", np.arange(3, dtype=np.int8), version=(3, 0))
save("bf16.npy", ramp.astype(ml_dtypes.bfloat16))
save("f8e4m3fn.npy", ramp.astype(ml_dtypes.float8_e4m3fn))
save("f8e5m2.npy", ramp.astype(ml_dtypes.float8_e5m2))
save("i4.npy", np.array([-8, -1, 0, 7], dtype=ml_dtypes.int4))
with open(here / "text.npy", "wb") as file:
    np.save(file, np.array(["a", "bc"]))
with open(here / "object.npy", "wb") as file:
    np.save(file, np.array([{}, None], dtype=object), allow_pickle=True)
with open(here / "structured.npy", "wb") as file:
    np.save(file, np.zeros(2, dtype=[("a", "<i4"), ("b", "<f4")]))

arrays = {"weights": ramp.astype(np.float32), "steps": np.array([3], dtype=np.int64)}
np.savez(here / "stored.npz", **arrays)
np.savez_compressed(here / "deflated.npz", **arrays, zeros=np.zeros((64, 64), dtype=np.int8))

types = [np.bool_, np.uint8, np.int8, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3fn, np.int16, np.uint16, np.float16]
types += [ml_dtypes.bfloat16, np.int32, np.uint32, np.float32, np.complex64, np.float64, np.int64, np.uint64]
samples = {np.dtype(t).name: np.array([[0, 1, 1]]).astype(t) for t in types}
samples["scalar"] = np.array(2.5, dtype=np.float32)
samples["empty"] = np.zeros((2, 0), dtype=np.float32)
safetensors.numpy.save_file(samples, here / "types.safetensors", metadata={"made by": "safetensors", "note": "ü\n"})
safetensors.numpy.save_file({"a": ramp.astype(np.float32)}, here / "one.safetensors")
