// Trials of parts of a test: a device of a narrow precision is judged piece by piece, and a test
// that failed is searched for the operation to blame. What a part should give, the reference says.

#include "cupel/testbench/worker/Blame.h"
#include "cupel/testbench/worker/Rule.h"
#include "cupel/testbench/worker/Trials.h"
#include "cupel/workload/Folder.h"

#include <fmt/format.h>

namespace cupel::testbench::worker {

using results::Outcome;
using results::TestRecord;

/// Pieces where nobody says how many.
static constexpr uint32_t kPieces = 24;

/// Whether the device gives what the reference does, by the strict rule.
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
  for (size_t i = 0; i < expected.size(); ++i) {
    if (actual[i].dtype() != expected[i].dtype())
      return TriedPiece{false,
                        fmt::format("output {} is {}, and {} is expected", i,
                                    describe(actual[i].elementType(), actual[i].shape()),
                                    describe(expected[i].elementType(), expected[i].shape()))};
    results::ComparisonRecord comparison;
    if (Status judged = judgeStrictly(0, i, actual[i], expected[i], *noise, comparison); !judged)
      return judged.error();
    if (!comparison.strictPassed.value_or(false))
      return TriedPiece{false, expected.size() == 1
                                   ? comparison.strictSentence
                                   : fmt::format("output {}: {}", i, comparison.strictSentence)};
  }
  return TriedPiece{true, "within the noise"};
}

void Trials::judgeByPieces(const Request &request, Progress &progress, Device &device,
                           const Prepared &prepared, TestRecord &record) {
  Result<compare::DevicePrecision> precision = precisionOf(request);
  if (!precision)
    return;
  bool isNarrow = precision->coarsest().step > compare::DevicePrecision().coarsest().step;
  uint32_t count = request.pieces.value_or(isNarrow ? kPieces : 0);
  if (count == 0)
    return;
  Result<Pieces> pieces = Pieces::of(prepared, count);
  std::string &note = record.notes["by pieces"];
  if (!pieces) {
    note = "not judged by pieces: " + pieces.message();
    return;
  }
  Result<Device *> reference = this->device("reference");
  if (!reference)
    return fail(record, name(ErrorCode::Internal), reference.message());
  progress.enter(results::Stage::Compare);
  size_t right = 0, notRun = 0;
  // Half of what is left is for the pieces; what is not reached is said.
  const double limit = prepared.budget.secondsLeft() / 2;
  while (right + notRun < pieces->size()) {
    if (limit && prepared.budget.secondsLeft() < limit)
      break;
    std::string which = pieces->describeNext();
    std::optional<Prepared> piece = pieces->next();
    Result<TensorLists> expected = runOn(**reference, *piece, nullptr);
    if (!expected) {
      note = fmt::format("{} of {} pieces are right; {} cannot be evaluated: {}", right,
                         pieces->size(), which, expected.message());
      return;
    }
    pieces->setResults(expected->front());
    piece->workload.expected = std::move(*expected);
    Result<TriedPiece> tried = tryPiece(request, device, *piece);
    if (!tried) {
      // The whole program ran: a part that does not says nothing of the result.
      ++notRun;
      continue;
    }
    if (!tried->passed) {
      note = fmt::format("{} is wrong when it is fed right values", which);
      fail(record, "wrong_result", fmt::format("{}: {}", note, tried->sentence));
      return;
    }
    ++right;
  }
  note = fmt::format("{} of {} pieces are right when they are fed right values", right,
                     pieces->size());
  if (notRun)
    note += fmt::format(", {} do not run alone", notRun);
  if (right + notRun < pieces->size())
    note += "; no time was left for the others";
}

void Trials::explain(const Request &request, Progress &progress, const Prepared &prepared,
                     TestRecord &record) {
  progress.enter(results::Stage::Compare);
  Result<Device *> device = this->device(request.device);
  Result<Device *> reference = this->device("reference");
  if (!device || !reference) {
    record.notes["not explained"] = device ? reference.message() : device.message();
    return;
  }
  const bool isWrongResult = request.keep.stage == results::name(results::Stage::Compare);
  BlameSeams seams;
  seams.evaluate = [&](Prepared &piece) { return runOn(**reference, piece, nullptr); };
  seams.tryOnDevice = [&](Prepared &piece) -> Result<TriedPiece> {
    Result<TriedPiece> tried = tryPiece(request, **device, piece);
    if (tried)
      return isWrongResult ? tried : Result<TriedPiece>(TriedPiece{true, "it runs"});
    // Only what fails as the test did counts.
    return TriedPiece{isWrongResult, tried.message()};
  };
  Result<Blame> blame = findBlame(prepared, seams);
  if (!blame) {
    record.notes["not explained"] = blame.message();
    return;
  }
  record.notes["explained"] = describe(*blame);
  if (!blame->program)
    return;
  std::string guilty;
  for (const BlamedOperation &one : blame->operations)
    guilty += (guilty.empty() ? "" : ", ") + one.name;
  record.notes["guilty"] = guilty;
  if (request.keep.folder.empty())
    return;
  // The smallest program that fails is a test of its own beside the whole one.
  Prepared &program = *blame->program;
  program.workload.name = prepared.workload.name + ", reduced";
  program.workload.provenance.outcome = request.keep.outcome;
  program.workload.provenance.message = blame->sentence;
  saveNoise(request, program);
  std::string folder = request.keep.folder + "-reduced";
  Status saved = workload::saveWorkload(folder, portableForm(program));
  record.notes[saved ? "reduced" : "not reduced"] = saved ? folder : saved.message();
}

} // namespace cupel::testbench::worker
