#include "cupel/testbench/worker/Reduce.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/tensor/Convert.h"
#include "cupel/testbench/worker/Reproduction.h"
#include "cupel/testbench/worker/ShrinkShapes.h"
#include "cupel/testbench/worker/Trials.h"

#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cupel::testbench::worker {

using tensor::Tensor;
using Answer = results::Explanation::Answer;
using Clock = std::chrono::steady_clock;

std::string Reduction::Size::text() const {
  return fmt::format("{} operation{}, {} argument{}, {} result{}, {} elements", operations,
                     operations == 1 ? "" : "s", arguments, arguments == 1 ? "" : "s", results,
                     results == 1 ? "" : "s", elements);
}

Reduction::Size sizeOf(const Prepared &program) {
  Reduction::Size size;
  size.operations = operationsOf(program.program()).size();
  if (auto module = mlir::cast<mlir::ModuleOp>(program.program().module))
    size.operations += operationsInControlFlow(compiler::entryOf(module)).size();
  size.arguments = program.program().arguments.size();
  size.results = program.program().results.size();
  for (const auto *types : {&program.program().arguments, &program.program().results})
    for (const ValueType &type : *types) {
      uint64_t count = 1;
      for (int64_t extent : type.shape)
        count *= uint64_t(std::max<int64_t>(extent, 0));
      size.elements += count;
    }
  return size;
}

std::string toJson(const Reduction &reduction) {
  auto sizes = [](const Reduction::Size &size) {
    return nlohmann::ordered_json{{"operations", size.operations},
                                  {"arguments", size.arguments},
                                  {"results", size.results},
                                  {"elements", size.elements}};
  };
  nlohmann::ordered_json json = {
      {"before", sizes(reduction.before)},
      {"after", sizes(reduction.after)},
      {"files", reduction.files},
      {"probes", reduction.probes},
      {"known", reduction.known},
      {"seconds", reduction.seconds},
      {"explanation", nlohmann::ordered_json::parse(toJson(reduction.explanation))}};
  if (!reduction.remarks.empty())
    json["remarks"] = reduction.remarks;
  if (reduction.isTimedOut)
    json["timed_out"] = true;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

Reducer::Reducer(const Request &request, Device &reference, ReduceOptions given,
                 Explainer::Seams seams)
    : request(request), options(std::move(given)), seams(seams),
      explainer(request, reference, options.explain, std::move(seams)), began(Clock::now()) {}

bool Reducer::isOver() const {
  return options.seconds > 0 &&
         std::chrono::duration<double>(Clock::now() - began).count() > options.seconds;
}

Result<Reduction> Reducer::reduce(const Prepared &given) {
  Result<results::Explanation> found = explainer.explain(given);
  if (!found)
    return found.error();
  if (found->answer == Answer::Passes || found->answer == Answer::WrongGolden)
    return Error{found->sentence};
  if (!explainer.smallest())
    return Error{"there is no program to reduce: " + found->sentence};
  reduction.explanation = *found;
  reduction.before = sizeOf(given);
  // Calls are part of the program.
  reduction.before.operations = std::max(reduction.before.operations,
                                         sizeOf(*explainer.plainTest()).operations);
  best = explainer.smallest()->clone();
  if (Status saved = save(); !saved)
    return saved.error();
  // What shows over several executions only cannot be tried in one.
  const bool canShrink = found->answer != Answer::NotDeterministic;
  for (bool goesOn = canShrink; goesOn && !isOver();) {
    goesOn = false;
    for (auto step : {&Reducer::leaveOperationsAway, &Reducer::leaveResultsAway,
                      &Reducer::simplifyRegions, &Reducer::shrinkShapes, &Reducer::simplifyInputs,
                      &Reducer::simplifyConstants}) {
      if (isOver())
        break;
      Result<bool> smaller = (this->*step)();
      if (!smaller)
        return smaller.error();
      goesOn |= *smaller;
      if (*smaller)
        if (Status saved = save(); !saved)
          return saved.error();
    }
  }
  reduction.isTimedOut = isOver();
  reduction.after = sizeOf(*best);
  reduction.probes = explainer.probing().probes();
  reduction.known = explainer.probing().known();
  reduction.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  reduction.explanation.reduced = options.folder + "/workload";
  Reproduction made = writeReproduction(*best, request, reduction.explanation,
                                        explainer.failureOfTest(), options.folder);
  reduction.files = std::move(made.files);
  reduction.remarks = std::move(made.remarks);
  return std::move(reduction);
}

Status Reducer::save() {
  workload::Provenance &origin = best->workload.provenance;
  best->workload.name = request.item.id + ", reduced";
  origin.expectation = kReferencesWord;
  origin.outcome = reduction.explanation.outcome;
  origin.stage = reduction.explanation.stage;
  origin.message = reduction.explanation.worst;
  origin.device = request.device;
  Prepared copy = best->clone();
  return seams.save(copy, options.folder + "/workload");
}

Result<bool> Reducer::takeFirst(Candidates candidates, const std::string &what) {
  BlameSeams like = explainer.seamsForSearch();
  seams.tell(fmt::format("{}: {}", sizeOf(*best).text(), what));
  size_t atOnce = std::max<size_t>(1, like.tryAll ? explainer.probing().jobs() : 1);
  for (size_t begin = 0; begin < candidates.size() && !isOver(); begin += atOnce) {
    std::vector<Prepared *> batch;
    for (size_t i = begin; i < std::min(candidates.size(), begin + atOnce); ++i) {
      Result<TensorLists> expected = like.evaluate(candidates[i]);
      if (!expected || expected->front().empty())
        continue;
      candidates[i].workload.expected = std::move(*expected);
      candidates[i].workload.noise.clear();
      candidates[i].workload.noiseCenter.clear();
      batch.push_back(&candidates[i]);
    }
    std::vector<Result<TriedPiece>> tried;
    if (like.tryAll)
      tried = like.tryAll(batch);
    else
      for (Prepared *one : batch)
        tried.push_back(like.tryOnDevice(*one));
    for (size_t i = 0; i < batch.size(); ++i) {
      if (!tried[i])
        return tried[i].error();
      if (!tried[i]->passed) {
        best = std::move(*batch[i]);
        return true;
      }
    }
  }
  return false;
}

Result<bool> Reducer::leaveOperationsAway() {
  BlameSeams like = explainer.seamsForSearch();
  Result<Intermediates> all =
      Intermediates::of(*best, like.evaluate, options.explain.memoryBytes);
  if (!all || all->size() < 2)
    return false;
  Blame blame;
  like.tell = [this](const std::string &line) { seams.tell(sizeOf(*best).text() + ": " + line); };
  Result<std::vector<size_t>> chosen =
      smallestChoice(*all, like, compiler::Gives::WhatIsNeeded, blame);
  if (!chosen)
    return chosen.error();
  if (chosen->size() == all->size())
    return false;
  Result<Prepared> smaller = all->select(*chosen);
  if (!smaller)
    return smaller.error();
  best = std::move(*smaller);
  return true;
}

Result<bool> Reducer::leaveResultsAway() {
  size_t count = best->program().results.size();
  Candidates candidates;
  for (size_t kept = 0; count > 1 && kept < count; ++kept) {
    Prepared one = best->clone();
    mlir::func::FuncOp entry = compiler::entryOf(*one.read->module);
    mlir::Operation *end = entry.getBody().front().getTerminator();
    mlir::Value value = end->getOperand(unsigned(kept));
    end->setOperands({value});
    entry.setFunctionType(mlir::FunctionType::get(entry.getContext(), entry.getArgumentTypes(),
                                                  {value.getType()}));
    entry.removeResAttrsAttr();
    Program described = one.read->program;
    one.read->program = {};
    if (!ProgramReader::describe(*one.read, described.name))
      continue;
    one.read->program.runLike(described);
    one.workload.expected.clear();
    candidates.push_back(std::move(one));
  }
  return takeFirst(std::move(candidates), "fewer results");
}

Result<bool> Reducer::shrinkShapes() {
  bool isSmaller = false;
  // All at once, then each alone, from the largest on.
  {
    ShapeClasses classes(*best);
    Candidates candidates;
    for (int64_t size : {1, 2, 4}) {
      std::vector<std::pair<size_t, int64_t>> sizes;
      for (size_t i = 0; i < classes.classes().size(); ++i)
        if (classes.classes()[i].size > size)
          sizes.emplace_back(i, size);
      if (sizes.size() > 1)
        if (std::optional<Prepared> smaller = classes.shrunk(sizes))
          candidates.push_back(std::move(*smaller));
    }
    Result<bool> taken = takeFirst(std::move(candidates), "smaller tensors");
    if (!taken)
      return taken.error();
    isSmaller |= *taken;
  }
  for (size_t i = 0; !isOver(); ++i) {
    ShapeClasses classes(*best);
    if (i >= classes.classes().size())
      break;
    int64_t size = classes.classes()[i].size;
    Candidates candidates;
    for (int64_t target : {int64_t(1), int64_t(2), int64_t(3), size / 4, size / 2})
      if (target > 0 && target < size)
        if (std::optional<Prepared> smaller = classes.shrunk({{i, target}}))
          candidates.push_back(std::move(*smaller));
    Result<bool> taken =
        takeFirst(std::move(candidates), fmt::format("smaller than {} along one size", size));
    if (!taken)
      return taken.error();
    isSmaller |= *taken;
  }
  return isSmaller;
}

namespace {

/// Simpler values of the same type: zeros, ones, small numbers, and the given ones with few digits.
std::vector<Tensor> simplerThan(const Tensor &given) {
  std::vector<Tensor> simpler;
  auto of = [&](auto valueAt) {
    tensor::Shape shape(given.shape().begin(), given.shape().end());
    Result<Tensor> wide = Tensor::uninitialized(tensor::DType::F64, std::move(shape));
    if (!wide)
      return;
    for (int64_t i = 0; i < wide->size(); ++i)
      wide->mutableAs<double>()[i] = valueAt(i);
    Result<Tensor> made = tensor::convert(*wide, given.dtype());
    if (made)
      simpler.push_back(std::move(*made));
  };
  of([](int64_t) { return 0.0; });
  of([](int64_t) { return 1.0; });
  of([](int64_t i) { return double(i % 8 + 1); });
  if (!tensor::isFloat(given.dtype()))
    return simpler;
  if (Result<Tensor> wide = tensor::convert(given, tensor::DType::F64)) {
    const auto *begin = reinterpret_cast<const double *>(wide->data());
    std::vector<double> values(begin, begin + wide->size());
    of([&](int64_t i) { return std::round(values[size_t(i)]); });
    of([&](int64_t i) { return std::round(values[size_t(i)] * 8) / 8; });
  }
  return simpler;
}

bool isSame(const Tensor &a, const Tensor &b) {
  Result<Tensor> x = a.contiguous(), y = b.contiguous();
  return x && y && x->byteSize() == y->byteSize() &&
         std::memcmp(x->data(), y->data(), size_t(x->byteSize())) == 0;
}

} // namespace

Result<bool> Reducer::simplifyInputs() {
  bool isSimpler = false;
  size_t count = best->workload.inputs.empty() ? 0 : best->workload.inputs.front().size();
  for (size_t i = 0; i < count && !isOver(); ++i) {
    const Tensor given = best->workload.inputs.front()[i];
    if (given.elementType().quantization || tensor::isComplex(given.dtype()))
      continue;
    Candidates candidates;
    for (const Tensor &simple : simplerThan(given)) {
      // What is as simple already is not tried again, nor anything less simple.
      if (isSame(simple, given))
        break;
      Prepared &one = candidates.emplace_back(best->clone());
      for (std::vector<Tensor> &list : one.workload.inputs)
        list[i] = simple;
    }
    Result<bool> taken = takeFirst(std::move(candidates), fmt::format("simpler input {}", i));
    if (!taken)
      return taken.error();
    isSimpler |= *taken;
  }
  return isSimpler;
}

Result<bool> Reducer::simplifyConstants() {
  Candidates candidates;
  size_t number = 0;
  auto countConstants = [&](mlir::Operation *op) {
    number += op->hasTrait<mlir::OpTrait::ConstantLike>();
  };
  compiler::entryOf(*best->read->module).walk(countConstants);
  for (size_t wanted = 0; wanted < number; ++wanted) {
    Prepared one = best->clone();
    size_t at = 0;
    bool isChanged = false;
    compiler::entryOf(*one.read->module).walk([&](mlir::Operation *constant) {
      if (!constant->hasTrait<mlir::OpTrait::ConstantLike>())
        return;
      auto values = constant->getAttrOfType<mlir::DenseElementsAttr>("value");
      if (at++ != wanted || !values || values.isSplat() || values.getNumElements() < 2)
        return;
      constant->setAttr("value", mlir::DenseElementsAttr::get(
                                     values.getType(), *values.getValues<mlir::Attribute>().begin()));
      isChanged = true;
    });
    if (isChanged)
      candidates.push_back(std::move(one));
  }
  return takeFirst(std::move(candidates), "simpler constants");
}

} // namespace cupel::testbench::worker
