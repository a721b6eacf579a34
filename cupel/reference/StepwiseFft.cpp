#include "cupel/reference/StepwiseFft.h"

#include "cupel/reference/Parallel.h"
#include "cupel/reference/UnitCircle.h"

#include <algorithm>
#include <cassert>

#pragma clang fp contract(off)

namespace cupel::reference {
namespace {

constexpr int64_t kLargestRadix = 50;

/// Powers of two first, the lonely 2 at the very front, then odd primes.
std::vector<int64_t> factorsOf(int64_t length, bool eights) {
  std::vector<int64_t> factors;
  for (int64_t power : {8, 4})
    while ((power == 4 || eights) && length % power == 0) {
      factors.push_back(power);
      length /= power;
    }
  if (length % 2 == 0) {
    length /= 2;
    factors.push_back(2);
    std::swap(factors.front(), factors.back());
  }
  for (int64_t prime = 3; prime * prime <= length; prime += 2)
    while (length % prime == 0) {
      factors.push_back(prime);
      length /= prime;
    }
  if (length > 1)
    factors.push_back(length);
  return factors;
}

/// exp(2 pi i k / n).
template <typename T> std::complex<T> root(int64_t k, int64_t n) {
  CirclePoint point = exactCirclePoint(static_cast<uint64_t>(k % n), static_cast<uint64_t>(n));
  return {static_cast<T>(point.cosine), static_cast<T>(point.sine)};
}

/// All roots of one order, as products of a fine and a coarse one, computed in f64: a transform in
/// its own type has no better ones.
class Roots {
public:
  explicit Roots(int64_t n) : n(n) {
    while ((int64_t{1} << shift) * (int64_t{1} << shift) < (n + 2) / 2)
      ++shift;
    for (int64_t k = 0; k < int64_t{1} << shift; ++k)
      fine.push_back(point(k));
    for (int64_t k = 0; k < (n + 2) / 2; k += int64_t{1} << shift)
      coarse.push_back(point(k));
  }
  template <typename T> std::complex<T> at(int64_t k) const {
    bool lower = 2 * k > n;
    if (lower)
      k = n - k;
    CirclePoint a = fine[k & ((int64_t{1} << shift) - 1)], b = coarse[k >> shift];
    auto real = static_cast<T>(a.cosine * b.cosine - a.sine * b.sine);
    auto imag = static_cast<T>(a.cosine * b.sine + a.sine * b.cosine);
    return {real, lower ? -imag : imag};
  }

private:
  CirclePoint point(int64_t k) const {
    if (k == 0)
      return {1, 0};
    return roundedCirclePoint(static_cast<uint64_t>(k % n), static_cast<uint64_t>(n));
  }
  int64_t n;
  int shift = 1;
  std::vector<CirclePoint> fine, coarse;
};

template <typename T> using C = std::complex<T>;

/// a w, or a conj(w) in a forward transform.
template <bool forward, typename T> C<T> turned(C<T> a, C<T> w) {
  T wr = w.real(), wi = forward ? -w.imag() : w.imag();
  return {a.real() * wr - a.imag() * wi, a.imag() * wr + a.real() * wi};
}
/// By an eighth of a turn, and by a quarter.
template <bool forward, typename T> C<T> eighth(C<T> a) {
  constexpr T half = static_cast<T>(0.707106781186547524400844362104849L);
  if (forward)
    return {half * (a.real() + a.imag()), half * (a.imag() - a.real())};
  return {half * (a.real() - a.imag()), half * (a.imag() + a.real())};
}
template <bool forward, typename T> C<T> quarter(C<T> a) {
  return forward ? C<T>(a.imag(), -a.real()) : C<T>(-a.imag(), a.real());
}

/// How many terms of a sum are added up before they join the rest.
enum class Grouping { One, Two, Four };

/// The transform of `radix` numbers, in place.
template <bool forward, typename T> struct Butterfly {
  static void two(C<T> &a, C<T> &b) {
    C<T> sum = a + b;
    b = a - b;
    a = sum;
  }
  /// Of every `step`-th number.
  static void four(C<T> *x, int64_t step) {
    C<T> a = x[0] + x[2 * step], b = x[0] - x[2 * step];
    C<T> c = x[step] + x[3 * step], d = quarter<forward>(x[step] - x[3 * step]);
    x[0] = a + c;
    x[step] = b + d;
    x[2 * step] = a - c;
    x[3 * step] = b - d;
  }
  static void eight(C<T> *x) {
    four(x, 2);
    four(x + 1, 2);
    C<T> turns[4] = {x[1], eighth<forward>(x[3]), quarter<forward>(x[5]),
                     quarter<forward>(eighth<forward>(x[7]))};
    C<T> result[8];
    for (int k = 0; k < 4; ++k) {
      result[k] = x[2 * k] + turns[k];
      result[k + 4] = x[2 * k] - turns[k];
    }
    std::copy(result, result + 8, x);
  }
  /// Numbers and their opposites are added and subtracted; of these, sums are made with cosines
  /// and sines.
  static void odd(C<T> *x, int64_t radix, const C<T> *roots, Grouping grouping) {
    int64_t half = radix / 2;
    C<T> sums[kLargestRadix], differences[kLargestRadix], result[kLargestRadix];
    result[0] = x[0];
    for (int64_t j = 1; j <= half; ++j) {
      sums[j] = x[j] + x[radix - j];
      differences[j] = x[j] - x[radix - j];
      result[0] += sums[j];
    }
    for (int64_t u = 1; u <= half; ++u) {
      C<T> even = x[0], uneven(0, 0);
      for (int64_t j = 1; j <= half;) {
        int64_t left = half - j + 1, size = 1;
        if (j == 1)
          size = std::min<int64_t>(left, 2);
        else if (grouping == Grouping::Four && left >= 4)
          size = 4;
        else if (grouping != Grouping::One && left >= 2)
          size = 2;
        // The first terms join one by one, later ones as a group.
        C<T> evenPart(0, 0), unevenPart(0, 0);
        for (int64_t k = 0; k < size; ++k, ++j) {
          C<T> w = roots[u * j % radix];
          T sine = forward ? -w.imag() : w.imag();
          C<T> a(w.real() * sums[j].real(), w.real() * sums[j].imag());
          C<T> b(-(sine * differences[j].imag()), sine * differences[j].real());
          if (j <= 2) {
            even += a;
            uneven = j == 1 ? b : uneven + b;
            continue;
          }
          evenPart = k == 0 ? a : evenPart + a;
          unevenPart = k == 0 ? b : unevenPart + b;
        }
        if (j > 3) {
          even += evenPart;
          uneven += unevenPart;
        }
      }
      result[u] = even + uneven;
      result[radix - u] = even - uneven;
    }
    std::copy(result, result + radix, x);
  }
  static void any(C<T> *x, int64_t radix, const C<T> *roots, Grouping grouping) {
    switch (radix) {
    case 2:
      return two(x[0], x[1]);
    case 4:
      return four(x, 1);
    case 8:
      return eight(x);
    default:
      return odd(x, radix, roots, grouping);
    }
  }
};

template <typename Pass, typename T> std::vector<Pass> passesOf(int64_t length, bool eights) {
  std::vector<Pass> passes;
  int64_t before = 1;
  Roots all(length);
  // Small radices have their own constants.
  int64_t small = eights ? 11 : 5;
  for (int64_t radix : factorsOf(length, eights)) {
    Pass pass{radix, before, length / (before * radix), {}, {}};
    pass.turns.resize(static_cast<size_t>((radix - 1) * (pass.inner - 1)));
    for (int64_t j = 1; j < radix; ++j)
      forBlocks(pass.inner - 1, 5, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          pass.turns[(j - 1) * (pass.inner - 1) + i] = all.at<T>(j * before * (i + 1));
      });
    for (int64_t j = 0; j < radix; ++j)
      pass.roots.push_back(radix <= small ? root<T>(j, radix) : all.at<T>(j * (length / radix)));
    before *= radix;
    passes.push_back(std::move(pass));
  }
  return passes;
}

template <bool forward, typename T, typename Pass>
void complexPass(const Pass &pass, const C<T> *in, C<T> *out) {
  int64_t radix = pass.radix, inner = pass.inner;
  Grouping grouping = radix > 11 ? Grouping::Two : Grouping::One;
  C<T> x[kLargestRadix];
  for (int64_t k = 0; k < pass.before; ++k)
    for (int64_t i = 0; i < inner; ++i) {
      if ((i + inner * k) % 4096 == 4095 && isStopped())
        return;
      for (int64_t m = 0; m < radix; ++m)
        x[m] = in[i + inner * (m + radix * k)];
      Butterfly<forward, T>::any(x, radix, pass.roots.data(), grouping);
      out[i + inner * k] = x[0];
      for (int64_t m = 1; m < radix; ++m)
        out[i + inner * (k + pass.before * m)] =
            i == 0 ? x[m] : turned<forward>(x[m], pass.turns[(m - 1) * (inner - 1) + i - 1]);
    }
}

} // namespace

template <typename T> bool StepwiseFft<T>::canDo(int64_t length) {
  std::vector<int64_t> factors = factorsOf(length, true);
  return length > 0 && std::ranges::all_of(factors, [](int64_t f) { return f < kLargestRadix; });
}

template <typename T>
StepwiseFft<T>::StepwiseFft(int64_t length)
    : length(length), passes(passesOf<Pass, T>(length, true)) {}

template <typename T>
void StepwiseFft<T>::run(C<T> *data, C<T> *scratch, bool forward, T factor) const {
  C<T> *from = data, *to = scratch;
  for (const Pass &pass : passes) {
    if (forward)
      complexPass<true, T>(pass, from, to);
    else
      complexPass<false, T>(pass, from, to);
    std::swap(from, to);
  }
  for (int64_t i = 0; i < length; ++i)
    data[i] = factor != 1 ? C<T>(from[i].real() * factor, from[i].imag() * factor) : from[i];
}

template <typename T>
StepwiseRealFft<T>::StepwiseRealFft(int64_t length)
    : length(length), passes(passesOf<Pass, T>(length, false)) {}

// The half spectra of parts lie one after another as (real of 0, real of 1, imaginary of 1, ...);
// a part's upper frequencies are those of its mirror image.

template <typename T>
void StepwiseRealFft<T>::backwardPass(const Pass &pass, const T *in, T *out) const {
  int64_t radix = pass.radix, inner = pass.inner, half = (radix - 1) / 2;
  Grouping grouping = radix > 5 ? Grouping::Four : Grouping::One;
  C<T> x[kLargestRadix];
  for (int64_t k = 0; k < pass.before; ++k) {
    auto at = [&](int64_t i, int64_t row) { return in[i + inner * (row + radix * k)]; };
    auto put = [&](int64_t i, int64_t m) -> T & { return out[i + inner * (k + pass.before * m)]; };
    x[0] = at(0, 0);
    for (int64_t j = 1; j <= half; ++j) {
      x[j] = {at(inner - 1, 2 * j - 1), at(0, 2 * j)};
      x[radix - j] = std::conj(x[j]);
    }
    if (radix % 2 == 0)
      x[radix / 2] = at(inner - 1, radix - 1);
    Butterfly<false, T>::any(x, radix, pass.roots.data(), grouping);
    for (int64_t m = 0; m < radix; ++m)
      put(0, m) = x[m].real();
    for (int64_t i = 2; i < inner; i += 2) {
      if (i % 8192 == 0 && isStopped())
        return;
      int64_t mirror = inner - i;
      for (int64_t j = 0; 2 * j < radix; ++j)
        x[j] = {at(i - 1, 2 * j), at(i, 2 * j)};
      for (int64_t j = 1; 2 * j <= radix; ++j)
        x[radix - j] = {at(mirror - 1, 2 * j - 1), -at(mirror, 2 * j - 1)};
      Butterfly<false, T>::any(x, radix, pass.roots.data(), grouping);
      for (int64_t m = 0; m < radix; ++m) {
        C<T> value =
            m == 0 ? x[0] : turned<false>(x[m], pass.turns[(m - 1) * (inner - 1) + i / 2 - 1]);
        put(i - 1, m) = value.real();
        put(i, m) = value.imag();
      }
    }
    if (inner % 2 != 0)
      continue;
    // Halfway; the turns are eighths here.
    int64_t last = inner - 1;
    if (radix == 2) {
      put(last, 0) = 2 * at(last, 0);
      put(last, 1) = -2 * at(0, 1);
    } else {
      assert(radix == 4);
      constexpr T root2 = static_cast<T>(1.414213562373095048801688724209698L);
      T realSum = at(last, 0) + at(last, 2), realDifference = at(last, 0) - at(last, 2);
      T imagSum = at(0, 3) + at(0, 1), imagDifference = at(0, 3) - at(0, 1);
      put(last, 0) = realSum + realSum;
      put(last, 1) = root2 * (realDifference - imagSum);
      put(last, 2) = imagDifference + imagDifference;
      put(last, 3) = -root2 * (realDifference + imagSum);
    }
  }
}

template <typename T>
void StepwiseRealFft<T>::forwardPass(const Pass &pass, const T *in, T *out) const {
  int64_t radix = pass.radix, inner = pass.inner, half = (radix - 1) / 2;
  Grouping grouping = radix > 5 ? Grouping::Four : Grouping::One;
  C<T> x[kLargestRadix];
  for (int64_t k = 0; k < pass.before; ++k) {
    auto at = [&](int64_t i, int64_t m) { return in[i + inner * (k + pass.before * m)]; };
    auto put = [&](int64_t i, int64_t row) -> T & { return out[i + inner * (row + radix * k)]; };
    for (int64_t m = 0; m < radix; ++m)
      x[m] = at(0, m);
    Butterfly<true, T>::any(x, radix, pass.roots.data(), grouping);
    put(0, 0) = x[0].real();
    for (int64_t j = 1; j <= half; ++j) {
      put(inner - 1, 2 * j - 1) = x[j].real();
      put(0, 2 * j) = x[j].imag();
    }
    if (radix % 2 == 0)
      put(inner - 1, radix - 1) = x[radix / 2].real();
    for (int64_t i = 2; i < inner; i += 2) {
      if (i % 8192 == 0 && isStopped())
        return;
      int64_t mirror = inner - i;
      for (int64_t m = 0; m < radix; ++m) {
        C<T> value(at(i - 1, m), at(i, m));
        x[m] = m == 0 ? value : turned<true>(value, pass.turns[(m - 1) * (inner - 1) + i / 2 - 1]);
      }
      Butterfly<true, T>::any(x, radix, pass.roots.data(), grouping);
      for (int64_t j = 0; 2 * j < radix; ++j) {
        put(i - 1, 2 * j) = x[j].real();
        put(i, 2 * j) = x[j].imag();
      }
      for (int64_t j = 1; 2 * j <= radix; ++j) {
        put(mirror - 1, 2 * j - 1) = x[radix - j].real();
        put(mirror, 2 * j - 1) = -x[radix - j].imag();
      }
    }
    if (inner % 2 != 0)
      continue;
    int64_t last = inner - 1;
    if (radix == 2) {
      put(0, 1) = -at(last, 1);
      put(last, 0) = at(last, 0);
    } else {
      assert(radix == 4);
      constexpr T half2 = static_cast<T>(0.707106781186547524400844362104849L);
      T imag = -half2 * (at(last, 1) + at(last, 3)), real = half2 * (at(last, 1) - at(last, 3));
      put(last, 0) = at(last, 0) + real;
      put(last, 2) = at(last, 0) - real;
      put(0, 3) = imag + at(last, 2);
      put(0, 1) = imag - at(last, 2);
    }
  }
}

template <typename T> void StepwiseRealFft<T>::forward(const T *in, C<T> *out) const {
  std::vector<T> first(in, in + length), second(first.size());
  for (size_t p = passes.size(); p-- > 0;) {
    forwardPass(passes[p], first.data(), second.data());
    std::swap(first, second);
  }
  out[0] = first[0];
  for (int64_t j = 1; 2 * j < length; ++j)
    out[j] = {first[2 * j - 1], first[2 * j]};
  if (length % 2 == 0)
    out[length / 2] = first[length - 1];
}

template <typename T> void StepwiseRealFft<T>::backward(const C<T> *in, T *out, T factor) const {
  std::vector<T> first(static_cast<size_t>(length)), second(first.size());
  first[0] = in[0].real();
  for (int64_t j = 1; 2 * j < length; ++j) {
    first[2 * j - 1] = in[j].real();
    first[2 * j] = in[j].imag();
  }
  if (length % 2 == 0)
    first[length - 1] = in[length / 2].real();
  for (const Pass &pass : passes) {
    backwardPass(pass, first.data(), second.data());
    std::swap(first, second);
  }
  for (int64_t i = 0; i < length; ++i)
    out[i] = factor != 1 ? first[i] * factor : first[i];
}

template class StepwiseFft<float>;
template class StepwiseFft<double>;
template class StepwiseRealFft<float>;
template class StepwiseRealFft<double>;

} // namespace cupel::reference
