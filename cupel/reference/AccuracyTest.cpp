// Measures what docs/reference/accuracy.md promises: elementwise functions against MPFR, sums
// against exact sums. A small sample by default; CUPEL_ACCURACY_FULL=1 takes 10 million operands
// a function in f32, and CUPEL_ACCURACY_DOCS=PATH writes the page.

#include "cupel/reference/AccuracyOracle.h"
#include "cupel/reference/AccuracyReport.h"
#include "cupel/reference/Elementwise.h"

#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

using namespace cupel;
using namespace cupel::reference;
using tensor::DType;
using tensor::Storage;
using tensor::Tensor;

namespace {

/// The same draws on every machine and for any number of threads: a hash of the position.
uint64_t draw(uint64_t position) {
  uint64_t x = (position + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
double uniform(uint64_t bits, double low, double high) {
  return low + (high - low) * (static_cast<double>(bits >> 11) * 0x1p-53);
}

template <DType type> using Values = std::vector<Storage<type>>;

template <DType type> Storage<type> fromPattern(uint64_t bits) {
  using S = Storage<type>;
  if constexpr (type == DType::F32)
    return std::bit_cast<float>(static_cast<uint32_t>(bits));
  else if constexpr (type == DType::F64)
    return std::bit_cast<double>(bits);
  else
    return static_cast<S>(bits);
}

/// Operand `which` of sample i: every second sample has any bit pattern that is finite, the others
/// are uniform in the function's range.
template <DType type>
Storage<type> sample(const MeasuredFunction &function, uint64_t i, int which) {
  constexpr bool wide = type == DType::F64;
  if (wide && i == 0 && function.hardWide != 0)
    return tensor::fromDouble<type>(function.hardWide);
  uint64_t position = 2 * i + which + (static_cast<uint64_t>(function.op) << 48);
  if (i % 2) {
    double x = uniform(draw(position), wide ? function.lowWide : function.low,
                       wide ? function.highWide : function.high);
    if (function.op == ElementOp::Power && which == 0)
      x = std::exp2(x / 4);
    return tensor::fromDouble<type>(x);
  }
  for (;; position = draw(position)) {
    auto value = fromPattern<type>(draw(position));
    if (std::isfinite(tensor::toDouble<type>(value)))
      return value;
  }
}

template <DType type>
Values<type> apply(ElementOp op, const Values<type> &a, const Values<type> &b) {
  auto found = findElementwise(op, type, type);
  if (!found) {
    ADD_FAILURE() << name(op) << " is not defined";
    return {};
  }
  tensor::Shape shape{static_cast<int64_t>(a.size())};
  Tensor first = Tensor::of<type>(shape, std::span<const Storage<type>>(a));
  Tensor second = Tensor::of<type>(shape, std::span<const Storage<type>>(b));
  auto result = operandCount(op) == 1 ? elementwise(*found, {&first})
                                      : elementwise(*found, {&first, &second});
  const auto *data = result->template dataAs<Storage<type>>();
  return {data, data + result->size()};
}

bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

/// Judges results of one batch.
template <DType type>
void judge(const MeasuredFunction &function, const Values<type> &a, const Values<type> &b,
           AccuracyRow &row) {
  Values<type> results = apply<type>(function.op, a, b);
  Real x(0.0), y(0.0);
  for (size_t i = 0; i < results.size(); ++i) {
    x = tensor::toDouble<type>(a[i]);
    y = tensor::toDouble<type>(b[i]);
    double result = tensor::toDouble<type>(results[i]);
    ++row.samples;
    if (same(result, Format<type>::rounded(function.exact, x, y))) {
      ++row.correct;
      continue;
    }
    double error = Format<type>::ulps(result, function.exact, x, y);
    row.note(error, x.toDouble(), y.toDouble());
  }
}

/// `operand(i, which)` for i < count, in batches, on all cores.
template <DType type, typename F>
AccuracyRow measure(const MeasuredFunction &function, int64_t count, bool exhaustive, F operand) {
  constexpr int64_t kBatch = 4096;
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  AccuracyRow total{function.op, type, exhaustive};
  auto work = [&] {
    AccuracyRow mine{function.op, type, exhaustive};
    for (int64_t begin; (begin = next.fetch_add(kBatch)) < count;) {
      Values<type> a, b;
      for (int64_t i = begin; i < std::min(count, begin + kBatch); ++i) {
        a.push_back(operand(i, 0));
        b.push_back(operandCount(function.op) == 2 ? operand(i, 1) : a.back());
      }
      judge<type>(function, a, b, mine);
    }
    mpfr_free_cache();
    std::lock_guard lock(mutex);
    total.samples += mine.samples;
    total.correct += mine.correct;
    total.note(mine.worst, mine.at[0], mine.at[1]);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
    threads.emplace_back(work);
  for (std::thread &thread : threads)
    thread.join();
  AccuracyReport::get().add(total);
  return total;
}

template <DType type> AccuracyRow measureSamples(const MeasuredFunction &function, int64_t count) {
  return measure<type>(function, count, false, [&](int64_t i, int which) {
    return sample<type>(function, static_cast<uint64_t>(i), which);
  });
}

/// All values; all pairs for the 8-bit kinds.
template <DType type> AccuracyRow measureAll(const MeasuredFunction &function) {
  constexpr int kBits = tensor::info(type).bits;
  int64_t count = int64_t{1} << (kBits * operandCount(function.op));
  return measure<type>(function, count, true, [&](int64_t i, int which) {
    return static_cast<Storage<type>>(i >> (kBits * which));
  });
}

void expectPromise(const AccuracyRow &row) {
  EXPECT_GE(static_cast<double>(row.correct), 0.999 * static_cast<double>(row.samples))
      << row.str();
  EXPECT_LE(row.worst, 1.0) << row.str();
}

class AccuracyTest : public testing::TestWithParam<MeasuredFunction> {};

TEST_P(AccuracyTest, F32) {
  expectPromise(measureSamples<DType::F32>(GetParam(), isFullRun() ? 10'000'000 : 20'000));
}

TEST_P(AccuracyTest, F64) {
  AccuracyRow row = measureSamples<DType::F64>(GetParam(), isFullRun() ? 1'000'000 : 5'000);
  EXPECT_LE(row.worst, GetParam().limitWide) << row.str();
}

TEST_P(AccuracyTest, SixteenBits) {
  if (operandCount(GetParam().op) == 1) {
    expectPromise(measureAll<DType::F16>(GetParam()));
    expectPromise(measureAll<DType::BF16>(GetParam()));
    return;
  }
  int64_t count = isFullRun() ? 2'000'000 : 20'000;
  expectPromise(measureSamples<DType::F16>(GetParam(), count));
  expectPromise(measureSamples<DType::BF16>(GetParam(), count));
}

TEST_P(AccuracyTest, EightBits) {
  expectPromise(measureAll<DType::F8E4M3>(GetParam()));
  expectPromise(measureAll<DType::F8E4M3FN>(GetParam()));
  expectPromise(measureAll<DType::F8E4M3FNUZ>(GetParam()));
  expectPromise(measureAll<DType::F8E4M3B11FNUZ>(GetParam()));
  expectPromise(measureAll<DType::F8E5M2>(GetParam()));
  expectPromise(measureAll<DType::F8E5M2FNUZ>(GetParam()));
}

/// Zeros, infinities, NaN, subnormals and the ends of the range, in all pairs, to the sign of zero.
template <DType type> void expectSpecialValues(const MeasuredFunction &function) {
  using Limits = std::numeric_limits<Storage<type>>;
  Values<type> values;
  for (Storage<type> x :
       {Storage<type>(0), Limits::denorm_min(), Limits::min() / 2, Limits::min(), Limits::max(),
        Limits::infinity(), Storage<type>(0.5), Storage<type>(1), Storage<type>(2),
        Storage<type>(3), Limits::epsilon(), Storage<type>(1) - Limits::epsilon()})
    values.insert(values.end(), {x, -x});
  values.push_back(Limits::quiet_NaN());
  Values<type> a, b;
  for (auto x : values)
    for (auto y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  Values<type> results = apply<type>(function.op, a, b);
  for (size_t i = 0; i < results.size(); ++i) {
    Real x(a[i]), y(b[i]);
    double want = Format<type>::rounded(function.exact, x, y), got = results[i];
    if (want == 0 || !std::isfinite(want) || !std::isfinite(got))
      EXPECT_TRUE(same(got, want))
          << name(function.op) << "(" << a[i] << ", " << b[i] << ") = " << got << " not " << want;
    else
      EXPECT_LE(Format<type>::ulps(got, function.exact, x, y),
                type == DType::F64 ? function.limitWide : 1.0)
          << name(function.op) << "(" << a[i] << ", " << b[i] << ") = " << got << " not " << want;
  }
}

TEST_P(AccuracyTest, SpecialValues) {
  expectSpecialValues<DType::F32>(GetParam());
  expectSpecialValues<DType::F64>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Functions, AccuracyTest, testing::ValuesIn(kMeasured),
                         [](const auto &info) { return std::string(name(info.param.op)); });

/// Writes the page when all is measured.
class PageWriter : public testing::Environment {
  void TearDown() override {
    const char *path = std::getenv("CUPEL_ACCURACY_DOCS");
    if (!path)
      return;
    Status written = AccuracyReport::get().write(path);
    EXPECT_TRUE(static_cast<bool>(written)) << written.message();
  }
};
[[maybe_unused]] const auto *const kPageWriter =
    testing::AddGlobalTestEnvironment(new PageWriter); // GoogleTest owns it.

} // namespace
