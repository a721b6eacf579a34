#include "cupel/testbench/worker/Explain.h"

#include "cupel/runtime/DeclaredPrecision.h"
#include "cupel/support/CommandWords.h"
#include "cupel/support/Process.h"
#include "cupel/support/Sha256.h"
#include "cupel/testbench/worker/Looks.h"
#include "cupel/testbench/worker/Trials.h"
#include "cupel/workload/Folder.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <set>

namespace cupel::testbench::worker {

using results::Explanation;
using tensor::Tensor;
using Answer = Explanation::Answer;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

namespace {

constexpr uint32_t kPieces = 24;
/// How much longer than the slowest that passed a probe may take.
constexpr double kPatience = 40;
/// How often each part runs of what fails always as a whole and now and then in parts.
constexpr uint32_t kTriesOfFlaky = 8;
/// And no part of what fails seldom runs more often at first.
constexpr uint32_t kMostTries = 24;
/// How often the search is made again with twice as many tries.
constexpr uint32_t kMoreRounds = 2;
/// More pieces than any program has operations.
constexpr uint32_t kEachOperation = 1u << 20;

/// What runs a folder on this device.
std::string commandFor(const std::string &device, const std::string &folder) {
  size_t at = device.find('@');
  std::string plugin = runtime::withoutPrecision(device.substr(0, at)), text;
  if (at == std::string::npos)
    return fmt::format("cupel run {} --device {}", quotedForShell(folder), quotedForShell(device));
  size_t question = plugin.find('?');
  text = fmt::format("cupel-device run {} {}", quotedForShell(plugin.substr(0, question)),
                     quotedForShell(folder));
  while (question != std::string::npos) {
    size_t end = plugin.find('&', question + 1);
    std::string option = plugin.substr(question + 1, end - question - 1);
    text += " --option " + quotedForShell(option);
    question = end;
  }
  return text;
}

} // namespace

bool isAloneGuilty(const Blame &blame) {
  return blame.kind == Blame::Kind::Operation && blame.onlyIn.empty() &&
         !blame.operations.front().holdsOthers;
}

Explanation::Operation forPeople(const BlamedOperation &one) {
  return {one.name, one.types, one.place, one.attributes, one.through, one.layer};
}

Result<TensorLists> zerosFor(const Prepared &program) {
  TensorLists lists(1);
  size_t processes = size_t(program.program().replicas) * program.program().partitions;
  for (size_t p = 0; p < processes; ++p)
    for (const ValueType &type : program.program().results) {
      Result<Tensor> zeros = type.isTensor && std::ranges::count(type.shape, kDynamicSize) == 0
                                 ? Tensor::zeros(type.element.storage, type.shape)
                                 : Result<Tensor>(Error{ErrorCode::Unsupported,
                                                        "it gives something that has no size"});
      if (!zeros)
        return zeros.error();
      lists.front().push_back(std::move(*zeros));
    }
  return lists;
}

Explainer::Explainer(const Request &request, Device &reference, ExplainOptions given, Seams seams)
    : request(request), reference(reference), options(std::move(given)), seams(std::move(seams)),
      prober(request, reference, isolatedName(request.device), options.jobs) {
  prober.setDeadline(options.probeSeconds);
  prober.setPatience(kPatience);
  prober.awaitStage(Prober::kNoStage);
}

std::string Explainer::keyOf(const Prepared &given) const {
  if (prober.identity().empty())
    return {};
  std::string expected;
  if (std::optional<std::string> bytes = packed(given.workload.expected))
    expected = sha256(*bytes);
  return GoldenCache().keyOf(
      given, fmt::format("explain {} {} {} {} {} {} {} {} {}", prober.identity(), request.precision,
                         request.arch, request.strict, request.comparison,
                         request.noise.value_or(kNoiseSamples), options.memoryBytes, expected,
                         (options.keepFolder.empty() ? "" : "keep") +
                             std::string(options.bisectPasses ? "bisect" : "") +
                             describeDevices(given.program())));
}

Result<Explanation> Explainer::explain(const Prepared &given) {
  ContentCache cache(cacheFolder("explanations"), cacheLimit("explanations"));
  std::string key = keyOf(given);
  if (options.reducedFolder.empty() && !key.empty())
    options.reducedFolder = cacheFolder("reduced") + "/" + key.substr(0, 16);
  Clock::time_point began = Clock::now();
  if (!key.empty() && !options.isFresh && options.keepFolder.empty())
    if (auto kept = cache.find(key))
      if (Result<Explanation> known = results::explanationFromJson(kept->bytes())) {
        std::error_code error;
        bool isThere = known->reduced.empty() || fs::exists(known->reduced, error);
        if (isThere && !known->reduced.empty() && known->reduced != options.reducedFolder) {
          fs::create_directories(fs::path(options.reducedFolder).parent_path(), error);
          fs::copy(known->reduced, options.reducedFolder,
                   fs::copy_options::recursive | fs::copy_options::overwrite_existing, error);
          isThere = !error;
          known->reduced = options.reducedFolder;
          known->command = commandFor(isolatedName(request.device), known->reduced);
        }
        if (isThere) {
          known->isRemembered = true;
          known->test = request.item.fullName();
          known->seconds = std::chrono::duration<double>(Clock::now() - began).count();
          return known;
        }
      }
  Result<Explanation> found = search(given);
  if (!found)
    return found;
  found->test = request.item.fullName();
  found->device = request.device;
  found->probes = prober.probes();
  found->known = prober.known();
  found->seconds = std::chrono::duration<double>(Clock::now() - began).count();
  if (!key.empty() && found->answer != Answer::Unknown)
    cache.keep(key, {{toJson(*found)}});
  return found;
}

Result<Explanation> Explainer::search(const Prepared &given) {
  Explanation found;
  Result<bool> fails = failsAtAll(given, found);
  if (!fails)
    return fails.error();
  if (*fails)
    if (Status blamed = blameIt(found); !blamed)
      return blamed.error();
  if (*fails && options.bisectPasses)
    bisectPasses(found);
  if (!options.keepFolder.empty() && isEvaluated)
    keepValues(found);
  return found;
}

Result<bool> Explainer::failsAtAll(const Prepared &given, Explanation &found) {
  Result<Prepared> made = withoutChecks(given);
  if (!made)
    return made.error();
  plain = std::move(*made);
  const TensorLists expected = plain->workload.expected;
  const bool isOthersWord =
      !expected.empty() && given.workload.provenance.expectation != kReferencesWord;
  seams.tell("the reference");
  Result<TensorLists> golden = prober.evaluate(*plain);
  isEvaluated = bool(golden);
  if (!golden) {
    found.remarks.push_back("the reference cannot evaluate it: " + golden.message());
    Result<TensorLists> zeros = zerosFor(*plain);
    if (!zeros)
      return zeros.error();
    golden = std::move(*zeros);
  }
  plain->workload.expected = *golden;
  plain->workload.expectsFirst = false;
  plain->workload.noise.clear();
  plain->workload.noiseCenter.clear();
  seams.tell("the whole program");
  uint32_t failures = 0, executions = 0;
  std::optional<TriedPiece> first;
  auto execute = [&](uint32_t times) -> Status {
    for (; executions < times; ++executions) {
      Result<TriedPiece> tried = prober.probe(*plain, executions);
      if (!tried)
        return tried.error();
      if (!isEvaluated && !tried->failure)
        tried->passed = true; // What it gave nobody can judge.
      failures += !tried->passed;
      if (!tried->passed && !first)
        first = *tried;
    }
    return {};
  };
  if (Status done = execute(1); !done)
    return done.error();
  if (first && first->failure && first->failure->kind == name(ErrorCode::NeedsMoreDevices))
    return Error{ErrorCode::NeedsMoreDevices, first->sentence};
  // One that hangs costs its whole deadline each time.
  bool isHanging = first && first->failure && first->failure->outcome == "timed out";
  if (Status done = execute(isHanging ? 1 : 3); !done)
    return done.error();
  if (failures && failures < executions)
    if (Status done = execute(options.tries); !done)
      return done.error();
  auto itFails = [&] {
    failure = *first;
    const bool isTimeOut = failure.failure && failure.failure->outcome == "timed out";
    prober.awaitStage(isTimeOut ? failure.failure->stage : Prober::kNoStage);
    found.outcome = failure.failure ? failure.failure->outcome : "incorrect";
    found.stage = failure.failure ? failure.failure->stage : "compare";
    if (failures < executions) {
      found.failures = failures;
      found.executions = executions;
      double rate = double(failures) / executions;
      triesOfEach = uint32_t(
          std::clamp(std::ceil(std::log(0.01) / std::log(1 - rate)), double(kTriesOfFlaky),
                     double(kMostTries)));
    }
    return true;
  };
  if (first && !first->failure && isOthersWord &&
      isGoldenAlone(expected, given.workload.provenance.expectation, found))
    return false;
  if (first)
    return itFails();
  if (isOthersWord && isEvaluated) {
    // Whether the reference gives what somebody else expects.
    seams.tell("the expected values");
    Result<std::string> differs = prober.describeDifference(*plain, expected, *golden);
    if (differs && !differs->empty()) {
      found.answer = Answer::WrongGolden;
      found.worst = *differs;
      found.sentence = fmt::format(
          "the device agrees with the reference, and both disagree with {}: {}",
          given.workload.provenance.expectation, *differs);
      return false;
    }
  }
  if (seams.runHere && failsOwnChecks(given, found))
    return false;
  // What fails seldom passed so far.
  if (Status done = execute(options.tries); !done)
    return done.error();
  if (first)
    return itFails();
  // What shows over several executions of one executable does not show in one.
  bool isJudged = isEvaluated;
  if (seams.runHere) {
    seams.tell("several executions");
    // Where nobody evaluated it, what is expected is what the test came with.
    Prepared copy = isEvaluated ? plain->clone() : given.clone();
    if (isEvaluated)
      copy.workload.provenance.expectation = kReferencesWord;
    results::TestRecord record = seams.runHere(std::move(copy));
    isJudged |= record.outcome == results::Outcome::Passed;
    bool isOfOne = record.errorClass != kStaleResult && record.errorClass != kNotDeterministic;
    if (results::isFailure(record.outcome) && isOfOne && failsWithOtherInputs(given, found))
      return true;
    // Judged by pieces it may fail, and right as a whole.
    if (results::isFailure(record.outcome) && isOfOne && failsInParts(kPieces, found))
      return false;
    if (results::isFailure(record.outcome) && isOfOne && !isEvaluated) {
      found.answer = Answer::WholeOnly;
      found.outcome = "incorrect";
      found.stage = "compare";
      found.worst = record.message;
      found.sentence =
          "it fails, and without the reference no part of it can be judged: " + record.message;
      return false;
    }
    if (results::isFailure(record.outcome)) {
      failure = TriedPiece{.passed = false, .sentence = record.message};
      failure.errorClass = record.errorClass;
      found.outcome = record.errorClass;
      found.stage = "compare";
      searchHere(found);
      return false;
    }
  }
  // An operation by itself is what such a test is about.
  if (request.isOpByOp() && failsInParts(kEachOperation, found))
    return false;
  if (!isJudged)
    return Error{ErrorCode::Unsupported,
                 "it comes to its end on the device, and nobody can say whether it is right: " +
                     found.remarks.front()};
  found.answer = Answer::Passes;
  found.sentence =
      fmt::format("it passes on this device, {} times of {}: there is nothing to explain",
                  executions, executions);
  return false;
}

/// What differs from execution to execution of one executable is looked for in this process.
void Explainer::searchHere(Explanation &found) {
  found.answer = Answer::NotDeterministic;
  found.worst = failure.sentence;
  found.sentence = "executions of the same program differ: " + failure.sentence;
  BlameSeams here;
  here.memoryBytes = options.memoryBytes;
  here.tell = seams.tell;
  here.evaluate = [&](Prepared &piece) { return prober.evaluate(piece); };
  here.tryOnDevice = [&](Prepared &piece) -> Result<TriedPiece> {
    Prepared copy = piece.clone();
    copy.workload.provenance.expectation = kReferencesWord;
    results::TestRecord record = seams.runHere(std::move(copy));
    bool fails = results::isFailure(record.outcome) && record.errorClass == failure.errorClass;
    return TriedPiece{.passed = !fails, .sentence = record.message};
  };
  Result<bool> any = isAnyProgram(here, found);
  if (any && *any) {
    found.answer = Answer::NotDeterministic;
    found.sentence = "executions of the same program differ: " + found.sentence;
  }
  if (!any || *any)
    return;
  Result<Blame> blame = findBlame(*plain, here, kPieces);
  if (!blame || !blame->program)
    return;
  for (const BlamedOperation &one : blame->operations)
    found.operations.push_back(forPeople(one));
  found.sentence = fmt::format("executions of the same program differ: {}", describe(*blame));
  save(*blame->program, found);
}

BlameSeams Explainer::seamsLike(const TriedPiece &like) {
  BlameSeams made;
  made.memoryBytes = options.memoryBytes;
  made.tell = seams.tell;
  // What does not compile does not need values.
  const bool needsValues = isEvaluated && !(like.failure && like.failure->stage == "compile");
  made.hasValues = needsValues;
  made.evaluate = [this, needsValues](Prepared &piece) {
    return needsValues ? prober.evaluate(piece) : zerosFor(piece);
  };
  auto asTheTest = [like](Result<TriedPiece> tried) {
    // Only what fails as the test did counts.
    if (tried && !tried->passed && !tried->failsLike(like))
      tried->passed = true;
    return tried;
  };
  made.tryOnDevice = [this, asTheTest](Prepared &piece) {
    Result<TriedPiece> tried = asTheTest(prober.probe(piece));
    for (uint32_t i = 1; i < triesOfEach && tried && tried->passed; ++i)
      tried = asTheTest(prober.probe(piece, i));
    return tried;
  };
  made.tryForAnything = [this](Prepared &piece) { return prober.probe(piece); };
  if (triesOfEach == 1)
    made.tryAll = [this, asTheTest](std::span<Prepared *> pieces) {
      std::vector<Result<TriedPiece>> all = prober.probeAll(pieces);
      for (Result<TriedPiece> &one : all)
        one = asTheTest(std::move(one));
      return all;
    };
  return made;
}

Status Explainer::blameIt(Explanation &found) {
  found.worst = failure.sentence;
  found.pcc = failure.pcc;
  found.maxAbsolute = failure.maxAbsolute;
  found.relativeL2 = failure.relativeL2;
  found.picture = failure.picture;
  found.result = uint32_t(failure.output);
  Result<bool> any = isAnyProgram(seamsLike(failure), found);
  if (!any)
    return any.error();
  if (*any)
    return {};
  Result<Blame> blame = findBlame(*plain, seamsLike(failure), kPieces);
  if (blame && triesOfEach == 1 && failsNowAndThen(*blame)) {
    triesOfEach = kTriesOfFlaky;
    Result<Blame> again = findBlame(*plain, seamsLike(failure), kPieces);
    if (!again || !again->program)
      triesOfEach = 1; // It is none that fails now and then.
    if (again && (again->program || !blame->program))
      blame = std::move(again);
  }
  // A part that fails now and then may have passed each time by chance, and what holds it be blamed
  // instead, or nobody. What was tried is known: only further tries cost.
  auto isFound = [](const Blame &one) { return one.program && isAloneGuilty(one); };
  for (uint32_t round = 0;
       blame && triesOfEach > 1 && round < kMoreRounds && !isFound(*blame); ++round) {
    triesOfEach *= 2;
    Result<Blame> again = findBlame(*plain, seamsLike(failure), kPieces);
    if (!again || (blame->program && !again->program))
      break;
    blame = std::move(again);
  }
  if (!blame) {
    found.sentence = "it fails, and cannot be taken apart: " + blame.message();
    found.answer = Answer::WholeOnly;
    nameUncut(found);
    save(*plain, found);
    return {};
  }
  if (blame->program && blame->tried.failure.has_value() != failure.failure.has_value()) {
    // A loop without an end, for something in it: what is left of the test fails as that does.
    found.remarks.push_back("because of it the loop does not come to its end");
    failure = blame->tried;
  }
  tell(*blame, found);
  nameUncut(found);
  if (blame->kind == Blame::Kind::Operation && blame->onlyIn.empty() && !blame->tried.failure &&
      triesOfEach == 1) {
    tryOtherValues(*blame->program, found);
    if (found.answer == Answer::OperationAlone)
      trySiblings(*blame, found);
  }
  if (blame->kind == Blame::Kind::Accumulation && !failure.failure)
    measureDepths(found);
  if (blame->program)
    confirm(*blame->program, found);
  save(blame->program ? *blame->program : *plain, found);
  return {};
}

/// Nobody is blamed for what happened once: the smallest program runs again, and its rate is stated
/// where it does not fail each time.
void Explainer::confirm(Prepared &program, Explanation &found) {
  if (failure.failure && failure.failure->outcome == "timed out")
    return; // Each time costs the whole deadline.
  uint32_t asked = 0, failures = 0, executions = 0;
  auto execute = [&](uint32_t times) {
    for (; asked < times; ++asked)
      if (Result<TriedPiece> tried = prober.probe(program, asked); tried) { // What nobody could try did not pass.
        ++executions;
        failures += !tried->passed;
      }
  };
  execute(kTimesToBeSure);
  if (failures == executions && triesOfEach == 1)
    return;
  execute(options.tries);
  if (failures == executions && !found.executions)
    return;
  found.remarks.push_back(
      fmt::format("what is to blame fails {} of {} times", failures, executions));
  if (!found.executions) {
    found.failures = failures;
    found.executions = executions;
  }
  if (!failure.failure)
    found.answer = Answer::NotDeterministic;
}

void Explainer::tell(const Blame &blame, Explanation &found) {
  for (const BlamedOperation &one : blame.operations)
    found.operations.push_back(forPeople(one));
  found.inside = blame.inside;
  if (!blame.onlyIn.empty())
    found.remarks.push_back(fmt::format("it fails {} only", blame.onlyIn));
  found.sentence = describe(blame);
  if (!blame.operations.empty()) {
    found.worst = blame.sentence;
    found.pcc = blame.tried.pcc;
    found.maxAbsolute = blame.tried.maxAbsolute;
    found.relativeL2 = blame.tried.relativeL2;
    found.picture = blame.tried.picture;
    found.result = uint32_t(blame.tried.output);
  }
  switch (blame.kind) {
  case Blame::Kind::Operation:
    found.answer = blame.onlyIn.empty() ? Answer::OperationAlone : Answer::InContext;
    break;
  case Blame::Kind::Group:
    found.answer = Answer::Neighbours;
    if (blame.firstWrong)
      found.remarks.push_back(fmt::format("the first wrong value among them is the result of {} ({})",
                                          blame.firstWrong->name, blame.firstWrong->place));
    break;
  case Blame::Kind::Context:
    found.answer = Answer::InContext;
    found.result = 0; // Results are counted by operation there.
    break;
  case Blame::Kind::Accumulation:
    found.answer = blame.tried.failure || blame.needsCalls ? Answer::WholeOnly : Answer::Accumulates;
    if (blame.needsCalls)
      found.sentence = "it fails as it stands, and no more once its calls are put in line: how the "
                       "device handles calls is to blame";
    else if (blame.tried.failure)
      found.sentence = "it fails as a whole, and no small part of it does: " + blame.sentence;
    break;
  }
}

void Explainer::save(Prepared &program, Explanation &found) {
  kept = program.clone();
  if (options.reducedFolder.empty())
    return;
  program.workload.name = request.item.id + ", reduced";
  program.workload.provenance.outcome = found.outcome;
  program.workload.provenance.stage = found.stage;
  program.workload.provenance.message = found.worst;
  program.workload.provenance.device = request.device;
  program.workload.provenance.expectation = kReferencesWord;
  if (!isEvaluated)
    program.workload.expected.clear();
  Status saved = seams.save(program, options.reducedFolder);
  if (!saved) {
    found.remarks.push_back("the smallest program is not saved: " + saved.message());
    return;
  }
  found.reduced = options.reducedFolder;
  found.command = commandFor(isolatedName(request.device), found.reduced);
}

} // namespace cupel::testbench::worker
