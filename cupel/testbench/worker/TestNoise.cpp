#include "cupel/testbench/worker/TestNoise.h"

#include "cupel/compare/NoiseLanes.h"
#include "cupel/reference/RoundingFacts.h"
#include "cupel/tensor/KeptBlocks.h"
#include "cupel/testbench/worker/GoldenCache.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <span>
#include <utility>

namespace cupel::testbench::worker {

using tensor::Tensor;
using Clock = std::chrono::steady_clock;

namespace {

/// Where nobody limits a test and the expected values are not the reference's, nobody waits longer
/// for it than this. Who limits it says by that how long a verdict may take.
constexpr double kLongestSeconds = 90;

GoldenCache &cache() {
  static GoldenCache kept;
  return kept;
}

/// The budget of noise: it ends in time to judge without.
Budget limited(const Budget &whole, bool isExpectedFromReference) {
  Budget budget = whole;
  double seconds = whole.secondsLeft() * kShareOfTime; // 0: there is no limit
  if (!isExpectedFromReference && seconds <= 0)
    seconds = kLongestSeconds;
  if (seconds > 0)
    budget.deadline = std::min(
        whole.deadline, Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(seconds)));
  return budget;
}

reference::Jitter jitterOf(const compare::DevicePrecision &precision, uint64_t seed) {
  return {.products = precision.products.step,
          .rest = precision.rest.step,
          .doubles = precision.doubles.step,
          .seed = seed};
}

/// What is evaluated for a look beyond the first, and with which seeds.
struct LongerLook {
  const char *name;
  uint32_t count;
  uint64_t firstSeed;
  double times = 1;
  bool isInOrder = true; ///< Updates of a scatter come as they stand.
};
LongerLook describe(compare::NoiseLook look) {
  switch (look) {
  case compare::NoiseLook::Wider:
    return {"wider", compare::kWiderSamples, 256, compare::kWiderBy, false};
  case compare::NoiseLook::OtherOrder:
    return {"in another order", compare::kWiderSamples, 384, 1, false};
  case compare::NoiseLook::Framework:
    return {"of a framework", 2 * kNoiseSamples, 512};
  default:
    return {"more", compare::kMoreSamples, 128};
  }
}

} // namespace

bool TestNoise::sumsWide(uint64_t evaluation) const {
  bool isOther = evaluation % 2 == 1 && reference::narrowFloat(prepared.program().module);
  return prepared.budget.wideSums != isOther;
}

bool TestNoise::missesDecisions() const {
  return isCutShort() && !isReferences && reference::floatsDecide(prepared.program().module);
}

const std::vector<TensorLists> &TestNoise::samples() {
  measure(wanted);
  // A verdict that needed more is the same elsewhere only with these.
  if (auto more = others.extract(compare::NoiseLook::More))
    std::ranges::move(more.mapped(), std::back_inserter(all));
  return all;
}

const std::vector<TensorLists> &TestNoise::evaluations(compare::NoiseLook look) {
  auto [entry, isNew] = others.try_emplace(look);
  if (isNew)
    entry->second = evaluate(look);
  return entry->second;
}

std::vector<TensorLists> TestNoise::evaluate(compare::NoiseLook look) {
  if (!isReferences || all.size() < wanted)
    return {}; // Who could not measure a little cannot measure more.
  compare::DevicePrecision precision = declared;
  if (look == compare::NoiseLook::Wider && !reference::floatsDecide(prepared.program().module))
    return {};
  if (look == compare::NoiseLook::OtherOrder &&
      !reference::updatesMayMeet(prepared.program().module))
    return {};
  if (look == compare::NoiseLook::Framework) {
    std::optional<std::string_view> narrow = reference::narrowFloat(prepared.program().module);
    if (!narrow)
      return {};
    precision = declared.coarsenedTo(*compare::findPrecision(*narrow));
  }
  const LongerLook how = describe(look);
  std::string key = cache().keyOf(prepared, fmt::format("noise in {}, {} {}", precision.text(),
                                                        how.count, how.name));
  if (std::optional<TensorLists> found = cache().find(key)) {
    std::vector<TensorLists> evaluations;
    size_t each = found->size() / how.count;
    if (each * how.count == found->size() && each > 0) {
      for (auto at = found->begin(); at != found->end(); at += ptrdiff_t(each))
        evaluations.emplace_back(std::make_move_iterator(at),
                                 std::make_move_iterator(at + ptrdiff_t(each)));
      return evaluations;
    }
  }
  Budget budget = limited(prepared.budget, sources.isExpectedFromReference);
  tensor::BlockKeeper keeper; // Each takes the memory of the one before it.
  std::vector<TensorLists> evaluations;
  TensorLists together;
  for (uint32_t i = 0; i < how.count; ++i) {
    budget.jitter = jitterOf(precision, prepared.budget.seed * 1024 + how.firstSeed + i);
    budget.jitter.times = how.times;
    budget.jitter.order = how.isInOrder ? 0 : budget.jitter.seed;
    budget.wideSums = sumsWide(i);
    GoldenCache::countEvaluations(1);
    Result<TensorLists> results = sources.reference(budget);
    if (!results) {
      wasCut |= results.error().code == ErrorCode::TimedOut;
      return evaluations; // What there is says something too.
    }
    together.insert(together.end(), results->begin(), results->end());
    evaluations.push_back(std::move(*results));
  }
  cache().keep(key, together);
  return evaluations;
}

void TestNoise::measure(uint32_t count) {
  bool isFirst = !std::exchange(isBegun, true);
  if (wanted == 0) {
    remark = fmt::format("limits from the declared precision {} alone (--noise=0)",
                         declared.text());
    return;
  }
  if (!isFirst) {
    // What was once cut short has nothing left to go on with.
    if (isReferences && remark.empty() && all.size() < count)
      measureByReference(count);
    return;
  }
  isReferences = measureByReference(count);
  // What finds no room here finds none for more results of the device either.
  if (!isReferences && (isOutOfMemory || !measureByInputs(remark)))
    remark = fmt::format("noise could not be measured ({}): limits from the declared precision {} "
                         "alone",
                         remark, declared.text());
}

bool TestNoise::measureByReference(uint32_t count) {
  if (!sources.reference) {
    remark = "there is no program that the reference could evaluate";
    return false;
  }
  Budget budget = limited(prepared.budget, sources.isExpectedFromReference);
  const uint64_t own = prepared.budget.seed;
  const size_t from = all.size();
  const bool takesExact = from == 0 && !sources.isExpectedFromReference;
  // All evaluations are one entry: looking for it costs as much as evaluating a small program.
  std::string key =
      cache().keyOf(prepared, fmt::format("noise in {}, evaluations {} to {}{}", declared.text(),
                                          from + 1, count, takesExact ? " and the exact one" : ""));
  if (std::optional<TensorLists> found = cache().find(key);
      found && take(std::move(*found), count - from))
    return true;
  auto evaluate = [&](reference::Jitter jitter) -> Result<TensorLists> {
    Budget one = budget;
    one.jitter = jitter;
    one.wideSums = sumsWide(jitter.isOn() ? jitter.seed : 0);
    GoldenCache::countEvaluations(1);
    Clock::time_point begun = Clock::now();
    Result<TensorLists> results = sources.reference(one);
    double &took = jitter.isOn() ? movedTook : plainTook;
    if (took == 0)
      took = std::chrono::duration<double>(Clock::now() - begun).count();
    return results;
  };
  tensor::BlockKeeper keeper; // Each takes the memory of the one before it.
  if (takesExact) {
    Result<TensorLists> results = evaluate({});
    if (!results) {
      remark = "the reference: " + results.message();
      isOutOfTime = wasCut = results.error().code == ErrorCode::TimedOut;
      isOutOfMemory = results.error().code == ErrorCode::OutOfMemory;
      return false;
    }
    exact = std::move(*results);
  }
  for (size_t i = from; i < count; ++i) {
    Result<TensorLists> results = evaluate(jitterOf(declared, own * 1024 + i));
    if (!results) {
      remark = "the reference, jittered: " + results.message();
      wasCut = results.error().code == ErrorCode::TimedOut;
      isOutOfTime = all.empty() && wasCut;
      isOutOfMemory = results.error().code == ErrorCode::OutOfMemory;
      // One is better than none: time and memory are the only reasons for having some and not all.
      if (!all.empty())
        remark = fmt::format("noise from {} of {} evaluations ({})", all.size(), wanted, remark);
      return !all.empty();
    }
    all.push_back(std::move(*results));
  }
  cache().keep(key, together(from));
  return true;
}

TensorLists TestNoise::together(size_t from) const {
  TensorLists lists = from == 0 ? exact.value_or(TensorLists()) : TensorLists();
  for (const TensorLists &sample : std::span(all).subspan(from))
    lists.insert(lists.end(), sample.begin(), sample.end());
  return lists;
}

bool TestNoise::take(TensorLists lists, size_t count) {
  const bool takesExact = all.empty() && !sources.isExpectedFromReference;
  size_t evaluations = count + (takesExact ? 1 : 0);
  size_t each = lists.size() / evaluations;
  if (each == 0 || each * evaluations != lists.size())
    return false;
  for (size_t i = 0; i < evaluations; ++i) {
    auto begin = std::make_move_iterator(lists.begin() + ptrdiff_t(i * each));
    TensorLists one(begin, begin + ptrdiff_t(each));
    if (i == 0 && takesExact)
      exact = std::move(one);
    else
      all.push_back(std::move(one));
  }
  return true;
}

bool TestNoise::measureByInputs(std::string why) {
  if (!sources.device)
    return false;
  exact.reset();
  // A device that is stopped in the middle answers nothing more: it is not begun with where the time
  // that is left looks short, and may then take as long as the test (its program is compiled once more, say).
  Budget budget = prepared.budget;
  budget.deadline = prepared.deviceDeadline.value_or(budget.deadline);
  auto isTimeForOneMore = [&] {
    double left = prepared.budget.secondsLeft(); // 0: there is no limit
    return left <= 0 || 2 * prepared.executeSeconds < left;
  };
  if (!isTimeForOneMore())
    return false;
  Result<TensorLists> plain = sources.device(prepared.workload.inputs, budget);
  if (!plain)
    return false;
  for (uint32_t i = 0; i < wanted; ++i) {
    reference::Jitter jitter = jitterOf(declared, i);
    double step = std::max(jitter.products, jitter.rest);
    TensorLists moved = prepared.workload.inputs;
    for (std::vector<Tensor> &list : moved) {
      uint64_t number = 0; // What devices hold copies of stays one value.
      for (Tensor &input : list) {
        Result<Tensor> other = reference::jittered(input, step, jitter.doubles,
                                                   (prepared.budget.seed * 64 + i) * 4096 + number++);
        if (other)
          input = std::move(*other);
      }
    }
    if (!isTimeForOneMore())
      break;
    Result<TensorLists> results = sources.device(moved, budget);
    if (!results)
      break;
    all.push_back(std::move(*results));
  }
  if (all.empty())
    return false;
  isOutOfTime = false;
  exact = std::move(*plain);
  remark = fmt::format("noise from the device itself, with inputs moved by one rounding of {} ({})",
                       declared.text(), why);
  return true;
}

compare::NoiseOf TestNoise::asker(size_t list, size_t i, std::span<const int64_t> shape) {
  return [this, list, i, shape](compare::NoiseLook look) { return of(list, i, shape, look); };
}

compare::Noise TestNoise::of(size_t list, size_t i, std::span<const int64_t> shape,
                             compare::NoiseLook look) {
  using compare::NoiseLook;
  compare::Noise noise{.precision = declared};
  if (look == NoiseLook::First && wanted != compare::kFewSamples)
    return noise;
  measure(look == NoiseLook::First ? 1 : wanted);
  if (look == NoiseLook::First && !isReferences)
    return noise;
  auto find = [&](const TensorLists &lists) -> const Tensor * {
    const TensorLists &of = lists;
    if (of.empty())
      return nullptr;
    const std::vector<Tensor> &own = of[of.size() > 1 ? std::min(list, of.size() - 1) : 0];
    // Sizes that values decide may be others under jitter.
    return i < own.size() && std::ranges::equal(own[i].shape(), shape) ? &own[i] : nullptr;
  };
  if (exact) {
    const Tensor *found = find(*exact);
    if (!found)
      return noise;
    noise.center = *found;
  }
  auto add = [&](std::span<const TensorLists> evaluations) {
    for (const TensorLists &lists : evaluations)
      if (const Tensor *found = find(lists))
        noise.samples.push_back(*found);
  };
  if (look == NoiseLook::First)
    add(std::span(all).first(std::min<size_t>(all.size(), 1)));
  if (look == NoiseLook::Few || look == NoiseLook::More)
    add(all);
  if (look != NoiseLook::First && look != NoiseLook::Few)
    add(evaluations(look));
  if (look == NoiseLook::Framework)
    if (auto narrow = reference::narrowFloat(prepared.program().module))
      noise.precision = declared.coarsenedTo(*compare::findPrecision(*narrow));
  if (noise.samples.empty())
    noise.center.reset();
  return noise;
}

} // namespace cupel::testbench::worker
