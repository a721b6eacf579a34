"""Block floats written by another hand than BlockFloat.cpp's: in fractions, from the definition.

Run it to write block_floats.bin beside it: for each of 20,000 blocks that BlockFloatTest.cpp draws as well, a sum over its
encoding as bfp8 and as bfp4.
"""

import struct
from fractions import Fraction
from pathlib import Path

MASK = (1 << 64) - 1


class Draws:
    def __init__(self, seed: int):
        self.state = seed

    def __call__(self) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & MASK
        return self.state >> 32


def encode(patterns: list[int], digits: int) -> tuple[int, list[int]]:
    """`patterns` are numbers of f32 as bits; `digits` is 7 or 3."""
    shared = max((p >> 23) & 255 for p in patterns)
    codes = []
    for p in patterns:
        exponent, fraction = (p >> 23) & 255, p & 0x7FFFFF
        if exponent == 0:
            codes.append(0)
            continue
        # The significand has 24 binary digits; those that the shared exponent moves beyond the last are dropped.
        significand = Fraction((1 << 23) + fraction, 1 << (shared - exponent)).__floor__()
        exact = Fraction(significand, 1 << (24 - digits))
        code = exact.__floor__()
        rest = exact - code
        if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and code % 2 == 1):
            code += 1
        code = min(code, (1 << digits) - 1)
        codes.append(code + ((p >> 31) << digits) if code else 0)
    return shared, codes


def main() -> None:
    draw = Draws(20240601)
    out = bytearray()
    for _ in range(20000):
        patterns = []
        for _ in range(16):
            bits = draw()
            exponent = (bits >> 23) & 255 if draw() % 64 == 0 else 118 + draw() % 12
            patterns.append((bits & 0x807FFFFF) | exponent << 23)
        for digits in (7, 3):
            shared, codes = encode(patterns, digits)
            total = shared
            for code in codes:
                total = (total * 31 + code) & 0xFFFFFFFF
            out += struct.pack("<I", total)
    (Path(__file__).parent / "block_floats.bin").write_bytes(out)


if __name__ == "__main__":
    main()
