"""Writes SpecialTables.h: Chebyshev coefficients of the smooth parts of special functions, computed
with mpmath in 60 digits, so that no table is copied from anywhere and each can be checked.

    python3 GenerateSpecialTables.py > SpecialTables.h
"""

from collections.abc import Callable

import mpmath as mp

mp.mp.dps = 60


def chebyshev(function: Callable[[mp.mpf], mp.mpf], low: float, high: float,
              tolerance: float = 2e-17, most: int = 64) -> list[mp.mpf]:
    """Coefficients on [low, high], as many as a relative tolerance asks for."""
    nodes = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / most) for k in range(most)]
    values = [function((mp.mpf(high) - low) / 2 * t + (mp.mpf(high) + low) / 2) for t in nodes]
    result = []
    for j in range(most):
        total = mp.fsum(values[k] * mp.cos(mp.pi * j * (k + mp.mpf(1) / 2) / most)
                        for k in range(most))
        result.append(2 * total / most)
    result[0] /= 2
    top = max(abs(c) for c in result)
    while len(result) > 1 and abs(result[-1]) < tolerance * top:
        result.pop()
    return result


def phase(x: mp.mpf, order: int) -> mp.mpf:
    return x - mp.pi * (2 * order + 1) / 4


def bessel_p(order: int) -> Callable[[mp.mpf], mp.mpf]:
    def function(z: mp.mpf) -> mp.mpf:  # z = (8 / x)^2
        x = 8 / mp.sqrt(z)
        c = phase(x, order)
        return mp.sqrt(mp.pi * x / 2) * (mp.besselj(order, x) * mp.cos(c) + mp.bessely(order, x) * mp.sin(c))
    return function


def bessel_q(order: int) -> Callable[[mp.mpf], mp.mpf]:
    def function(z: mp.mpf) -> mp.mpf:
        x = 8 / mp.sqrt(z)
        c = phase(x, order)
        return x * mp.sqrt(mp.pi * x / 2) * (mp.bessely(order, x) * mp.cos(c) - mp.besselj(order, x) * mp.sin(c))
    return function


def airy_zeta(x: mp.mpf) -> mp.mpf:
    return 2 * x ** mp.mpf(1.5) / 3


def airy_right(t: mp.mpf) -> mp.mpf:  # t = 1 / zeta
    zeta = 1 / t
    x = (mp.mpf(3) / 2 * zeta) ** (mp.mpf(2) / 3)
    return mp.airyai(x) * mp.exp(zeta) * x ** mp.mpf(0.25) * 2 * mp.sqrt(mp.pi)


def airy_left(part: str) -> Callable[[mp.mpf], mp.mpf]:
    def function(z: mp.mpf) -> mp.mpf:  # z = 1 / zeta^2
        zeta = 1 / mp.sqrt(z)
        x = (mp.mpf(3) / 2 * zeta) ** (mp.mpf(2) / 3)
        angle = zeta + mp.pi / 4
        ai, bi = mp.airyai(-x), mp.airybi(-x)
        scale = mp.sqrt(mp.pi) * x ** mp.mpf(0.25)
        if part == "p":
            return scale * (ai * mp.sin(angle) + bi * mp.cos(angle))
        return zeta * scale * (bi * mp.sin(angle) - ai * mp.cos(angle))
    return function


TINY = mp.mpf(10) ** -12
TABLES: list[tuple[str, str, Callable[[mp.mpf], mp.mpf], float, float]] = [
    ("I0Small", "exp(-x) I0(x), x in [0, 8]", lambda x: mp.exp(-x) * mp.besseli(0, x), 0, 8),
    ("I0Large", "sqrt(x) exp(-x) I0(x), 8 / x in [0, 1]",
     lambda t: mp.sqrt(8 / t) * mp.exp(-8 / t) * mp.besseli(0, 8 / t), 0, 1),
    ("I1Small", "exp(-x) I1(x) / x, x in [0, 8]", lambda x: mp.exp(-x) * mp.besseli(1, x) / x, 0, 8),
    ("I1Large", "sqrt(x) exp(-x) I1(x), 8 / x in [0, 1]",
     lambda t: mp.sqrt(8 / t) * mp.exp(-8 / t) * mp.besseli(1, 8 / t), 0, 1),
    ("K0Small", "K0(x) + log(x / 2) I0(x), x^2 in [0, 4]",
     lambda z: mp.besselk(0, mp.sqrt(z)) + mp.log(mp.sqrt(z) / 2) * mp.besseli(0, mp.sqrt(z)), 0, 4),
    ("K0Large", "sqrt(x) exp(x) K0(x), 2 / x in [0, 1]",
     lambda t: mp.sqrt(2 / t) * mp.exp(2 / t) * mp.besselk(0, 2 / t), 0, 1),
    ("K1Small", "x (K1(x) - log(x / 2) I1(x)), x^2 in [0, 4]",
     lambda z: mp.sqrt(z) * (mp.besselk(1, mp.sqrt(z)) - mp.log(mp.sqrt(z) / 2) * mp.besseli(1, mp.sqrt(z))), 0, 4),
    ("K1Large", "sqrt(x) exp(x) K1(x), 2 / x in [0, 1]",
     lambda t: mp.sqrt(2 / t) * mp.exp(2 / t) * mp.besselk(1, 2 / t), 0, 1),
    ("J0Small", "J0(x), x^2 in [0, 64]", lambda z: mp.besselj(0, mp.sqrt(z)), 0, 64),
    ("J1Small", "J1(x) / x, x^2 in [0, 64]", lambda z: mp.besselj(1, mp.sqrt(z)) / mp.sqrt(z), 0, 64),
    ("Y0Small", "Y0(x) - 2 / pi log(x / 2) J0(x), x^2 in [0, 64]",
     lambda z: mp.bessely(0, mp.sqrt(z)) - 2 / mp.pi * mp.log(mp.sqrt(z) / 2) * mp.besselj(0, mp.sqrt(z)), 0, 64),
    ("Y1Small", "(Y1(x) - 2 / pi (log(x / 2) J1(x) - 1 / x)) / x, x^2 in [0, 64]",
     lambda z: (mp.bessely(1, mp.sqrt(z))
                - 2 / mp.pi * (mp.log(mp.sqrt(z) / 2) * mp.besselj(1, mp.sqrt(z)) - 1 / mp.sqrt(z))) / mp.sqrt(z),
     0, 64),
    ("P0", "amplitude of J0 and Y0 in phase, (8 / x)^2 in [0, 1]", bessel_p(0), 0, 1),
    ("Q0", "x times the amplitude out of phase", bessel_q(0), 0, 1),
    ("P1", "the same of J1 and Y1", bessel_p(1), 0, 1),
    ("Q1", "", bessel_q(1), 0, 1),
    ("AiryMiddle", "Ai(x), x in [-8, 2]", mp.airyai, -8, 2),
    ("AiryRight", "2 sqrt(pi) x^(1/4) exp(zeta) Ai(x), zeta = 2/3 x^(3/2), 1 / zeta in [0, 0.55]",
     airy_right, 0, 0.55),
    ("AiryLeftP", "amplitude of Ai(-x) in phase, 1 / zeta^2 in [0, 0.0045]", airy_left("p"), 0, 0.0045),
    ("AiryLeftQ", "zeta times the amplitude out of phase", airy_left("q"), 0, 0.0045),
    ("Erfcx", "exp(x^2) erfc(x), 4 / (4 + x) in [0, 1]",
     lambda t: mp.exp((4 / t - 4) ** 2) * mp.erfc(4 / t - 4) / t, 0, 1),
]


def main() -> None:
    print("// Chebyshev coefficients of the smooth parts of special functions. Written by\n"
          "// GenerateSpecialTables.py; used by Special.cpp only; not to be edited.\n#pragma once\n\n"
          "namespace cupel::frontends::torch_import {\n")
    for name, what, function, low, high in TABLES:
        if what:
            print(f"// {what}")
        coefficients = chebyshev(function, low, high)
        print(f"constexpr double k{name}[] = {{")
        for c in coefficients:
            print(f"    {mp.nstr(c, 18, strip_zeros=False, min_fixed=0, max_fixed=0)},")
        print("};\n")
    print("} // namespace cupel::frontends::torch_import")


if __name__ == "__main__":
    main()
