"""Element types, conversions between them, and files of tensors.

Floats below 32 bits are kept as float32 that hold only values of the type, integers below 8 bits in
a byte. A type is called to bring values into it: bf16(x) rounds, i4(x) wraps.
"""

import json
import mmap
import os

import numpy as np

np.seterr(all="ignore")

inf = np.inf
nan = np.nan


class Type:
    """An element type: its name, what holds it in memory, and how values are brought into it."""

    def __init__(self, name, dtype, bits, kind, mantissa=0, least=0, largest=0.0, has_infinity=True):
        self.name, self.dtype, self.bits, self.kind = name, np.dtype(dtype), bits, kind
        self.mantissa, self.least = mantissa, least
        self.largest, self.has_infinity = largest, has_infinity

    def __repr__(self):
        return self.name

    def __call__(self, value):
        x = np.asarray(value)
        if self.kind == "bool":
            return x.real != 0
        if x.dtype.kind == "c" and self.kind != "complex":
            x = x.real
        if self.kind in ("int", "uint"):
            return self._integer(x)
        if self.kind == "complex" or self.bits >= 32:
            return x.astype(self.dtype)
        return self._rounded(x)

    def _integer(self, x):
        if x.dtype.kind == "f":
            # Toward zero, at most the ends of the range; NaN is zero.
            low = -(1 << (self.bits - 1)) if self.kind == "int" else 0
            high = (1 << (self.bits - (self.kind == "int"))) - 1
            whole = np.trunc(x.astype(np.float64))
            inside = (whole > low) & (whole < high)
            result = np.where(inside, whole, 0).astype(self.dtype)
            result = np.where(whole <= low, self.dtype.type(low), result)
            return np.where(whole >= high, self.dtype.type(high), result).astype(self.dtype)
        x = x.astype(self.dtype)
        if self.bits >= 8:
            return x
        if self.kind == "uint":
            return x & self.dtype.type((1 << self.bits) - 1)
        return (x << (8 - self.bits)).astype(np.int8) >> (8 - self.bits)

    def _rounded(self, x):
        """To the nearest value of the format, of two equally near ones to the even one."""
        if x.dtype.kind != "f":
            x = x.astype(np.float64)
        if self.name == "f16":
            return x.astype(np.float16).astype(np.float32)
        if self.name == "bf16" and x.dtype == np.float32:
            bits = np.ascontiguousarray(x).reshape(x.shape).view(np.uint32)
            up = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
            return np.where(np.isnan(x), x, up.view(np.float32))
        x = x.astype(np.float64)
        exponent = np.maximum(np.frexp(x)[1] - 1, self.least) - self.mantissa
        finite = np.isfinite(x)
        result = np.where(finite, np.ldexp(np.rint(np.ldexp(np.where(finite, x, 0), -exponent)), exponent), x)
        beyond = np.inf if self.has_infinity else np.nan
        result = np.where(np.abs(result) > self.largest, np.copysign(beyond, result), result)
        if not self.has_negative_zero:
            result = np.where(result == 0, 0.0, result)
        return result.astype(np.float32)

    @property
    def has_negative_zero(self):
        return not self.name.endswith("UZ")

    def values(self):
        """Of an 8-bit format: what each of the 256 bit patterns stands for."""
        code = np.arange(256)
        exponent, fraction = (code & 127) >> self.mantissa, code & ((1 << self.mantissa) - 1)
        normal = exponent > 0
        scale = np.where(normal, exponent - 1 + self.least, self.least) - self.mantissa
        value = np.ldexp((fraction + np.where(normal, 1 << self.mantissa, 0)).astype(np.float64), scale)
        value = np.where(code & 128, -value, value)
        if not self.has_negative_zero:
            value[128] = np.nan
        elif self.has_infinity:
            top = exponent == (1 << (7 - self.mantissa)) - 1
            value = np.where(top, np.where(fraction == 0, np.copysign(np.inf, value), np.nan), value)
        else:
            value[[127, 255]] = np.nan
        return value.astype(np.float32)

    def bits_of(self, x):
        """The bit patterns of values that are held wider than they are."""
        if self.name == "f16":
            return x.astype(np.float16).view(np.uint16)
        if self.name == "bf16":
            return (np.ascontiguousarray(x, np.float32).reshape(x.shape).view(np.uint32) >> 16).astype(np.uint16)
        table = self.values()
        finite = np.flatnonzero(np.isfinite(table[:128]))
        code = np.searchsorted(table[finite], np.abs(np.where(np.isfinite(x), x, 0)))
        code = code | (np.signbit(x) << 7)
        not_number = 128 if not self.has_negative_zero else 127
        if self.has_infinity:
            infinity = int(np.flatnonzero(np.isinf(table))[0])
            code = np.where(np.isinf(x), infinity | (np.signbit(x) << 7), code)
        return np.where(np.isnan(x), not_number, code).astype(np.uint8)

    def from_bits(self, bits):
        if self.name == "f16":
            return bits.view(np.float16).astype(np.float32)
        if self.name == "bf16":
            return (bits.astype(np.uint32) << 16).view(np.float32)
        return self.values()[bits]

    @property
    def is_held_wider(self):
        return self.kind == "float" and self.bits < 32


i1 = Type("i1", np.bool_, 1, "bool")
i2 = Type("i2", np.int8, 2, "int")
i4 = Type("i4", np.int8, 4, "int")
i8 = Type("i8", np.int8, 8, "int")
i16 = Type("i16", np.int16, 16, "int")
i32 = Type("i32", np.int32, 32, "int")
i64 = Type("i64", np.int64, 64, "int")
ui2 = Type("ui2", np.uint8, 2, "uint")
ui4 = Type("ui4", np.uint8, 4, "uint")
ui8 = Type("ui8", np.uint8, 8, "uint")
ui16 = Type("ui16", np.uint16, 16, "uint")
ui32 = Type("ui32", np.uint32, 32, "uint")
ui64 = Type("ui64", np.uint64, 64, "uint")
f8E4M3 = Type("f8E4M3", np.float32, 8, "float", 3, -6, 240.0)
f8E4M3FN = Type("f8E4M3FN", np.float32, 8, "float", 3, -6, 448.0, has_infinity=False)
f8E4M3FNUZ = Type("f8E4M3FNUZ", np.float32, 8, "float", 3, -7, 240.0, has_infinity=False)
f8E4M3B11FNUZ = Type("f8E4M3B11FNUZ", np.float32, 8, "float", 3, -10, 30.0, has_infinity=False)
f8E5M2 = Type("f8E5M2", np.float32, 8, "float", 2, -14, 57344.0)
f8E5M2FNUZ = Type("f8E5M2FNUZ", np.float32, 8, "float", 2, -15, 57344.0, has_infinity=False)
f16 = Type("f16", np.float32, 16, "float", 10, -14, 65504.0)
bf16 = Type("bf16", np.float32, 16, "float", 7, -126, float.fromhex("0x1.fep127"))
f32 = Type("f32", np.float32, 32, "float")
f64 = Type("f64", np.float64, 64, "float")
c64 = Type("c64", np.complex64, 64, "complex")
c128 = Type("c128", np.complex128, 128, "complex")

TYPES = {name: value for name, value in list(globals().items()) if isinstance(value, Type)}


def full(shape, value, dtype):
    """A tensor of one value."""
    return np.full(shape, dtype(value), dtype.dtype)


def ones(shape, dtype):
    return np.ones(shape, dtype.dtype)


def array(values, shape, dtype):
    """A tensor of these values, row by row."""
    return dtype(np.array(values, _wide(dtype))).reshape(shape)


def _wide(dtype):
    return {"float": np.float64, "complex": np.complex128}.get(dtype.kind, dtype.dtype)


# Files of the safetensors format: the size of a header, the header in JSON, the bytes of the tensors.
# Types that the format has no name for are stored as bytes, and the metadata says what they are.
_STORED = {
    "BOOL": "i1", "I8": "i8", "I16": "i16", "I32": "i32", "I64": "i64", "U8": "ui8", "U16": "ui16",
    "U32": "ui32", "U64": "ui64", "F16": "f16", "BF16": "bf16", "F32": "f32", "F64": "f64", "C64": "c64",
    "F8_E4M3": "f8E4M3FN", "F8_E5M2": "f8E5M2", "F8_E4M3FNUZ": "f8E4M3FNUZ", "F8_E5M2FNUZ": "f8E5M2FNUZ",
}  # fmt: skip
_NAMES = {ours: stored for stored, ours in _STORED.items()}


def load_tensors(path):
    """The tensors of a file by name. Those that need no conversion are mapped, not read."""
    tensors = {}
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        length = os.fstat(file.fileno()).st_size
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if length > 8 + size else b""
    types = header.pop("__metadata__", {})
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = TYPES[types.get(name) or _STORED[entry["dtype"]]]
        shape = entry["shape"]
        if dtype is c128:
            shape = shape[:-1]
        stored = np.dtype(f"u{dtype.bits // 8}") if dtype.is_held_wider else dtype.dtype
        # A file of empty tensors alone has nothing behind its header.
        raw = np.frombuffer(data, stored, (end - begin) // stored.itemsize, 8 + size + begin) if end > begin else np.empty(0, stored)
        tensors[name] = (dtype.from_bits(raw) if dtype.is_held_wider else raw).reshape(shape)
    return tensors


def save_tensors(path, tensors):
    """Writes {name: (tensor, type)}."""
    header, types, parts, at = {}, {}, [], 0
    for name, (x, dtype) in tensors.items():
        x = np.asarray(x)
        shape = list(x.shape)
        raw = dtype.bits_of(x) if dtype.is_held_wider else np.asarray(x, dtype.dtype)
        stored = _NAMES.get(dtype.name)
        if stored is None:
            types[name] = dtype.name
            stored = {"c128": "F64", "i2": "I8", "i4": "I8"}.get(dtype.name, "U8")
            shape += [2] if dtype is c128 else []
        part = raw.tobytes()
        header[name] = {"dtype": stored, "shape": shape, "data_offsets": [at, at + len(part)]}
        at += len(part)
        parts.append(part)
    if types:
        header["__metadata__"] = types
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(parts))
