// Trials of parts of a test: a device of a narrow precision is judged piece by piece, and so is on
// every device what shows only in outputs that rounding decides; a test that failed is searched for
// the operation to blame. What a part should give, the reference says.

#include "cupel/compare/Strict.h"
#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/passes/CutIntoPieces.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/tensor/KeptBlocks.h"
#include "cupel/testbench/worker/Reduce.h"
#include "cupel/testbench/worker/Rule.h"
#include "cupel/testbench/worker/Trials.h"
#include "cupel/workload/Folder.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fmt/format.h>
#include <limits>

namespace cupel::testbench::worker {

using results::Outcome;
using results::TestRecord;

/// Pieces where nobody says how many.
static constexpr uint32_t kPieces = 24;

/// So long, and as long again as the pieces themselves take, parts of those may be tried of which an output tells little: a program in training has
/// thousands of operations, each of which is compiled alone.
static constexpr double kPartsSeconds = 10;

/// As a share of the value, of a place inside the program that can still be judged.
static constexpr double kMostNoise = 0.5;

Result<TriedPiece> Trials::tryPiece(const Request &request, Device &device, Prepared &piece) {
  Result<TensorLists> outputs = runOn(device, piece, nullptr);
  if (!outputs)
    return outputs.error();
  piece.workload.provenance.expectation = kReferencesWord;
  Result<TestNoise> noise = noiseOf(request, piece, &device);
  if (!noise)
    return noise.error();
  const std::vector<tensor::Tensor> &expected = piece.workload.expected.front();
  const std::vector<tensor::Tensor> &actual = outputs->front();
  if (actual.size() != expected.size())
    return TriedPiece{false, fmt::format("there are {} outputs, and {} are expected",
                                         actual.size(), expected.size())};
  bool isSilent = !expected.empty(), isPartlySilent = false;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (actual[i].dtype() != expected[i].dtype())
      return TriedPiece{false,
                        fmt::format("output {} is {}, and {} is expected", i,
                                    describe(actual[i].elementType(), actual[i].shape()),
                                    describe(expected[i].elementType(), expected[i].shape()))};
    results::ComparisonRecord comparison;
    if (Status judged = judgeStrictly(0, i, actual[i], expected[i], *noise, comparison); !judged)
      return judged.error();
    // Where half of a value is noise its distribution has no limits that hold: a quotient of two such
    // is off by anything. The test as a whole is right, and this place cannot tell.
    isPartlySilent |= !noise->doubted().empty();
    isPartlySilent |= comparison.noise.value_or(0) >= compare::kTellsLittle;
    if (comparison.noise.value_or(0) > kMostNoise)
      continue;
    isSilent = false;
    if (!comparison.strictPassed.value_or(false))
      return TriedPiece{false, expected.size() == 1
                                   ? comparison.strictSentence
                                   : fmt::format("output {}: {}", i, comparison.strictSentence)};
  }
  return TriedPiece{.passed = true,
                    .sentence = "within the noise",
                    .isSilent = isSilent,
                    .isPartlySilent = isPartlySilent};
}

/// Whether a part computes one thing, and not what a loop or a branch has in it.
static bool isOneOperation(const Prepared &part) {
  mlir::func::FuncOp entry = compiler::entryOf(mlir::cast<mlir::ModuleOp>(part.program().module));
  const std::vector<mlir::Operation *> counted = compiler::countedOperations(entry);
  return counted.size() <= 1 && llvm::none_of(counted, [](mlir::Operation *op) {
           return op->hasTrait<stablehlo::Loops>() || op->hasTrait<stablehlo::Branches>() ||
                  mlir::isa<mlir::func::CallOp>(op);
         });
}

using Clock = std::chrono::steady_clock;
static double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Result<TriedPiece> Trials::tryParts(const Request &request, Device &device, Device &reference,
                                    const Prepared &piece, double most) {
  constexpr uint32_t kParts = 10'000; // One for each operation.
  Result<Pieces> parts = Pieces::of(piece, kParts);
  if (!parts)
    return parts.error();
  const double limit = piece.budget.secondsLeft() / 2;
  const Clock::time_point begin = Clock::now();
  while (parts->left() > 0) {
    if ((limit && piece.budget.secondsLeft() < limit) || secondsSince(begin) > most)
      return Error{ErrorCode::TimedOut, "no time was left for its parts"};
    std::string which = parts->describeNext();
    std::optional<Prepared> part = parts->next();
    part->isRemembered = false;
    Result<TensorLists> expected = runOn(reference, *part, nullptr);
    if (!expected)
      return expected.error();
    parts->setResults(expected->front());
    part->workload.expected = std::move(*expected);
    Result<TriedPiece> tried = tryPiece(request, device, *part);
    if (!tried)
      return tried;
    // A sum that cancels says nothing of who adds it up; of several operations nothing is known.
    if (tried->isSilent && !isOneOperation(*part))
      return Error{ErrorCode::Unsupported, "its " + which + " is noise for the most part"};
    if (!tried->passed) {
      tried->sentence = fmt::format("its {}: {}", which, tried->sentence);
      return tried;
    }
  }
  return TriedPiece{.passed = true, .sentence = "within the noise"};
}

/// Of each output of a device, whether it tells a right result from a wrong one: one with much noise
/// is within its limits whatever computed it, and so are parts that are small beside the rest.
static std::vector<bool> outputsThatTell(const TestRecord &record, size_t outputs,
                                         const std::vector<uint32_t> &doubted) {
  std::vector<bool> tells(outputs, true);
  for (const results::ComparisonRecord &comparison : record.comparisons)
    if (comparison.rule == "strict" && outputs &&
        (comparison.noise.value_or(0) >= compare::kTellsLittle ||
         std::ranges::find(doubted, comparison.output) != doubted.end()))
      tells[comparison.output % outputs] = false;
  return tells;
}

bool Trials::judgeByPieces(const Request &request, Progress &progress, Device &device,
                           const Prepared &prepared, TestRecord &record, bool byThemAlone) {
  Result<compare::DevicePrecision> precision = precisionOf(request);
  if (!precision)
    return false;
  bool isNarrow = precision->coarsest().step > compare::DevicePrecision().coarsest().step;
  const std::vector<bool> tells = outputsThatTell(record, prepared.program().results.size(), doubted);
  const bool isUntold = std::ranges::find(tells, false) != tells.end();
  uint32_t count = request.pieces.value_or(isNarrow || isUntold ? kPieces : 0);
  if (count == 0)
    return false;
  // On a precise device only what no other output shows; but where nothing else speaks of an output, other outputs need not show
  // what it has from an operation that they have something from, too.
  const bool isForUntold = !request.pieces && !isNarrow && !byThemAlone;
  Result<Pieces> pieces = Pieces::of(prepared, count, compiler::Counts::WhatIsNotMoved, tells);
  if (isForUntold && pieces && pieces->hidingLeft() == 0)
    return true; // Other outputs speak of all of it.
  std::string &note = record.notes["by pieces"];
  if (!pieces) {
    note = "not judged by pieces: " + pieces.message();
    return false;
  }
  Result<Device *> reference = this->device("reference");
  if (!reference) {
    fail(record, name(ErrorCode::Internal), reference.message());
    return false;
  }
  progress.enter(results::Stage::Compare);
  tensor::BlockKeeper keeper; // Each piece takes the memory of the one before it.
  size_t right = 0, notRun = 0, byParts = 0, silent = 0, untried = 0;
  double ofPieces = 0, ofParts = 0; // Seconds.
  const size_t asked = isForUntold ? pieces->hidingLeft() : pieces->size();
  const std::string whose = isForUntold ? " that only show in outputs that rounding decides" : "";
  // Half of what is left is for the pieces; what is not reached is said.
  const double limit = prepared.budget.secondsLeft() / 2;
  while (right + notRun < asked) {
    if (limit && prepared.budget.secondsLeft() < limit)
      break;
    Clock::time_point begin = Clock::now();
    std::string which = pieces->describeNext();
    const bool isAsked = !isForUntold || pieces->nextHides();
    std::optional<Prepared> piece = pieces->next();
    // To find what is remembered of it costs about as much as to evaluate it: all that it takes is read.
    piece->isRemembered = false;
    Result<TensorLists> expected = runOn(**reference, *piece, nullptr);
    if (!expected) {
      note = fmt::format("{} of {} pieces{} are right; {} cannot be evaluated: {}", right, asked,
                         whose, which, expected.message());
      return false;
    }
    pieces->setResults(expected->front());
    if (!isAsked)
      continue;
    piece->workload.expected = std::move(*expected);
    Result<TriedPiece> tried = tryPiece(request, device, *piece);
    ofPieces += secondsSince(begin);
    // Rounding may decide what a piece gives as it does what the whole gives.
    if (tried && tried->passed && tried->isPartlySilent) {
      begin = Clock::now();
      // A draw passes by its pieces alone: of that all is tried that there is time for.
      const double most = byThemAlone ? std::numeric_limits<double>::infinity()
                                      : kPartsSeconds + ofPieces - ofParts;
      Result<TriedPiece> parts = tryParts(request, device, **reference, *piece, most);
      ofParts += secondsSince(begin);
      if (parts)
        ++byParts;
      else if (parts.error().code == ErrorCode::TimedOut)
        ++untried;
      else if (tried->isSilent)
        ++silent;
      if (parts || (byThemAlone && tried->isSilent))
        tried = std::move(parts);
    }
    if (!tried) {
      // The whole program ran: a part that does not says nothing of the result.
      ++notRun;
      continue;
    }
    if (!tried->passed) {
      note = fmt::format("{} is wrong when it is fed right values", which);
      fail(record, "wrong_result", fmt::format("{}: {}", note, tried->sentence));
      return false;
    }
    ++right;
  }
  note = fmt::format("{} of {} pieces{} are right when they are fed right values", right, asked,
                     whose);
  if (byParts)
    note += fmt::format(", {} of them part by part", byParts);
  if (untried)
    note += fmt::format(", {} tell little as they are and no time was left for all of their parts", untried);
  if (silent)
    note += fmt::format(", {} give noise for the most part and cannot be taken apart", silent);
  if (notRun)
    note += fmt::format(", {} do not run alone", notRun);
  if (right + notRun < asked)
    note += "; no time was left for the others";
  return right == asked && (asked > 0 || !byThemAlone);
}

bool Trials::isWrongByScattered(const TestRecord &record) const {
  return record.outcome == Outcome::Failed && record.errorClass == "wrong_result" &&
         !scattered.empty() &&
         std::ranges::all_of(record.comparisons, [&](const results::ComparisonRecord &one) {
           return one.passed || (one.rule == "strict" &&
                                 std::ranges::find(scattered, one.output) != scattered.end());
         });
}

bool Trials::judgeScattered(const Request &request, Progress &progress, Device &device,
                            const Prepared &prepared, TestRecord &record) {
  TestRecord right = record;
  right.outcome = Outcome::Passed;
  right.errorClass.clear();
  right.message.clear();
  const bool areRight = judgeByPieces(request, progress, device, prepared, right, /*byThemAlone=*/true);
  if (!areRight && right.outcome == Outcome::Passed) { // Nobody found the piece: it is as wrong as it was.
    record.notes = std::move(right.notes);
    return false;
  }
  record = std::move(right);
  if (!areRight)
    return false;
  for (results::ComparisonRecord &one : record.comparisons)
    if (!one.passed) {
      one.passed = true;
      one.strictPassed = true;
      one.sentence += "; what computes it is right piece by piece";
    }
  record.notes.erase(kExpectedOffNote);
  return true;
}

Explainer::Seams Trials::explainSeams(const Request &request, Progress &progress) {
  Explainer::Seams seams;
  seams.runHere = [this, &request, &progress](Prepared test) {
    TestRecord found;
    Request here = request;
    here.search = {};
    run(here, progress, test, found);
    return found;
  };
  seams.save = [this, &request](Prepared &program, const std::string &folder) {
    saveNoise(request, program);
    return workload::saveWorkload(folder, portableForm(program));
  };
  seams.tell = [&progress](const std::string &line) { progress.tell(line); };
  return seams;
}

/// How a search goes about it, as the request asks.
static ExplainOptions optionsOf(const SearchRequest &search) {
  ExplainOptions options;
  if (search.memoryBytes)
    options.memoryBytes = search.memoryBytes;
  if (search.probeSeconds > 0)
    options.probeSeconds = search.probeSeconds;
  if (search.tries)
    options.tries = search.tries;
  options.jobs = std::max(1u, search.jobs);
  options.keepFolder = search.keepFolder;
  options.isFresh = search.isFresh;
  options.bisectPasses = search.bisectPasses;
  return options;
}

void Trials::explain(const Request &request, Progress &progress, const Prepared &prepared,
                     TestRecord &record) {
  progress.enter(results::Stage::Compare);
  auto leaveUnexplained = [&](const std::string &why) {
    record.notes["not explained"] = why;
    if (request.kind != Request::Kind::Keep) // Whose outcome is the test's own.
      record.message = why;
  };
  Result<Device *> reference = this->device("reference");
  if (!reference)
    return leaveUnexplained(reference.message());
  const SearchRequest &search = request.search;
  ExplainOptions options = optionsOf(search);
  if (request.kind == Request::Kind::Keep)
    options.reducedFolder = request.keep.folder.empty() ? "" : request.keep.folder + "-reduced";
  else
    options.reducedFolder = search.folder;
  Prepared test = prepared.clone();
  if (search.seconds > 0)
    test.budget.deadline =
        std::min(test.budget.deadline,
                 std::chrono::steady_clock::now() +
                     std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                         std::chrono::duration<double>(search.seconds)));
  Explainer explainer(request, **reference, std::move(options), explainSeams(request, progress));
  Result<results::Explanation> found = explainer.explain(test);
  if (!found)
    return leaveUnexplained(found.message());
  bool passes = found->answer == results::Explanation::Answer::Passes;
  record.notes["explanation"] = toJson(*found);
  record.notes[passes ? "not explained" : "explained"] = found->sentence;
  std::string guilty;
  for (const results::Explanation::Operation &one : found->operations)
    guilty += (guilty.empty() ? "" : ", ") + one.name;
  if (!guilty.empty())
    record.notes["guilty"] = guilty;
  if (!found->reduced.empty())
    record.notes["reduced"] = found->reduced;
  if (request.kind != Request::Kind::Keep)
    record.outcome = passes ? Outcome::Passed : Outcome::Failed;
}

void Trials::reduce(const Request &request, Progress &progress, const Prepared &prepared,
                    TestRecord &record) {
  progress.enter(results::Stage::Compare);
  record.outcome = Outcome::Failed;
  Result<Device *> reference = this->device("reference");
  if (!reference) {
    record.notes["not reduced"] = reference.message();
    return;
  }
  ReduceOptions options;
  options.explain = optionsOf(request.search);
  // What is remembered is an answer; here the program is wanted.
  options.explain.isFresh = true;
  options.explain.reducedFolder = request.search.folder + "/explained";
  options.seconds = request.search.seconds;
  options.folder = request.search.folder;
  Reducer reducer(request, **reference, options, explainSeams(request, progress));
  Result<Reduction> made = reducer.reduce(prepared);
  std::error_code error;
  std::filesystem::remove_all(options.explain.reducedFolder, error);
  if (!made) {
    record.notes["not reduced"] = made.message();
    return;
  }
  record.notes["reduction"] = toJson(*made);
  record.notes["reduced"] = options.folder;
}

} // namespace cupel::testbench::worker
