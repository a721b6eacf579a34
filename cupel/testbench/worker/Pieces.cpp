#include "cupel/testbench/worker/Pieces.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/passes/CutIntoPieces.h"
#include "cupel/compiler/passes/WhatResultsShow.h"
#include "cupel/reference/Plan.h"

#include <algorithm>
#include <fmt/format.h>

namespace cupel::testbench::worker {

using tensor::Tensor;

Result<Pieces> Pieces::of(const Prepared &whole, uint32_t count, compiler::Counts counts,
                          const std::vector<bool> &tells) {
  return cutBy(whole, count, counts, tells);
}

Result<Pieces> Pieces::at(const Prepared &whole, std::vector<size_t> ends) {
  return cutBy(whole, ends, compiler::Counts::WhatIsNotMoved, {});
}

Result<std::vector<std::vector<Tensor>>> inputsByProcess(const Prepared &whole, size_t processes) {
  const workload::Workload &workload = whole.workload;
  if (workload.options.deviceCount() > 1 && workload.options.deviceCount() != processes)
    return Error{ErrorCode::Unsupported, "its devices hold pieces of whole tensors"};
  if (workload.inputs.size() > 1 && workload.inputs.size() != processes)
    return Error{ErrorCode::Unsupported,
                 fmt::format("it has inputs for {} devices and runs in {} processes",
                             workload.inputs.size(), processes)};
  std::vector<std::vector<Tensor>> values;
  for (size_t i = 0; !workload.inputs.empty() && i < workload.inputs.front().size(); ++i) {
    // Of a program that says how arguments are split, devices are given parts of them.
    if (workload.inputs.size() > 1 && i < whole.program().arguments.size()) {
      const tensor::Shape &asked = whole.program().arguments[i].shape;
      if (std::ranges::all_of(asked, [](int64_t size) { return size >= 0; }) &&
          !std::ranges::equal(asked, workload.inputs.front()[i].shape()))
        return Error{ErrorCode::Unsupported, "its devices hold pieces of whole tensors"};
    }
    std::vector<Tensor> &each = values.emplace_back();
    for (size_t p = 0; p < processes; ++p)
      each.push_back(workload.inputs[workload.inputs.size() > 1 ? p : 0][i]);
  }
  return values;
}

Prepared partOf(const Prepared &whole, std::unique_ptr<ProgramReader::Read> read,
                const std::vector<std::vector<Tensor>> &values) {
  Prepared part{std::move(read), {}, whole.budget};
  // A part that does not communicate runs in as many processes as the whole.
  Program &program = part.read->program;
  program.runLike(whole.program());
  part.workload.name = program.name;
  part.workload.provenance = whole.workload.provenance;
  part.workload.provenance.expectation.clear();
  size_t processes = size_t(program.replicas) * program.partitions;
  for (size_t p = 0; p < processes; ++p) {
    std::vector<Tensor> &inputs = part.workload.inputs.emplace_back();
    for (const std::vector<Tensor> &value : values)
      inputs.push_back(value[p]);
  }
  return part;
}

Result<Pieces> Pieces::cutBy(const Prepared &whole, const auto &how, compiler::Counts counts,
                             const std::vector<bool> &tells) {
  const Program &program = whole.program();
  if (program.selfChecking || !whole.workload.checks.empty())
    return Error{ErrorCode::Unsupported, "it checks itself"};
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::cast<mlir::ModuleOp>(program.module).clone();
  mlir::func::FuncOp entry = compiler::entryOf(*module);
  if (!entry || entry.isExternal())
    return Error{ErrorCode::Unsupported, "it has no entry function"};
  if (!compiler::makeOneList(entry))
    return Error{ErrorCode::Unsupported, "its calls cannot be put in line"};
  const std::vector<bool> hides = compiler::operationsThatHide(entry, tells, counts);
  auto cut = compiler::cutIntoPieces(entry, how, counts);
  if (mlir::failed(cut))
    return Error{ErrorCode::Unsupported, "its calls cannot be put in line"};

  Pieces pieces;
  pieces.whole = &whole;
  pieces.processes = size_t(program.replicas) * program.partitions;
  Result<std::vector<std::vector<Tensor>>> inputs = inputsByProcess(whole, pieces.processes);
  if (!inputs)
    return inputs.error();
  pieces.values = std::move(*inputs);
  for (size_t k = 0; k < cut->size(); ++k) {
    compiler::ProgramPiece &piece = (*cut)[k];
    // Nothing can be said of a piece that gives nothing.
    if (piece.function.getNumResults() == 0)
      continue;
    Piece made{std::make_unique<ProgramReader::Read>(), std::move(piece.takes), piece.gives,
               reference::describeLocation(piece.function.getLoc()),
               std::find(hides.begin() + ptrdiff_t(piece.begin), hides.begin() + ptrdiff_t(piece.end),
                         true) != hides.begin() + ptrdiff_t(piece.end)};
    made.read->module = compiler::programOf(piece);
    std::string name = fmt::format("{}, piece {}", program.name, pieces.cut.size() + 1);
    if (Status status = ProgramReader::describe(*made.read, name); !status)
      return status.error();
    for (const ValueType &result : made.read->program.results)
      if (!result.isTensor)
        return Error{ErrorCode::Unsupported, "it gives something that is not a tensor"};
    size_t end = made.gives + made.read->program.results.size();
    pieces.lastTaker.resize(std::max(pieces.lastTaker.size(), end));
    for (uint32_t number : made.takes)
      pieces.lastTaker[number] = pieces.cut.size();
    pieces.cut.push_back(std::move(made));
  }
  pieces.values.resize(std::max(pieces.values.size(), pieces.lastTaker.size()));
  return pieces;
}

std::string Pieces::describeNext() const {
  return fmt::format("piece {} of {} ({})", given + 1, cut.size(), cut[given].place);
}

size_t Pieces::hidingLeft() const {
  return size_t(std::count_if(cut.begin() + ptrdiff_t(given), cut.end(),
                              [](const Piece &piece) { return piece.hides; }));
}

std::optional<Prepared> Pieces::next() {
  if (given == cut.size())
    return {};
  Piece &piece = cut[given];
  std::vector<std::vector<Tensor>> inputs;
  for (uint32_t number : piece.takes) {
    inputs.push_back(values[number]);
    if (lastTaker[number] == given)
      values[number].clear();
  }
  ++given;
  return partOf(*whole, std::move(piece.read), inputs);
}

void Pieces::setResults(const std::vector<Tensor> &results) {
  const Piece &piece = cut[given - 1];
  const size_t count = results.size() / processes;
  for (size_t i = 0; i < count; ++i)
    if (lastTaker[piece.gives + i] >= given)
      for (size_t p = 0; p < processes; ++p)
        values[piece.gives + i].push_back(results[p * count + i]);
}

} // namespace cupel::testbench::worker
