#include "cupel/testbench/worker/Looks.h"

#include "cupel/tensor/Convert.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace cupel::testbench::worker {

namespace {

using tensor::DType;
using tensor::Tensor;
using Clock = std::chrono::steady_clock;

/// How long more executions may take, and how many there are at most, where nobody asked for any.
constexpr double kFreeSeconds = 0.2;
constexpr uint32_t kMostFree = 10;
/// An output is that of the run before if so much of it is.
constexpr double kStaleShare = 0.9;
/// What changes by more steps of its type than this, or by more of what the device computes in, is
/// not what it was: less of the latter shows in numbers of many bits, which are sums of others.
constexpr double kChangedSteps = 2, kChangedShare = 0.25;
/// A part is that of the run before if so many neighbours are, and so large a share.
constexpr int64_t kStaleNeighbours = 16;
constexpr double kStalePart = 1.0 / 16;
/// Of elements that change by more than rounding can keep from showing, fewer are enough: numbers of
/// many bits are the same by chance in none, those of few bits in one of some. They are meant only
/// where they are near what is expected: others were found wrong, or take another way in a tie.
constexpr int64_t kFarNeighbours = 4, kFarNeighboursOfFewBits = 8;
/// Fewer elements than this are stale only if they should have changed by so many times their noise.
constexpr int64_t kFewElements = 4;
constexpr double kChangedNoise = 4;
constexpr double kFarSteps = 2, kFarStepsOfFewBits = 4, kNearSteps = 16;

/// From a number of a type to the next, as a share of it.
double stepOf(DType type) {
  switch (type) {
  case DType::F64:
    return 0x1p-52;
  case DType::F32:
    return 0x1p-23;
  case DType::F16:
    return 0x1p-10;
  default:
    return tensor::isFloat(type) ? (type == DType::BF16 ? 0x1p-7 : 0x1p-2) : 0;
  }
}

bool haveSameBytes(const Tensor &a, const Tensor &b) {
  Result<Tensor> left = a.contiguous(), right = b.contiguous();
  return left && right && a.dtype() == b.dtype() && std::ranges::equal(a.shape(), b.shape()) &&
         std::memcmp(left->data(), right->data(), size_t(a.byteSize())) == 0;
}

/// How many elements of a result are, byte by byte, those of another; zeros count for nothing.
struct Agreement {
  int64_t same = 0, counted = 0, different = 0, firstDifferent = -1;
};

Agreement agreementOf(const Tensor &a, const Tensor &b) {
  Agreement found;
  Result<Tensor> left = a.contiguous(), right = b.contiguous();
  if (!left || !right || a.dtype() != b.dtype() || !std::ranges::equal(a.shape(), b.shape()))
    return found;
  size_t bytes = tensor::info(a.dtype()).bytes;
  const std::byte *x = left->data(), *y = right->data();
  for (int64_t i = 0; i < a.size(); ++i, x += bytes, y += bytes) {
    bool isSame = std::memcmp(x, y, bytes) == 0;
    bool isZero = std::all_of(y, y + bytes, [](std::byte value) { return value == std::byte{}; });
    found.same += isSame && !isZero;
    found.counted += !(isSame && isZero);
    if (!isSame && found.different++ == 0)
      found.firstDifferent = i;
  }
  return found;
}

std::string placeOf(const Tensor &tensor, int64_t element) {
  std::string text;
  for (int64_t i = tensor.rank() - 1; i >= 0; --i) {
    int64_t size = std::max<int64_t>(tensor.dim(i), 1);
    text = std::to_string(element % size) + (text.empty() ? "" : ",") + text;
    element /= size;
  }
  return "[" + text + "]";
}

/// Calls `visit(number, a, b)` for each pair of outputs; numbers go on from device to device.
void forPairs(const TensorLists &a, const TensorLists &b, const auto &visit) {
  size_t number = 0;
  for (size_t d = 0; d < std::min(a.size(), b.size()); ++d)
    for (size_t i = 0; i < std::min(a[d].size(), b[d].size()); ++i)
      visit(number++, a[d][i], b[d][i]);
}

/// Which output is that of another execution where it should not be; empty where none is.
std::string describeStale(const TensorLists &outputs, const TensorLists &before) {
  std::string found;
  forPairs(outputs, before, [&](size_t number, const Tensor &now, const Tensor &then) {
    Agreement agreement = agreementOf(now, then);
    if (found.empty() && agreement.counted > 0 &&
        double(agreement.same) >= kStaleShare * double(agreement.counted))
      found = fmt::format("{} of {} elements of output {}", now.size() - agreement.different,
                          now.size(), number);
  });
  return found;
}

/// Numbers of many bits are not the same by chance. A device may give few of them in a type that
/// holds more: then the last ones are zero.
bool isOfManyBits(const Tensor &tensor, int64_t least = kStaleNeighbours) {
  DType type = tensor.dtype();
  Result<Tensor> plain = tensor.contiguous();
  if (!plain || (type != DType::F32 && type != DType::F64))
    return false;
  int64_t numbers = 0, many = 0;
  for (int64_t i = 0; i < plain->size(); ++i) {
    uint64_t bits = type == DType::F32 ? plain->dataAs<uint32_t>()[i] : plain->dataAs<uint64_t>()[i];
    numbers += bits != 0;
    many += (bits & (type == DType::F32 ? 0xfffu : 0xfffffffu)) != 0;
  }
  return 2 * many > numbers && numbers >= least;
}

/// How many of the elements that should have changed, by more than rounding makes, have not; of
/// neighbours among them, at most; of neighbours that should have changed by far.
struct Kept {
  int64_t unchanged = 0, shouldChange = 0, neighbours = 0, farNeighbours = 0;
};

/// What changes by no more than `rounding` need not show, beside that.
Kept countKept(const Tensor &now, const Tensor &then, const Tensor &expectedNow,
               const Tensor &expectedThen, double step, double rounding = 0) {
  Kept kept;
  auto isAlike = [&](const Tensor &other) {
    return other.dtype() == now.dtype() && std::ranges::equal(other.shape(), now.shape());
  };
  if (!isAlike(then) || !isAlike(expectedNow) || !isAlike(expectedThen))
    return kept;
  bool isFloat = tensor::isFloat(now.dtype());
  Result<Tensor> a = now.contiguous(), b = then.contiguous();
  Result<Tensor> e = tensor::convert(expectedNow, isFloat ? DType::F64 : now.dtype());
  Result<Tensor> f = tensor::convert(expectedThen, isFloat ? DType::F64 : now.dtype());
  Result<Tensor> given = tensor::convert(now, isFloat ? DType::F64 : now.dtype());
  for (Result<Tensor> *one : {&e, &f, &given})
    if (*one)
      *one = (*one)->contiguous();
  if (!a || !b || !e || !f || !given)
    return kept;
  double squares = 0;
  for (int64_t i = 0; isFloat && i < e->size(); ++i)
    if (double value = e->dataAs<double>()[i]; std::isfinite(value))
      squares += value * value;
  const double size = std::sqrt(squares / double(std::max<int64_t>(e->size(), 1)));
  const size_t bytes = tensor::info(now.dtype()).bytes, wide = tensor::info(e->dtype()).bytes;
  const double own = kChangedSteps * stepOf(now.dtype());
  const double least =
      std::max(own, (isOfManyBits(now) ? kChangedShare : kChangedSteps) * step);
  const double coarse = std::max(stepOf(now.dtype()), step);
  const double far = (isOfManyBits(now, kFarNeighbours) ? kFarSteps : kFarStepsOfFewBits) * coarse;
  int64_t run = 0;
  std::vector<uint64_t> farRun; // Of different numbers: one that is repeated tells no more than once.
  for (int64_t i = 0; i < now.size(); ++i) {
    bool shouldChange, isFar = false;
    if (isFloat) {
      double x = e->dataAs<double>()[i], y = f->dataAs<double>()[i];
      double change = std::fabs(x - y), extent = std::max(std::fabs(x), size);
      shouldChange = std::isfinite(x) && std::isfinite(y) && change > least * extent &&
                     change > rounding;
      isFar = shouldChange && change > far * extent && change < kNearSteps * coarse * extent;
    } else {
      shouldChange = std::memcmp(e->data() + size_t(i) * wide, f->data() + size_t(i) * wide, wide);
    }
    if (!shouldChange)
      continue;
    // Just what is expected now is right: the first result may have been another than was expected
    // then, of several that are right, such as an order of equal keys.
    const size_t place = size_t(i) * wide;
    bool isUnchanged =
        std::memcmp(a->data() + size_t(i) * bytes, b->data() + size_t(i) * bytes, bytes) == 0 &&
        std::memcmp(given->data() + place, e->data() + place, wide) != 0;
    ++kept.shouldChange;
    kept.unchanged += isUnchanged;
    run = isUnchanged ? run + 1 : 0;
    kept.neighbours = std::max(kept.neighbours, run);
    if (!isUnchanged)
      farRun.clear();
    else if (isFar && farRun.size() < size_t(kFarNeighboursOfFewBits)) {
      uint64_t bits = 0;
      std::memcpy(&bits, a->data() + size_t(i) * bytes, std::min(bytes, sizeof bits));
      if (std::ranges::find(farRun, bits) == farRun.end())
        farRun.push_back(bits);
    }
    kept.farNeighbours = std::max(kept.farNeighbours, int64_t(farRun.size()));
  }
  return kept;
}

/// Which output stayed what it was where another was expected; empty where none did.
std::string describeKept(const TensorLists &now, const TensorLists &then,
                         const TensorLists &expectedNow, const LookSeams &seams) {
  const TensorLists &expectedThen = *seams.expected;
  const double step = seams.step;
  std::string found;
  size_t number = 0;
  for (size_t d = 0; d < std::min(now.size(), then.size()); ++d)
    for (size_t i = 0; i < std::min(now[d].size(), then[d].size()); ++i, ++number) {
      auto at = [&](const TensorLists &lists) -> const Tensor * {
        const std::vector<Tensor> &own = lists[lists.size() > 1 ? std::min(d, lists.size() - 1) : 0];
        return i < own.size() ? &own[i] : nullptr;
      };
      if (!found.empty() || expectedNow.empty() || expectedThen.empty() || !at(expectedNow) ||
          !at(expectedThen))
        continue;
      Kept kept = countKept(now[d][i], then[d][i], *at(expectedNow), *at(expectedThen), step);
      double all = double(kept.shouldChange);
      // A whole number that rounding decides may stay by chance, and was found right.
      int64_t enough = tensor::isFloat(now[d][i].dtype())
                           ? std::min<int64_t>(4, now[d][i].size())
                           : int64_t(4);
      bool isWhole = kept.shouldChange > 0 && kept.shouldChange >= enough &&
                     double(kept.unchanged) >= kStaleShare * all;
      bool isPart = isOfManyBits(now[d][i]) &&
                    kept.neighbours >= std::max<int64_t>(kStaleNeighbours, int64_t(kStalePart * all));
      bool isFar = kept.farNeighbours >= (isOfManyBits(now[d][i], kFarNeighbours)
                                              ? kFarNeighbours
                                              : kFarNeighboursOfFewBits);
      if (isWhole && !isPart && !isFar && kept.unchanged < kFewElements && seams.noiseOf &&
          tensor::isFloat(now[d][i].dtype()))
        isWhole = countKept(now[d][i], then[d][i], *at(expectedNow), *at(expectedThen), step,
                            kChangedNoise * seams.noiseOf(d, i))
                      .shouldChange > 0;
      if (isWhole || isPart || isFar)
        found = fmt::format("{} of {} elements of output {}, which should have changed, are those "
                            "of the run before, bit by bit",
                            kept.unchanged, kept.shouldChange, number);
    }
  return found;
}

/// Which output differs from what it should be again just where, and as, the run before had it.
std::string describeTaken(const TensorLists &outputs, const TensorLists &first,
                          const TensorLists &last) {
  std::string found;
  size_t number = 0;
  for (size_t d = 0; d < std::min(outputs.size(), last.size()); ++d)
    for (size_t i = 0; i < std::min(outputs[d].size(), last[d].size()); ++i, ++number) {
      if (!found.empty() || d >= first.size() || i >= first[d].size() ||
          !isOfManyBits(outputs[d][i]))
        continue;
      Agreement same = agreementOf(outputs[d][i], first[d][i]);
      if (same.different < kStaleNeighbours)
        continue;
      Result<Tensor> a = outputs[d][i].contiguous(), b = first[d][i].contiguous(),
                     c = last[d][i].contiguous();
      if (!a || !b || !c || c->dtype() != a->dtype() || c->size() != a->size())
        continue;
      size_t bytes = tensor::info(a->dtype()).bytes;
      int64_t taken = 0;
      for (int64_t j = 0; j < a->size(); ++j) {
        size_t at = size_t(j) * bytes;
        taken += std::memcmp(a->data() + at, b->data() + at, bytes) != 0 &&
                 std::memcmp(a->data() + at, c->data() + at, bytes) == 0;
      }
      if (double(taken) >= kStaleShare * double(same.different))
        found = fmt::format("{} of {} elements of output {}", taken, a->size(), number);
    }
  return found;
}

LookVerdict failed(std::string_view errorClass, std::string message) {
  return {false, std::string(errorClass), std::move(message)};
}

class Looking {
public:
  Looking(const LookSeams &seams, const TensorLists &inputs, const TensorLists &first)
      : seams(seams), inputs(inputs), first(first), last(first) {}

  /// With other inputs; false where something is wrong or nothing can be said any more.
  bool other(uint32_t look) {
    std::optional<TensorLists> others = seams.otherInputs(look);
    if (!others)
      return true;
    Result<TensorLists> outputs = execute(std::move(*others), "with other inputs");
    others.reset();
    if (!outputs)
      return false;
    std::optional<LookVerdict> verdict = judgeOther(look, *outputs);
    if (verdict && !verdict->passed && verdict->errorClass == name(ErrorCode::TimedOut)) {
      // These inputs get little time: that it was too little says nothing of the device.
      result.note = "with other inputs nobody could say in time whether it is right";
      verdict.reset();
    }
    if (!verdict && areSame(*outputs, first))
      result.note = "with other inputs it gave the same, and nobody could say in time whether it "
                    "should";
    if (verdict && !verdict->passed) {
      // What is wrong may be right for other inputs.
      std::string stale = describeStale(*outputs, last);
      if (!stale.empty())
        result.verdict =
            failed(kStaleResult, "with other inputs it gave what it gave before: " + stale +
                                     " are those of the run before (" + verdict->message + ")");
      else
        blameOther(look, *outputs, *verdict);
      return false;
    }
    if (verdict)
      keepStrictly(*verdict, "with other inputs");
    if (verdict && verdict->expected && seams.expected && areSame(last, first)) {
      std::string kept = describeKept(*outputs, first, *verdict->expected, seams);
      if (!kept.empty()) {
        result.verdict =
            failed(kStaleResult, "with other inputs it gave what it gave before: " + kept);
        return false;
      }
    }
    last = std::move(*outputs);
    isLastOther = true;
    return true;
  }

  /// With the first inputs again; false where something is wrong.
  bool again() {
    Result<TensorLists> outputs = execute(inputs, "with the same inputs again");
    if (!outputs)
      return false;
    // What ran before with these very inputs may well be what comes again.
    const bool mayBeStale = std::exchange(isLastOther, false);
    if (areSame(*outputs, first)) {
      last = first;
      return true;
    }
    if (std::string taken = mayBeStale ? describeTaken(*outputs, first, last) : "";
        !taken.empty()) {
      result.verdict = failed(kStaleResult, "with the first inputs again it gave the result of the "
                                            "others: " +
                                                taken + " are those of the run before");
      return false;
    }
    std::string difference = describeDifference(*outputs, first);
    LookVerdict verdict;
    if (seams.judgeRepeat)
      verdict = seams.judgeRepeat(*outputs, first);
    keepStrictly(verdict, fmt::format("the same inputs gave another result in execution {}",
                                      result.executions));
    if (verdict.passed && ++judged <= kMostJudged) {
      verdict = seams.judge(*outputs);
      keepStrictly(verdict, fmt::format("in execution {}", result.executions));
    }
    if (!verdict.passed) {
      std::string stale = mayBeStale ? describeStale(*outputs, last) : "";
      if (!stale.empty()) {
        result.verdict = failed(kStaleResult, "with the first inputs again it gave the result of "
                                              "the others: " +
                                                  stale + " are those of the run before");
        return false;
      }
      // Once more tells what depends on the run before from what depends on nothing.
      Result<TensorLists> third = execute(inputs, "with the same inputs again");
      bool isSteady = third && areSame(*third, *outputs);
      result.verdict = failed(
          kNotDeterministic,
          fmt::format("the same inputs gave another result in execution {}: {} differ ({}){}",
                      result.executions - 1, difference, verdict.message,
                      isSteady ? "; it stays so: results depend on what ran before" : ""));
      return false;
    }
    result.note = "executions with the same inputs differ, within what is allowed: " + difference;
    last = std::move(*outputs);
    return true;
  }

  Looks result;

private:
  static constexpr uint32_t kMostJudged = 2;

  /// By inputs that are made once more: weights would lie here twice while the device has its own, and
  /// one that writes to what it was given would change what it is judged by.
  std::optional<LookVerdict> judgeOther(uint32_t look, const TensorLists &outputs) {
    if (seams.isOtherTooLong)
      return failed(name(ErrorCode::TimedOut), "the first inputs took too long to judge");
    std::optional<TensorLists> others = seams.otherInputs(look);
    if (!others)
      return failed(name(ErrorCode::OutOfMemory), "other inputs could be made once and not again");
    return seams.judgeOther(std::move(*others), outputs);
  }

  /// Wrong with other inputs: always, or now and then?
  void blameOther(uint32_t look, const TensorLists &outputs, const LookVerdict &verdict) {
    uint32_t execution = result.executions;
    result.verdict = failed(verdict.errorClass, "with other inputs: " + verdict.message);
    std::optional<TensorLists> others = seams.otherInputs(look);
    if (!others)
      return;
    Result<TensorLists> second = seams.execute(std::move(*others));
    others.reset();
    ++result.executions;
    if (!second || areSame(*second, outputs))
      return;
    std::optional<LookVerdict> now = judgeOther(look, *second);
    if (now && now->passed)
      result.verdict = failed(
          kNotDeterministic,
          fmt::format("the same inputs, others than the first, gave another result in execution "
                      "{}, which is right, than in execution {}: {} differ ({})",
                      result.executions, execution, describeDifference(*second, outputs),
                      verdict.message));
  }

  void keepStrictly(const LookVerdict &verdict, std::string_view when) {
    if (verdict.strictly.empty() || !result.strictly.empty())
      return;
    result.strictly = fmt::format("{}: {}", when, verdict.strictly);
    result.strictOutput = verdict.output;
  }

  Result<TensorLists> execute(TensorLists given, std::string_view how) {
    Result<TensorLists> outputs = seams.execute(std::move(given));
    ++result.executions;
    if (!outputs)
      result.verdict = failed(name(outputs.error().code),
                              fmt::format("execution {}, {}: {}", result.executions, how,
                                          outputs.message()));
    return outputs;
  }

  const LookSeams &seams;
  const TensorLists &inputs, &first;
  TensorLists last; ///< What the execution before this one gave.
  bool isLastOther = false; ///< With other inputs than the first.
  uint32_t judged = 0;
};

} // namespace

std::string describeDifference(const TensorLists &outputs, const TensorLists &before) {
  std::string text;
  forPairs(outputs, before, [&](size_t number, const Tensor &now, const Tensor &then) {
    Agreement agreement = agreementOf(now, then);
    if (agreement.different)
      text += fmt::format("{}{} of {} elements of output {}, the first at {}",
                          text.empty() ? "" : "; ", agreement.different, now.size(), number,
                          placeOf(now, agreement.firstDifferent));
  });
  return text.empty() ? "the shapes of outputs" : text;
}

bool areSame(const TensorLists &a, const TensorLists &b) {
  bool isSame = std::ranges::equal(a, b, {}, [](const auto &list) { return list.size(); },
                                   [](const auto &list) { return list.size(); });
  if (isSame)
    forPairs(a, b, [&](size_t, const Tensor &x, const Tensor &y) {
      isSame = isSame && haveSameBytes(x, y);
    });
  return isSame;
}

bool Hurry::isInVain() const {
  // Later evaluations find memory and weights where the first ones left them.
  constexpr double kAgain = 0.7;
  constexpr double kExecutions = 3; // One plain, one moved, and as long as that before it is begun.
  const double left = std::max(0.0, seconds - plain);
  return kAgain * moved > share * left && kExecutions * execute > (1 - share) * left;
}

Looks lookAgain(const LookSeams &seams, const TensorLists &inputs, const TensorLists &first,
                double seconds, const LookOptions &options) {
  Looking looking(seams, inputs, first);
  uint32_t wanted = options.executions.value_or(seconds < options.cheapSeconds ? 3 : 1);
  for (uint32_t i = 1; i < wanted; ++i)
    if (!(i % 2 ? looking.other(i) : looking.again()))
      return looking.result;
  if (options.executions || wanted == 1)
    return looking.result;
  // What happens now and then is seen by who looks often.
  Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(kFreeSeconds));
  while (looking.result.executions < kMostFree && Clock::now() < end)
    if (!looking.again())
      break;
  return looking.result;
}

std::string describeVacuous(const TensorLists &results) {
  bool isAnyNan = false, isAnyConstant = false;
  for (const std::vector<Tensor> &list : results)
    for (const Tensor &result : list) {
      DType type = result.dtype();
      bool isReal = tensor::isFloat(type);
      Result<Tensor> wide = tensor::convert(result, isReal ? DType::F64 : type);
      if (wide)
        wide = wide->contiguous();
      if (!wide || wide->size() == 0)
        continue;
      const std::byte *data = wide->data();
      size_t bytes = tensor::info(wide->dtype()).bytes;
      bool isConstant = wide->size() > 1, isNan = isReal;
      for (int64_t i = 0; i < wide->size() && (isConstant || isNan); ++i) {
        isConstant = isConstant && std::memcmp(data, data + size_t(i) * bytes, bytes) == 0;
        isNan = isNan && std::isnan(wide->dataAs<double>()[i]);
      }
      if (!isConstant && !isNan)
        return "";
      isAnyNan |= isNan;
      isAnyConstant |= isConstant && !isNan;
    }
  return isAnyNan && isAnyConstant ? "every output is NaN or one value throughout"
         : isAnyNan                ? "every output is NaN throughout"
         : isAnyConstant           ? "every output is one value throughout"
                                   : "";
}

static bool isNanThroughout(const Tensor &tensor) {
  Result<Tensor> wide = tensor::convert(tensor, DType::F64);
  if (wide)
    wide = wide->contiguous();
  if (!wide)
    return false;
  for (int64_t i = 0; i < wide->size(); ++i)
    if (!std::isnan(wide->dataAs<double>()[i]))
      return false;
  return true;
}

std::string describeNumberless(const TensorLists &expected) {
  bool isAnyNan = false;
  for (const std::vector<Tensor> &list : expected)
    for (const Tensor &result : list) {
      if (result.size() == 0)
        continue;
      // Nearly always the first element tells.
      size_t rank = result.shape().size();
      std::vector<int64_t> start(rank, 0), one(rank, 1);
      if (!tensor::isFloat(result.dtype()) || !isNanThroughout(result.sliced(start, one, one)) ||
          !isNanThroughout(result))
        return "";
      isAnyNan = true;
    }
  return isAnyNan ? "every expected output is NaN throughout" : "no expected output has an element";
}

static bool isZeroThroughout(const Tensor &tensor) {
  Result<Tensor> wide =
      tensor::isFloat(tensor.dtype()) ? tensor::convert(tensor, DType::F64) : Result<Tensor>(tensor);
  if (wide)
    wide = wide->contiguous();
  if (!wide)
    return false;
  if (tensor::isFloat(tensor.dtype())) { // -0 is zero.
    const double *values = wide->dataAs<double>();
    return std::all_of(values, values + wide->size(), [](double value) { return value == 0; });
  }
  const std::byte *data = wide->data();
  return std::all_of(data, data + wide->byteSize(), [](std::byte byte) { return byte == std::byte(0); });
}

bool areZeroThroughout(const TensorLists &expected) {
  bool isAny = false;
  for (const std::vector<Tensor> &list : expected)
    for (const Tensor &result : list) {
      if (result.size() == 0)
        continue;
      // Nearly always the first element tells.
      std::vector<int64_t> start(result.shape().size(), 0), one(result.shape().size(), 1);
      if (!isZeroThroughout(result.sliced(start, one, one)) || !isZeroThroughout(result))
        return false;
      isAny = true;
    }
  return isAny;
}

} // namespace cupel::testbench::worker
