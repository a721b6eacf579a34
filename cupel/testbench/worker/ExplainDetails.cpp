// What an explanation says beyond the operation: whether other values and other shapes are right,
// how the error grows with depth, and the intermediate values themselves.

#include "cupel/testbench/worker/Explain.h"

#include "cupel/tensor/Convert.h"
#include "cupel/tensor/Safetensors.h"
#include "cupel/testbench/worker/ChosenInputs.h"
#include "cupel/testbench/worker/Surroundings.h"

#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace cupel::testbench::worker {

using results::Explanation;
using tensor::Tensor;
using Answer = Explanation::Answer;

namespace {

constexpr size_t kMostSiblings = 12;
constexpr size_t kDepths = 16;

/// What is unusual about values, for people: "holds NaN, infinities".
std::string describeValues(const Tensor &given) {
  if (!tensor::isFloat(given.dtype()))
    return "";
  Result<Tensor> wide = tensor::convert(given, tensor::DType::F64);
  if (!wide || wide->size() == 0)
    return "";
  const auto *values = reinterpret_cast<const double *>(wide->data());
  bool nan = false, infinite = false, negative = false, zero = false;
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  for (int64_t i = 0; i < wide->size(); ++i) {
    nan |= std::isnan(values[i]);
    infinite |= std::isinf(values[i]);
    negative |= values[i] < 0;
    zero |= values[i] == 0;
    if (std::isfinite(values[i]) && values[i] != 0) {
      largest = std::max(largest, std::abs(values[i]));
      smallest = std::min(smallest, std::abs(values[i]));
    }
  }
  std::vector<std::string> words;
  if (nan)
    words.push_back("NaN");
  if (infinite)
    words.push_back("infinities");
  if (zero)
    words.push_back("zeros");
  if (negative)
    words.push_back("negative numbers");
  if (largest > 0)
    words.push_back(fmt::format("magnitudes from {:.3g} to {:.3g}", smallest, largest));
  return fmt::format("{}", fmt::join(words, ", "));
}

} // namespace

Result<bool> Explainer::isAnyProgram(const BlameSeams &like, Explanation &found) {
  if (failure.failure || !isEvaluated || plain->workload.expected.empty())
    return false;
  seams.tell("a program without operations");
  Result<Prepared> all = handsOn(*plain, {});
  if (!all)
    return false; // It cannot be asked.
  Result<TriedPiece> tried = like.tryOnDevice(*all);
  if (!tried)
    return tried.error();
  if (tried->passed)
    return false;
  size_t number = tried->output % all->program().results.size();
  Result<Prepared> one = handsOn(*plain, number);
  Result<TriedPiece> alone = one ? like.tryOnDevice(*one) : Result<TriedPiece>(one.error());
  const bool isOneEnough = alone && !alone->passed;
  const TriedPiece &wrong = isOneEnough ? *alone : *tried;
  found.answer = Answer::AnyProgram;
  found.worst = wrong.sentence;
  found.pcc = wrong.pcc;
  found.maxAbsolute = wrong.maxAbsolute;
  found.relativeL2 = wrong.relativeL2;
  found.picture = wrong.picture;
  found.result = uint32_t(number);
  found.sentence = fmt::format(
      "a program that hands {} on is wrong too: how results are written or read is to blame, and "
      "no operation: {}",
      isOneEnough ? "its argument" : fmt::format("its {} arguments", all->program().results.size()),
      wrong.sentence);
  save(isOneEnough ? *one : *all, found);
  return true;
}

/// What fails now and then may have shown in the whole program each time, and in none of its
/// operations the one time that they were tried.
bool Explainer::failsNowAndThen(const Blame &blame) {
  constexpr uint32_t kMore = 3;
  if (failure.failure && failure.failure->outcome == "timed out")
    return false;
  if (!blame.program)
    return true; // No part failed the one time that it was tried.
  // An operation that failed alone is guilty, unless what stands in it was not seen to fail.
  if (blame.kind == Blame::Kind::Operation) {
    Prepared copy = blame.program->clone();
    for (uint32_t attempt = 0; !isAloneGuilty(blame) && attempt < kTimesToBeSure; ++attempt)
      if (Result<TriedPiece> tried = prober.probe(copy, attempt); tried && tried->passed)
        return true;
    return false;
  }
  BlameSeams like = seamsLike(failure);
  Result<Intermediates> all =
      Intermediates::of(*blame.program, like.evaluate, options.memoryBytes);
  // One that cannot be taken apart was tried already.
  for (size_t i = 0; all && all->size() > 1 && i < all->size(); ++i) {
    bool isBlamed = std::ranges::any_of(all->operations(i), [&](const BlamedOperation &one) {
      return std::ranges::find(blame.operations, one) != blame.operations.end();
    });
    Result<Prepared> single = isBlamed ? all->select({i}) : Result<Prepared>(Error{""});
    if (!single || single->workload.expected.front().empty())
      continue;
    for (uint32_t attempt = 1; attempt <= kMore; ++attempt)
      if (Result<TriedPiece> tried = prober.probe(*single, attempt);
          tried && !tried->passed && tried->failsLike(failure))
        return true;
  }
  return false;
}

/// An operation that is right for other values of the same types is wrong for these alone.
void Explainer::tryOtherValues(Prepared &program, Explanation &found) {
  ChosenInputs chosen(program.program());
  size_t right = 0, tried = 0;
  for (uint32_t look : {0u, 1u, ChosenInputs::kPositive, ChosenInputs::kPositive + 1}) {
    Prepared other = program.clone();
    Result<TensorLists> inputs =
        chosen.makeAll(program.program().arguments.size(), program.workload.inputs,
                       request.seed + 1, look);
    if (!inputs)
      return;
    other.workload.inputs = std::move(*inputs);
    Result<TensorLists> expected = prober.evaluate(other);
    if (!expected)
      continue;
    other.workload.expected = std::move(*expected);
    Result<TriedPiece> result = prober.probe(other);
    if (!result)
      return;
    ++tried;
    right += result->passed;
  }
  if (tried < 2)
    return;
  if (right == tried) {
    found.answer = Answer::TheseValues;
    std::string values;
    for (size_t i = 0; i < program.workload.inputs.front().size(); ++i)
      if (std::string text = describeValues(program.workload.inputs.front()[i]); !text.empty())
        values += fmt::format("{}operand {} holds {}", values.empty() ? "" : "; ", i, text);
    found.remarks.push_back(fmt::format("right for {} other sets of values of the same shapes{}",
                                        tried, values.empty() ? "" : "; here " + values));
  } else if (right) {
    found.remarks.push_back(fmt::format("right for {} of {} other sets of values of the same "
                                        "shapes",
                                        right, tried));
  } else {
    found.remarks.push_back(fmt::format("wrong for {} other sets of values of the same shapes too",
                                        tried));
  }
}

/// Other operations of its name in the program, one of each kind of types.
void Explainer::trySiblings(const Blame &blame, Explanation &found) {
  const BlamedOperation &guilty = blame.operations.front();
  BlameSeams like = seamsLike(blame.tried);
  Result<Intermediates> all = Intermediates::of(*plain, like.evaluate, options.memoryBytes);
  if (!all)
    return;
  std::set<std::string> seen = {guilty.types};
  std::vector<std::string> right, wrong;
  for (size_t i = 0; i < all->size() && seen.size() <= kMostSiblings; ++i) {
    const std::vector<BlamedOperation> &one = all->operations(i);
    if (one.size() != 1 || one.front().name != guilty.name ||
        !seen.insert(one.front().types).second)
      continue;
    Result<Prepared> program = all->select({i});
    if (!program || program->workload.expected.front().empty())
      continue;
    Result<TriedPiece> tried = like.tryOnDevice(*program);
    if (!tried)
      return;
    (tried->passed ? right : wrong).push_back(one.front().types);
  }
  if (!right.empty()) {
    found.answer = Answer::TheseShapes;
    found.remarks.push_back(fmt::format("other {} of this program are right: {}", guilty.name,
                                        fmt::join(right, ", ")));
  }
  if (!wrong.empty())
    found.remarks.push_back(fmt::format("wrong are also {} : {}", guilty.name,
                                        fmt::join(wrong, ", ")));
}

/// The program up to some depths, and what lies between two of them.
void Explainer::measureDepths(Explanation &found) {
  BlameSeams like = seamsLike(failure);
  Result<Intermediates> all = Intermediates::of(*plain, like.evaluate, options.memoryBytes);
  if (!all) {
    found.remarks.push_back("no table of errors by depth: " + all.message());
    return;
  }
  const size_t steps = std::min(kDepths, all->size());
  size_t begin = 0;
  std::optional<size_t> most;
  for (size_t k = 1; k <= steps; ++k) {
    size_t end = all->size() * k / steps;
    std::vector<size_t> prefix, own;
    for (size_t i = 0; i < end; ++i)
      prefix.push_back(i);
    for (size_t i = begin; i < end; ++i)
      own.push_back(i);
    Explanation::Depth depth;
    depth.operations = end;
    depth.place = all->operations(end - 1).back().name + " " + all->operations(end - 1).back().place;
    auto measure = [&](const std::vector<size_t> &chosen) -> std::optional<TriedPiece> {
      Result<Prepared> program = all->select(chosen);
      if (!program || program->workload.expected.front().empty())
        return {};
      Result<TriedPiece> tried = prober.probe(*program);
      return tried && !tried->failure ? std::optional(std::move(*tried)) : std::nullopt;
    };
    if (std::optional<TriedPiece> whole = measure(prefix)) {
      depth.pcc = whole->pcc;
      depth.relativeL2 = whole->relativeL2;
    }
    if (std::optional<TriedPiece> piece = measure(own))
      depth.ownL2 = piece->relativeL2;
    if (depth.ownL2 && (!most || *depth.ownL2 > *found.depths[*most].ownL2))
      most = found.depths.size();
    found.depths.push_back(std::move(depth));
    begin = end;
  }
  if (most && *found.depths[*most].ownL2 > 0)
    found.remarks.push_back(fmt::format(
        "most is added between operations {} and {}, up to {}",
        *most ? found.depths[*most - 1].operations + 1 : 1, found.depths[*most].operations,
        found.depths[*most].place));
}

/// All intermediate values of the reference and of the device, in two files.
void Explainer::keepValues(Explanation &found) {
  BlameSeams like = seamsLike(TriedPiece());
  Result<Intermediates> all = Intermediates::of(*plain, like.evaluate, options.memoryBytes);
  if (!all) {
    found.remarks.push_back("values are not kept: " + all.message());
    return;
  }
  std::vector<size_t> every;
  for (size_t i = 0; i < all->size(); ++i)
    every.push_back(i);
  Result<Prepared> program = all->select(every, compiler::Gives::Everything);
  if (!program) {
    found.remarks.push_back("values are not kept: " + program.message());
    return;
  }
  std::error_code error;
  std::filesystem::create_directories(options.keepFolder, error);
  auto write = [&](const std::vector<Tensor> &values, const std::string &who) {
    tensor::Safetensors file;
    for (size_t i = 0; i < values.size() && i < all->places().size(); ++i) {
      const Intermediates::Place &place = all->places()[i];
      const BlamedOperation &op = all->operations(place.atom).front();
      file.tensors.emplace_back(
          fmt::format("{:05} {} {} #{}", place.atom, op.name, op.place, place.result), values[i]);
    }
    std::string path = options.keepFolder + "/" + who + ".safetensors";
    Status written = tensor::writeSafetensors(path, file);
    found.remarks.push_back(written ? fmt::format("{} values are in {}", file.tensors.size(), path)
                                    : "values are not kept: " + written.message());
  };
  write(program->workload.expected.front(), "reference");
  Result<std::vector<Tensor>> given = prober.execute(*program);
  if (given)
    write(*given, "device");
  else
    found.remarks.push_back("the device gives no intermediate values: " + given.message());
  if (found.depths.empty())
    measureDepths(found);
}

} // namespace cupel::testbench::worker
