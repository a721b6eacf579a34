#include "cupel/reference/AccuracyReport.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gnu/libc-version.h>
#include <mpfr.h>

namespace cupel::reference {

using tensor::DType;

namespace {

template <typename... T> std::string format(const char *pattern, T... arguments) {
  char text[512];
  std::snprintf(text, sizeof text, pattern, arguments...);
  return text;
}

std::string grouped(int64_t number) {
  std::string text = std::to_string(number);
  for (int i = static_cast<int>(text.size()) - 3; i > 0; i -= 3)
    text.insert(static_cast<size_t>(i), ",");
  return text;
}

/// The share of correctly rounded results, never rounded up to all of them.
std::string share(const AccuracyRow &row) {
  if (row.correct == row.samples)
    return "100 %";
  double percent = 100.0 * static_cast<double>(row.correct) / static_cast<double>(row.samples);
  if (percent > 99.999)
    return "all but " + grouped(row.samples - row.correct);
  return format("%.3f %%", percent - 0.0005);
}

/// A bar would end the cell of a table.
std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

/// Correctly rounded results are off by half a unit at most.
std::string worst(const AccuracyRow &row) {
  // Rounded up: a bound.
  return row.correct == row.samples ? "0.5" : format("%.4f", row.worst + 0.00005);
}

} // namespace

std::string AccuracyRow::str() const {
  char text[256];
  std::snprintf(text, sizeof text,
                "%s on %s: %lld of %lld correctly rounded, worst %.4f ULP at (%.17g, %.17g)",
                std::string(name(op)).c_str(), std::string(tensor::info(type).name).c_str(),
                static_cast<long long>(correct), static_cast<long long>(samples), worst, at[0],
                at[1]);
  return text;
}

bool isFullRun() {
  static const bool full = std::getenv("CUPEL_ACCURACY_FULL") != nullptr;
  return full;
}

AccuracyReport &AccuracyReport::get() {
  static AccuracyReport report;
  return report;
}

Status AccuracyReport::write(const std::string &path) const {
  std::ofstream page(path);
  page << R"(# Accuracy of the reference

This page is written by the test that measures it, from a full run:

```
CUPEL_ACCURACY_FULL=1 CUPEL_ACCURACY_DOCS=docs/reference/accuracy.md build/bin/unit/cupel_reference_accuracy_test
```

)";
  if (!isFullRun())
    page << "**Not from a full run: the numbers below come from the small default samples.**\n\n";
  page << "Exact values come from MPFR " << mpfr_get_version() << "; the C library was glibc "
       << gnu_get_libc_version() << R"(. The default run of the
test (a few seconds, part of `./test unit`) asserts the same bounds on fewer samples. An *ULP* is the distance of two neighbouring
values of the type at the exact result. A result is *correctly rounded* if it is the value of the type nearest to the exact one
(ties to even; subnormals, overflow, infinities, NaN and the sign of zero included).

## What is promised

- Elementwise transcendental functions in f32 and below: at least 99.9 % correctly rounded, never off by more than 1 ULP.
- In f64: within 2 ULP. Where simple formulas miss that (`tanh`, `logistic`), the operands that show it are among the samples.
- Complex functions: the values of C99 Annex G at zeros, infinities and NaN and on both sides of branch cuts; components of
  complex<f32> within 1 ULP; complex<f64> within 4 ULP of its larger component, `tan` and `tanh` within 6.
- Sums (`reduce`, `reduce_window`), dot products and convolutions of f32 and below with `--accumulate=f64`: correctly rounded, that
  is the value of the type nearest to the exact sum; so never farther from it than any other sum, and the same bits for any layout,
  blocking or number of threads. What is summed otherwise is told below.

Functions are computed in f64 and rounded once to smaller types. This includes `logistic`: it is not computed as 1/(1+exp(-x)) with
every step rounded in the type.

## f32 and f64

Half of the random operands are any finite bit pattern, the other half uniform where the function is neither trivial nor overflows
(`AccuracyOracle.h` has the ranges).

| function | f32 samples | correctly rounded | worst ULP | f64 samples | correctly rounded | worst ULP | at |
|---|---|---|---|---|---|---|---|
)";
  auto find = [&](ElementOp op, DType type) -> const AccuracyRow * {
    for (const AccuracyRow &row : rows)
      if (row.op == op && row.type == type)
        return &row;
    return nullptr;
  };
  for (const AccuracyRow &row : rows) {
    const AccuracyRow *wide = find(row.op, DType::F64);
    if (row.type != DType::F32 || !wide)
      continue;
    std::string at = format("%.17g", wide->at[0]);
    if (operandCount(row.op) == 2)
      at += format(", %.17g", wide->at[1]);
    page << "| " << name(row.op) << " | " << grouped(row.samples) << " | " << share(row) << " | "
         << worst(row) << " | " << grouped(wide->samples) << " | " << share(*wide) << " | "
         << worst(*wide) << " | " << (wide->correct == wide->samples ? "" : at) << " |\n";
  }
  page << R"(
## 16 and 8 bits

Unary functions: all values. Functions of two operands: all pairs of 8-bit values, 2 million random pairs of 16-bit ones. A cell says how
many were correctly rounded, and the worst error in ULP.

)";
  constexpr DType kSmall[] = {DType::F16,      DType::BF16,       DType::F8E4M3,
                              DType::F8E4M3FN, DType::F8E4M3FNUZ, DType::F8E4M3B11FNUZ,
                              DType::F8E5M2,   DType::F8E5M2FNUZ};
  page << "| function |";
  for (DType type : kSmall)
    page << " " << tensor::info(type).name << " |";
  page << "\n|---|";
  for (size_t i = 0; i < std::size(kSmall); ++i)
    page << "---|";
  page << "\n";
  for (const AccuracyRow &row : rows) {
    if (row.type != DType::F16)
      continue;
    page << "| " << name(row.op) << " |";
    for (DType type : kSmall) {
      const AccuracyRow *cell = find(row.op, type);
      page << " " << (cell ? share(*cell) + ", " + worst(*cell) : "") << " |";
    }
    page << "\n";
  }
  page << R"(
## Complex

Worst errors in ULP of each component, and in ULP of the larger component (*norm*), over )"
       << (complexRows.empty() ? "0" : grouped(complexRows[0].samples)) << R"( numbers in each
region, where the region "along" an axis approaches it as 2^-60.

| function | region | complex<f32> | norm | complex<f64> | norm |
|---|---|---|---|---|---|
)";
  for (const ComplexRow &row : complexRows)
    for (const ComplexRow &wide : complexRows)
      if (row.type == "complex<f32>" && wide.type == "complex<f64>" &&
          row.function == wide.function && row.where == wide.where)
        page << "| " << row.function << " | "
             << (row.where.find('|') == std::string::npos ? row.where
                                                          : "`" + escaped(row.where) + "`")
             << format(" | %.3f | %.3f | %.4g | %.3f |\n", row.worst, row.norm, wide.worst,
                       wide.norm);
  page << R"(
A component of complex<f64> that is the small difference of large terms may have fewer correct digits of its own; the result as a
whole is as close as its norm says. `logistic`, `rsqrt`, `cbrt`, `power` and `atan2` of complex
numbers are formulas on these functions: their special values are tested where they are well known, their errors are not measured.

## Sums

Random sums of 1 to 65,537 terms, compared with the exact sum and with a pairwise sum in f32 (rounded to the type at the end).

| operation | type | terms | sums | correctly rounded | worst ULP | pairwise worst ULP | closer than pairwise | as close | farther |
|---|---|---|---|---|---|---|---|---|---|
)";
  for (const SumRow &row : sumRows)
    page << "| " << row.operation << " | " << row.type << " | " << row.family << " | "
         << grouped(row.cases) << " | " << grouped(row.correct)
         << format(" | %.4f | %.4g | ", row.worst, row.pairwiseWorst) << grouped(row.closer)
         << " | " << grouped(row.equal) << " | " << grouped(row.farther) << " |\n";
  page << R"(
A sum is first made in f64 (products of two numbers of f32 are exact there), together with a bound of its error. Where everything within
that bound rounds to one value of the type, that is the result; where it does not, the sum is made again from two parts for each partial
sum, and if that is not enough, exactly in fixed point. Cancellation costs time, never digits: the test also sums terms across the whole
range of f32 of which all but a few cancel, sums that are ties of f32, and ties that the smallest term breaks. A sum of zeros is -0 only if
all of them and the initial value are; NaN comes out as one bit pattern.

The test sums the same numbers alone, as rows and as columns among others, through transposed views, and as elements of matrix products of
different sizes, and asserts equal bits; `ThreadsTest` asserts that for 1, 2, 3 and 7 threads.

Otherwise, with `--accumulate=f64`: sums of complex<f32> are correctly rounded in each part, their dot products are summed in f64 and
rounded once; `multiply` reductions are in f64 and rounded once; reductions with other bodies, f64 and complex<f64> follow the program's
types, f64 sums eight terms at a time; `fft` is in f64 and rounded once. With `--accumulate=native` everything follows the program's own
types, one step after another in row-major order; `fft` rounds every step, unless a length has a prime factor above 50.
)";
  page.close();
  if (!page)
    return Error{"cannot write " + path};
  return {};
}

} // namespace cupel::reference
