#include "cupel/testbench/worker/Pieces.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/passes/CutIntoPieces.h"
#include "cupel/reference/Plan.h"

#include <fmt/format.h>

namespace cupel::testbench::worker {

using tensor::Tensor;

Result<Pieces> Pieces::of(const Prepared &whole, uint32_t count) { return cutBy(whole, count); }

Result<Pieces> Pieces::at(const Prepared &whole, std::vector<size_t> ends) {
  return cutBy(whole, ends);
}

Result<Pieces> Pieces::cutBy(const Prepared &whole, const auto &how) {
  const Program &program = whole.program();
  if (uint64_t(program.replicas) * program.partitions != 1 || whole.workload.inputs.size() > 1 ||
      whole.workload.options.deviceCount() > 1)
    return Error{ErrorCode::Unsupported, "it runs on several devices"};
  if (program.selfChecking || !whole.workload.checks.empty())
    return Error{ErrorCode::Unsupported, "it checks itself"};
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::cast<mlir::ModuleOp>(program.module).clone();
  mlir::func::FuncOp entry = compiler::entryOf(*module);
  if (!entry || entry.isExternal())
    return Error{ErrorCode::Unsupported, "it has no entry function"};
  auto cut = compiler::cutIntoPieces(entry, how);
  if (mlir::failed(cut))
    return Error{ErrorCode::Unsupported, "its calls cannot be put in line"};

  Pieces pieces;
  pieces.whole = &whole;
  if (!whole.workload.inputs.empty())
    for (const Tensor &input : whole.workload.inputs.front())
      pieces.values.emplace_back(input);
  for (compiler::ProgramPiece &piece : *cut) {
    // Nothing can be said of a piece that gives nothing.
    if (piece.function.getNumResults() == 0)
      continue;
    Piece made{std::make_unique<ProgramReader::Read>(), std::move(piece.takes), piece.gives,
               reference::describeLocation(piece.function.getLoc())};
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

std::optional<Prepared> Pieces::next() {
  if (given == cut.size())
    return {};
  Piece &piece = cut[given];
  Prepared prepared{std::move(piece.read), {}, whole->budget};
  prepared.workload.name = prepared.program().name;
  prepared.workload.provenance = whole->workload.provenance;
  prepared.workload.provenance.expectation.clear();
  std::vector<Tensor> inputs;
  for (uint32_t number : piece.takes) {
    inputs.push_back(*values[number]);
    if (lastTaker[number] == given)
      values[number].reset();
  }
  prepared.workload.inputs.push_back(std::move(inputs));
  ++given;
  return prepared;
}

void Pieces::setResults(const std::vector<Tensor> &results) {
  const Piece &piece = cut[given - 1];
  for (size_t i = 0; i < results.size(); ++i)
    if (lastTaker[piece.gives + i] >= given)
      values[piece.gives + i] = results[i];
}

} // namespace cupel::testbench::worker
