"""The random fill, implemented from docs/reference/random-fill.md. Prints the golden values of FillTest.cpp."""

import math
from statistics import NormalDist

MASK = 0xFFFFFFFF

# Coefficients of AS 241, lowest power first.
A = [3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4]
A += [4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3]
B = [1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3]
B += [2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3]
C = [1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0]
C += [1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4]
D = [1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1]
D += [1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9]
E = [6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1]
E += [2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7]
F = [1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2]
F += [7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15]


def philox(counter: list[int], key: list[int]) -> list[int]:
    for _ in range(10):
        p0, p1 = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [(p1 >> 32) ^ counter[1] ^ key[0], p1 & MASK, (p0 >> 32) ^ counter[3] ^ key[1], p0 & MASK]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    return counter


def draw(seed: int, stream: int, i: int) -> int:
    block = i // 2
    w = philox([block & MASK, block >> 32, stream & MASK, stream >> 32], [seed & MASK, seed >> 32])
    return w[0] | w[1] << 32 if i % 2 == 0 else w[2] | w[3] << 32


def polynomial(coefficients: list[float], x: float) -> float:
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total


def log(x: float) -> float:
    m, e = math.frexp(x)
    m, e = m * 2, e - 1
    if m > math.sqrt(2):
        m, e = m * 0.5, e + 1
    s = (m - 1.0) / (m + 1.0)
    z = s * s
    a = 1.0 / 23.0
    for k in range(21, 0, -2):
        a = a * z + 1.0 / k
    return e * math.log(2) + 2.0 * s * a


def quantile(p: float) -> float:
    q = p - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        return q * polynomial(A, r) / polynomial(B, r)
    r = math.sqrt(-log(p if q < 0 else 1.0 - p))
    x = polynomial(C, r - 1.6) / polynomial(D, r - 1.6) if r <= 5 else polynomial(E, r - 5.0) / polynomial(F, r - 5.0)
    return -x if q < 0 else x


def uniform(u: int, low: float, high: float) -> float:
    return low + (high - low) * ((u >> 11) * 2.0**-53)


def normal(u: int, mean: float, deviation: float) -> float:
    return mean + deviation * quantile(((u >> 12) * 2 + 1) * 2.0**-53)


def integer(u: int, low: int, high: int) -> int:
    return low + ((u * (high - low + 1)) >> 64)


def boolean(u: int, p: float) -> int:
    return int((u >> 11) < p * 2.0**53)


def main() -> None:
    worst = 0.0
    for i in range(20000):
        p = ((draw(5, 5, i) >> 12) * 2 + 1) * 2.0**-53
        expected = NormalDist().inv_cdf(p)
        worst = max(worst, abs(quantile(p) - expected) / max(abs(expected), 1e-3))
    print("worst relative difference to statistics.NormalDist:", worst)
    for seed, stream in [(0, 0), (42, 7), (2**64 - 1, 2**64 - 1)]:
        draws = [draw(seed, stream, i) for i in range(6)]
        print("seed", seed, "stream", stream, [hex(u) for u in draws])
        print("  uniform(-1, 1)", [uniform(u, -1, 1).hex() for u in draws])
        print("  normal(0, 1)", [normal(u, 0, 1).hex() for u in draws])
        print("  normal(100, 20) as i8", [max(-128, min(127, round(normal(u, 100, 20)))) for u in draws])
        print("  integers(-8, 7)", [integer(u, -8, 7) for u in draws])
        print("  integers of i64", [integer(u, -(2**63), 2**63 - 1) for u in draws])
        print("  booleans(0.25)", [boolean(u, 0.25) for u in draws])
    print("42, 7, draws 1022 on, normal(0, 1)", [normal(draw(42, 7, i), 0, 1).hex() for i in range(1022, 1028)])


if __name__ == "__main__":
    main()
