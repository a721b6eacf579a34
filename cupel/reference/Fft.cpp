#include "cupel/reference/Fft.h"

#include "cupel/reference/Parallel.h"
#include "cupel/reference/StepwiseFft.h"
#include "cupel/reference/UnitCircle.h"
#include "cupel/tensor/Convert.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <cstring>
#include <memory>
#include <string>

#pragma clang fp contract(off)

namespace cupel::reference {
namespace {

using tensor::DType;
using tensor::Shape;
using tensor::Tensor;
using Complex = std::complex<double>;

Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// exp(-2 pi i k / n).
Complex root(uint64_t k, uint64_t n) {
  CirclePoint point = circlePoint(k % n, n);
  return {point.cosine, -point.sine};
}

/// Transforms of one length: factors are split off down to small primes; a large prime becomes a
/// convolution of a power of two (Bluestein).
class Transform {
public:
  explicit Transform(int64_t n) : n(n) {
    int64_t rest = n;
    for (int64_t p : {4, 2, 3, 5, 7, 11, 13})
      while (rest % p == 0) {
        factors.push_back(p);
        rest /= p;
      }
    if (rest > kDirectLimit) {
      prepareChirp();
      return;
    }
    if (rest > 1)
      factors.push_back(rest);
    roots.resize(n);
    forBlocks(n, 60, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k)
        roots[k] = root(k, n);
    });
    scratch.resize(factors.empty() ? 1 : *std::max_element(factors.begin(), factors.end()));
  }

  /// Forward transform of `n` contiguous numbers.
  void forward(const Complex *in, Complex *out) {
    if (chirp.empty())
      split(in, 1, out, n, 0);
    else
      viaConvolution(in, out);
  }

private:
  static constexpr int64_t kDirectLimit = 64;

  /// Decimation in time: the transforms of every p-th number, put together.
  void split(const Complex *in, int64_t stride, Complex *out, int64_t length, size_t level) {
    if (length == 1) {
      *out = *in;
      return;
    }
    if (length >= 4096 && isStopped())
      return;
    int64_t p = factors[level], m = length / p;
    for (int64_t q = 0; q < p; ++q)
      split(in + q * stride, stride * p, out + q * m, m, level + 1);
    int64_t step = n / length; // roots of `length` are every step-th of n
    for (int64_t k = 0; k < m; ++k) {
      for (int64_t q = 0; q < p; ++q)
        scratch[q] = times(out[q * m + k], roots[q * k * step]);
      if (p == 2) {
        out[k] = scratch[0] + scratch[1];
        out[k + m] = scratch[0] - scratch[1];
      } else if (p == 4) {
        Complex a = scratch[0] + scratch[2], b = scratch[0] - scratch[2];
        Complex c = scratch[1] + scratch[3], d = scratch[1] - scratch[3];
        Complex turned(d.imag(), -d.real()); // -i d
        out[k] = a + c;
        out[k + m] = b + turned;
        out[k + 2 * m] = a - c;
        out[k + 3 * m] = b - turned;
      } else {
        for (int64_t r = 0; r < p; ++r) {
          Complex sum = scratch[0];
          for (int64_t q = 1; q < p; ++q)
            sum += times(scratch[q], roots[q * r % p * (n / p)]);
          out[k + r * m] = sum;
        }
      }
    }
  }

  void prepareChirp() {
    chirp.resize(n);
    auto turns = 2 * static_cast<unsigned __int128>(n);
    for (int64_t k = 0; k < n; ++k) // exp(-pi i k^2 / n), k^2 modulo 2n
      chirp[k] = root(static_cast<uint64_t>(static_cast<unsigned __int128>(k) * k % turns),
                      static_cast<uint64_t>(turns));
    padded = std::make_unique<Transform>(std::bit_ceil(static_cast<uint64_t>(2 * n - 1)));
    int64_t size = padded->n;
    std::vector<Complex> filter(size);
    for (int64_t k = 0; k < n; ++k)
      filter[k] = filter[(size - k) % size] = std::conj(chirp[k]);
    filterSpectrum.resize(size);
    padded->forward(filter.data(), filterSpectrum.data());
    work.resize(size);
    spectrum.resize(size);
  }

  void viaConvolution(const Complex *in, Complex *out) {
    int64_t size = padded->n;
    std::fill(work.begin(), work.end(), Complex());
    for (int64_t k = 0; k < n; ++k)
      work[k] = times(in[k], chirp[k]);
    padded->forward(work.data(), spectrum.data());
    for (int64_t k = 0; k < size; ++k) // conjugated: a forward transform then inverts
      spectrum[k] = std::conj(times(spectrum[k], filterSpectrum[k]));
    padded->forward(spectrum.data(), work.data());
    for (int64_t k = 0; k < n; ++k)
      out[k] = times(std::conj(work[k]), chirp[k]) / static_cast<double>(size);
  }

  int64_t n;
  std::vector<int64_t> factors;
  std::vector<Complex> roots, scratch;
  // Bluestein's method only.
  std::unique_ptr<Transform> padded;
  std::vector<Complex> chirp, filterSpectrum, work, spectrum;
};

/// Transforms every line along `dim` of a contiguous tensor in place.
void alongDimension(Tensor &tensor, int64_t dim, bool inverse) {
  int64_t length = tensor.dim(dim), inner = 1, outer = 1;
  for (int64_t d = 0; d < tensor.rank(); ++d)
    (d < dim ? outer : d > dim ? inner : length) *= d == dim ? 1 : tensor.dim(d);
  if (tensor.size() == 0)
    return;
  Transform transform(length);
  std::vector<Complex> line(length), result(length);
  auto *data = tensor.mutableAs<Complex>();
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner && !isStopped(); ++i) {
      Complex *first = data + o * length * inner + i;
      for (int64_t k = 0; k < length; ++k)
        line[k] = inverse ? std::conj(first[k * inner]) : first[k * inner];
      transform.forward(line.data(), result.data());
      for (int64_t k = 0; k < length; ++k)
        first[k * inner] = inverse ? std::conj(result[k]) / static_cast<double>(length) : result[k];
    }
}

/// The last dimension with `size` entries: cut off, or completed by conjugate symmetry (entry k is
/// the conjugate of entry size - k). Only the last dimension is still a spectrum here.
Result<Tensor> resizedLast(const Tensor &source, int64_t size, bool symmetric) {
  Shape shape(source.shape().begin(), source.shape().end());
  int64_t have = shape.back();
  shape.back() = size;
  Result<Tensor> result = Tensor::zeros(DType::C128, shape);
  if (!result || result->size() == 0 || have == 0)
    return result;
  auto *from = source.dataAs<Complex>();
  auto *to = result->mutableAs<Complex>();
  for (int64_t row = 0, rows = result->size() / size; row < rows; ++row)
    for (int64_t k = 0; k < size; ++k) {
      Complex value = k < have ? from[row * have + k] : std::conj(from[row * have + size - k]);
      if (symmetric && (k == 0 || 2 * k == size))
        value = value.real();
      to[row * size + k] = value;
    }
  return result;
}

/// The lines of a tensor along a dimension: `count` of them, whose elements are `step` apart.
struct Lines {
  int64_t length, count, step;
  Lines(std::span<const int64_t> shape, size_t dim) : length(shape[dim]), count(1), step(1) {
    for (size_t d = 0; d < shape.size(); ++d) {
      count *= d == dim ? 1 : shape[d];
      step *= d > dim ? shape[d] : 1;
    }
  }
  int64_t first(int64_t line) const { return line / step * step * length + line % step; }
};

/// Complex lines, in place.
template <typename T>
void stepwiseLines(std::complex<T> *data, std::span<const int64_t> shape, size_t dim, bool forward,
                   T factor) {
  Lines lines(shape, dim);
  StepwiseFft<T> transform(lines.length);
  forBlocks(lines.count, 20.0 * static_cast<double>(lines.length), [&](int64_t begin, int64_t end) {
    std::vector<std::complex<T>> line(lines.length), scratch(lines.length);
    for (int64_t l = begin; l < end && !isStopped(); ++l) {
      std::complex<T> *first = data + lines.first(l);
      for (int64_t i = 0; i < lines.length; ++i)
        line[i] = first[i * lines.step];
      transform.run(line.data(), scratch.data(), forward, factor);
      for (int64_t i = 0; i < lines.length; ++i)
        first[i * lines.step] = line[i];
    }
  });
}

/// All dimensions in turn; the real one comes first if the signal is real, last if the result is.
/// Inverse transforms are normalised in the step that comes first, or in the real one.
template <typename T>
Result<Tensor> stepwise(const Tensor &operand, FftType type, std::span<const int64_t> lengths) {
  constexpr bool single = std::is_same_v<T, float>;
  constexpr DType complexType = single ? DType::C64 : DType::C128;
  constexpr DType realType = single ? DType::F32 : DType::F64;
  bool forward = type == FftType::Fft || type == FftType::Rfft;
  double points = 1;
  for (int64_t length : lengths)
    points *= static_cast<double>(length);
  T factor = forward ? T(1) : static_cast<T>(1 / points);

  Shape shape(operand.shape().begin(), operand.shape().end());
  int64_t rank = operand.rank(), count = static_cast<int64_t>(lengths.size());
  int64_t length = lengths.back(), spectrum = length / 2 + 1;
  Result<Tensor> source = operand.contiguous();
  if (!source)
    return source;
  if (type == FftType::Rfft)
    shape.back() = spectrum;
  Result<Tensor> values = Tensor::uninitialized(complexType, shape);
  if (!values)
    return values;
  auto *data = values->template mutableAs<std::complex<T>>();
  int64_t rows = values->size() / shape.back();
  double each = 20.0 * static_cast<double>(length);
  if (type == FftType::Rfft) {
    StepwiseRealFft<T> transform(length);
    const T *real = source->template dataAs<T>();
    forBlocks(rows, each, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end && !isStopped(); ++row)
        transform.forward(real + row * length, data + row * spectrum);
    });
  } else {
    std::memcpy(values->mutableData(), source->data(), static_cast<size_t>(source->byteSize()));
  }
  int64_t end = type == FftType::Rfft || type == FftType::Irfft ? rank - 1 : rank;
  for (int64_t i = 0; i < end - (rank - count); ++i) {
    // From the last dimension on where all are complex, as programs' expected values have it.
    int64_t d = end == rank ? rank - 1 - i : rank - count + i;
    bool scaled = type == FftType::Ifft && i == 0;
    stepwiseLines<T>(data, shape, static_cast<size_t>(d), forward, scaled ? factor : T(1));
  }
  if (type != FftType::Irfft)
    return values;
  shape.back() = length;
  Result<Tensor> result = Tensor::uninitialized(realType, shape);
  if (!result)
    return result;
  StepwiseRealFft<T> transform(length);
  T *real = result->template mutableAs<T>();
  forBlocks(rows, each, [&](int64_t begin, int64_t last) {
    for (int64_t row = begin; row < last && !isStopped(); ++row)
      transform.backward(data + row * spectrum, real + row * length, factor);
  });
  return result;
}

} // namespace

Result<Tensor> fft(const Tensor &operand, FftType type, std::span<const int64_t> lengths,
                   Accumulate accumulate) {
  auto count = static_cast<int64_t>(lengths.size());
  int64_t rank = operand.rank();
  bool real = type == FftType::Rfft, toReal = type == FftType::Irfft;
  bool inverse = type == FftType::Ifft || toReal;
  Error mismatch{"fft: lengths do not fit an operand of " +
                 tensor::describe(operand.elementType(), operand.shape())};
  if (count < 1 || count > 3 || count > rank || lengths.back() < 0)
    return mismatch;
  int64_t half = lengths.back() == 0 ? 0 : lengths.back() / 2 + 1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t expected = toReal && i == count - 1 ? half : lengths[i];
    bool empty = toReal && i == count - 1 && lengths[i] == 0; // no signal: any spectrum will do
    if (operand.dim(rank - count + i) != expected && !empty)
      return mismatch;
  }
  if (real ? !tensor::isFloat(operand.dtype()) : !tensor::isComplex(operand.dtype()))
    return mismatch;
  bool single = operand.dtype() != DType::F64 && operand.dtype() != DType::C128;
  DType resultType =
      toReal ? (single ? DType::F32 : DType::F64) : (single ? DType::C64 : DType::C128);

  DType own = operand.dtype();
  bool ownType = own == DType::F32 || own == DType::C64 || own == DType::F64 || own == DType::C128;
  if (accumulate == Accumulate::Native && ownType && operand.size() != 0 &&
      std::ranges::all_of(lengths, [](int64_t n) { return StepwiseFft<float>::canDo(n); }))
    return single ? stepwise<float>(operand, type, lengths)
                  : stepwise<double>(operand, type, lengths);

  Result<Tensor> source = tensor::convert(operand, DType::C128);
  if (!source)
    return source;
  Result<Tensor> values =
      Tensor::uninitialized(DType::C128, {operand.shape().begin(), operand.shape().end()});
  if (!values)
    return values;
  if (values->size() != 0)
    std::memcpy(values->mutableData(), source->data(), static_cast<size_t>(source->byteSize()));
  if (toReal) {
    for (int64_t d = rank - count; d < rank - 1; ++d)
      alongDimension(*values, d, inverse);
    values = resizedLast(*values, lengths.back(), true);
    if (!values)
      return values;
    alongDimension(*values, rank - 1, inverse);
    return tensor::convert(*values, resultType);
  }
  alongDimension(*values, rank - 1, inverse);
  if (real) {
    values = resizedLast(*values, half, false);
    if (!values)
      return values;
  }
  for (int64_t d = rank - 2; d >= rank - count; --d)
    alongDimension(*values, d, inverse);
  return tensor::convert(*values, resultType);
}

} // namespace cupel::reference
