// A result and what is expected beside each other, as Pictures.cpp looks at them: by position, in
// blocks, and only where something is wrong. Finds no picture itself.

#pragma once

#include "cupel/compare/Elements.h"
#include "cupel/compare/Statistics.h"
#include "cupel/support/ThreadPool.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace cupel::compare {

/// The numbers of both tensors by position, and what counts as the same number. A complex element
/// is judged by both parts.
class Canvas {
public:
  Canvas(ElementReader actual, ElementReader expected, const Statistics &found, int threads)
      : actual(std::move(actual)), expected(std::move(expected)), found(found),
        dims(found.expectedShape), parts(this->actual.parts()), count(found.count),
        threads(threads > 0 ? threads : coreCount()) {
    steps.assign(dims.size(), 1);
    for (size_t i = dims.size(); i-- > 1;)
      steps[i - 1] = steps[i] * dims[i];
    slack = found.rmsExpected * 0.004;
    chooseSamples();
  }

  /// The same up to the rounding errors of a device: 2 % of the number or 0.4 % of a typical one.
  bool alike(double a, double b) const {
    return a == b || (std::isnan(a) && std::isnan(b)) ||
           std::fabs(a - b) <= 0.02 * std::fabs(b) + slack;
  }
  /// Whether the result at `position` is `factor` times what is expected at `source`.
  bool shows(int64_t position, int64_t source, double factor = 1, double offset = 0) const {
    for (int k = 0; k < parts; ++k)
      if (!alike(actual.at(position * parts + k),
                 factor * expected.at(source * parts + k) + (k == 0 ? offset : 0)))
        return false;
    return true;
  }
  bool showsExactly(int64_t position, int64_t source) const {
    for (int k = 0; k < parts; ++k)
      if (actual.at(position * parts + k) != expected.at(source * parts + k))
        return false;
    return true;
  }
  bool isRight(int64_t position) const { return shows(position, position); }
  bool isZero(const ElementReader &reader, int64_t position) const {
    for (int k = 0; k < parts; ++k)
      if (reader.at(position * parts + k) != 0)
        return false;
    return true;
  }

  /// Whether `source(position)` (negative: says nothing there) explains the result: nearly all
  /// positions show their source, and enough wrong ones do that it is no accident.
  template <typename Source> bool isExplainedBy(Source source) const {
    if (!mayBeExplainedBy(source))
      return false;
    int64_t covered = 0, shown = 0, wrong = 0, explained = 0, exact = 0;
    for (int64_t p = 0; p < count; ++p) {
      int64_t from = source(p);
      if (from < 0)
        continue;
      ++covered;
      bool fits = shows(p, from);
      shown += fits;
      if (from == p || isRight(p))
        continue;
      ++wrong;
      explained += fits;
      exact += fits && wrong <= 64 && showsExactly(p, from);
    }
    bool enough = explained >= 16 || (explained >= 4 && exact == explained);
    return enough && covered * 2 >= count && shown >= 0.98 * static_cast<double>(covered) &&
           explained >= 0.95 * static_cast<double>(wrong);
  }

  /// Calls `take(block, actual, expected, parts)` with the numbers of each block of elements, on
  /// several threads.
  static constexpr int64_t kBlockElements = 1024;
  int64_t blocks() const { return (count + kBlockElements - 1) / kBlockElements; }
  template <typename Take> void forBlocks(Take take) const {
    constexpr int64_t kPiece = 64; // blocks
    runPieces((blocks() + kPiece - 1) / kPiece, threads, [&](int64_t piece) {
      std::vector<double> a(kBlockElements * parts), e(a.size()), low(a.size());
      auto read = [&](const ElementReader &reader, int64_t first, int64_t size, double *to) {
        reader.read(first, size, to, reader.isWide() ? low.data() : nullptr);
        for (int64_t i = 0; reader.isWide() && i < size; ++i)
          to[i] += low[i];
      };
      for (int64_t b = piece * kPiece, end = std::min(blocks(), b + kPiece); b < end; ++b) {
        int64_t first = b * kBlockElements, size = std::min(kBlockElements, count - first) * parts;
        read(actual, first * parts, size, a.data());
        read(expected, first * parts, size, e.data());
        take(b, a.data(), e.data(), size);
      }
    });
  }

  /// Calls `take(position)` for the elements that are not right, in order, until it says no: then
  /// the answer is no.
  template <typename Take> bool forWrong(Take take) const {
    if (!wrongBlocks) {
      std::vector<char> marks(size_t(blocks()), 0);
      forBlocks([&](int64_t block, const double *a, const double *e, int64_t size) {
        bool areRight = true;
        for (int64_t i = 0; i < size; ++i)
          areRight &= alike(a[i], e[i]);
        marks[size_t(block)] = !areRight;
      });
      wrongBlocks = std::move(marks);
    }
    for (int64_t block = 0; block < blocks(); ++block) {
      if (!(*wrongBlocks)[size_t(block)])
        continue;
      int64_t end = std::min(count, (block + 1) * kBlockElements);
      for (int64_t p = block * kBlockElements; p < end; ++p)
        if (!isRight(p) && !take(p))
          return false;
    }
    return true;
  }

  ElementReader actual, expected;
  const Statistics &found;
  const tensor::Shape &dims;
  std::vector<int64_t> steps; // elements between neighbours along a dimension
  int parts;
  int64_t count;
  std::vector<int64_t> samples, wrongSamples;

private:
  /// A quick look before the full one.
  template <typename Source> bool mayBeExplainedBy(Source source) const {
    int64_t tried = 0, missed = 0;
    for (int64_t p : wrongSamples) {
      int64_t from = source(p);
      if (from < 0)
        continue;
      ++tried;
      missed += !shows(p, from);
      if (missed > 3 + tried / 10)
        return false;
    }
    return tried > 0 && missed <= tried / 8;
  }

  void chooseSamples() {
    // Positions of a fixed sequence; for small tensors, all of them.
    constexpr int64_t kSamples = 2048;
    uint64_t state = 0x9e3779b97f4a7c15u;
    int64_t wanted = std::min(count, kSamples);
    for (int64_t i = 0; i < wanted; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      samples.push_back(count <= kSamples
                            ? i
                            : static_cast<int64_t>((state >> 11) % static_cast<uint64_t>(count)));
    }
    for (int64_t p : samples)
      if (!isRight(p))
        wrongSamples.push_back(p);
    for (int64_t p : found.firstMismatches)
      if (wrongSamples.size() < 64 && !isRight(p))
        wrongSamples.push_back(p);
    if (wrongSamples.size() > 256)
      wrongSamples.resize(256);
  }

  double slack;
  int threads;
  mutable std::optional<std::vector<char>> wrongBlocks; // made when they are first asked for
};

} // namespace cupel::compare
