#include "cupel/testbench/worker/OpByOp.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/passes/CutIntoPieces.h"
#include "cupel/compiler/passes/InlineCalls.h"
#include "cupel/ir/portable/PrintProgram.h"
#include "cupel/support/Files.h"
#include "cupel/support/Sha256.h"
#include "cupel/tensor/Fill.h"
#include "cupel/testbench/worker/Spread.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/AsmState.h>

namespace cupel::testbench::worker {

namespace fs = std::filesystem;
using results::OpRecord;
using results::OpStatus;
using results::OpTable;
using results::OpTensor;
using tensor::Tensor;

namespace {

/// Constants beyond this are not printed.
constexpr int64_t kPrintedElements = 1024;
/// How long the table on disk may be behind.
constexpr std::chrono::seconds kBehind{2};

template <typename T> std::string printed(const T &thing) {
  std::string text;
  llvm::raw_string_ostream(text) << thing;
  return text;
}

OpTensor tensorOf(mlir::Type type) {
  OpTensor result;
  if (auto ranked = mlir::dyn_cast<mlir::RankedTensorType>(type)) {
    result.shape.assign(ranked.getShape().begin(), ranked.getShape().end());
    result.type = printed(ranked.getElementType());
  } else {
    result.type = printed(type);
  }
  return result;
}

/// `4x8xf32`.
std::string shortType(const OpTensor &tensor) {
  std::string shape = tensor.shapeText();
  return shape.empty() ? tensor.type : shape + "x" + tensor.type;
}

/// An operation as people call it; what stands for many is told apart by what it stands for.
std::string nameOf(mlir::Operation *op) {
  std::string name = op->getName().getStringRef().str();
  for (const char *attribute : {"name", "call_target_name"})
    if (auto what = op->getAttrOfType<mlir::StringAttr>(attribute);
        what && op->getName().getDialectNamespace() == "stablehlo")
      name += " " + what.getValue().str();
  return name;
}

/// The call of PyTorch that an operation was lowered from, as its frontend names it: `NAME
/// aten.add.Tensor`. Nothing where there is none, whatever else the place is called.
std::string callOf(mlir::Operation *op) {
  auto name = op->getLoc()->findInstanceOf<mlir::NameLoc>();
  if (!name)
    return "";
  llvm::StringRef target = name.getName().getValue().rsplit(' ').second;
  return target.count('.') >= 2 ? name.getName().str() : "";
}

mlir::OpPrintingFlags plainly() {
  mlir::OpPrintingFlags flags;
  flags.enableDebugInfo(false);
  flags.elideLargeElementsAttrs(kPrintedElements);
  return flags;
}

std::vector<std::string> shapesOf(mlir::TypeRange types) {
  std::vector<std::string> shapes;
  for (mlir::Type type : types)
    shapes.push_back(tensorOf(type).shapeText());
  return shapes;
}

/// The operations of a piece in StableHLO, as rows.
std::vector<results::StablehloOp> rowsOf(mlir::ModuleOp module,
                                         const std::vector<mlir::Operation *> &ops) {
  std::vector<results::StablehloOp> rows;
  mlir::AsmState state(module, plainly());
  auto named = [&](mlir::Value value) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    value.printAsOperand(stream, state);
    return text;
  };
  for (mlir::Operation *op : ops) {
    results::StablehloOp &row = rows.emplace_back();
    row.name = op->getName().getStringRef().str();
    for (mlir::Value value : op->getResults())
      row.output += (row.output.empty() ? "" : ", ") + named(value);
    for (mlir::Value value : op->getOperands())
      row.arguments.push_back(named(value));
    for (mlir::NamedAttribute attribute : op->getAttrs()) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      attribute.getValue().print(stream, state);
      row.attributes += (row.attributes.empty() ? "" : ", ") + attribute.getName().str() + " = " +
                        text.substr(0, 200);
    }
    row.inputShapes = shapesOf(op->getOperandTypes());
    row.outputShapes = shapesOf(op->getResultTypes());
    llvm::raw_string_ostream stream(row.text);
    op->print(stream, state);
  }
  return rows;
}

/// What one piece is, without anything that happened to it.
OpRecord describePiece(const Program &program, bool byCalls) {
  auto module = mlir::cast<mlir::ModuleOp>(program.module);
  mlir::func::FuncOp entry = compiler::entryOf(module);
  std::vector<mlir::Operation *> ops = compiler::countedOperations(entry);
  OpRecord op;
  for (mlir::Operation *one : ops)
    op.name += (op.name.empty() ? "" : " + ") + nameOf(one);
  if (ops.size() > 8)
    op.name = fmt::format("{} + {} more", nameOf(ops.front()), ops.size() - 1);
  if (byCalls && !ops.empty()) {
    std::string call = callOf(ops.front());
    op.frameworkName = call.substr(call.rfind(' ') + 1);
  }
  // Of one operation what it takes, constants too; of several what is not theirs.
  mlir::TypeRange taken = ops.size() == 1 ? mlir::TypeRange(ops.front()->getOperandTypes())
                                          : mlir::TypeRange(entry.getArgumentTypes());
  for (mlir::Type type : taken)
    op.inputs.push_back(tensorOf(type));
  for (mlir::Type type : entry.getResultTypes())
    op.outputs.push_back(tensorOf(type));
  op.stablehloOps = rowsOf(module, ops);
  {
    llvm::raw_string_ostream stream(op.stablehloGraph);
    ir::printProgram(module, stream, plainly());
  }

  // Two operations are the same one if they say the same: types, attributes, constants.
  Sha256 sum;
  sum.update(op.stablehloGraph);
  bool saysMore = ops.size() != 1;
  module->walk([&](mlir::Operation *one) {
    if (one == entry.getOperation() || one == module.getOperation())
      return;
    bool isPlain = one->getAttrs().empty() && one->getNumRegions() == 0;
    saysMore |= !isPlain;
    for (mlir::NamedAttribute attribute : one->getAttrs())
      if (auto dense = mlir::dyn_cast<mlir::DenseElementsAttr>(attribute.getValue());
          dense && dense.getNumElements() > kPrintedElements)
        sum.update({dense.getRawData().data(), dense.getRawData().size()});
  });
  op.key = op.frameworkName.empty() ? op.name : op.frameworkName;
  for (const OpTensor &input : op.inputs)
    op.key += "_" + shortType(input);
  // What it gives follows from what it takes, or is said.
  bool isOfOneType = !op.inputs.empty();
  for (const OpTensor &output : op.outputs)
    isOfOneType &= !op.inputs.empty() && output == op.inputs.front();
  if (!isOfOneType)
    for (const OpTensor &output : op.outputs)
      op.key += (&output == op.outputs.data() ? "_to_" : "_") + shortType(output);
  if (saysMore)
    op.key += "_#" + sum.finish().substr(0, 10);
  return op;
}

/// Where calls of the framework end, among the operations that can be parted; none where a value
/// between two of them cannot be handed on.
std::vector<size_t> endsOfCalls(mlir::func::FuncOp entry) {
  std::vector<mlir::Operation *> ops = compiler::countedOperations(entry);
  std::vector<size_t> ends;
  for (size_t i = 0; i < ops.size(); ++i) {
    for (mlir::Type type : ops[i]->getResultTypes())
      if (auto ranked = mlir::dyn_cast<mlir::RankedTensorType>(type);
          !ranked || !ranked.hasStaticShape())
        return {};
    std::string call = callOf(ops[i]);
    if (i + 1 == ops.size() || call.empty() || call != callOf(ops[i + 1]))
      ends.push_back(i + 1);
  }
  return ends;
}

/// The program as one list of operations that checks nothing itself.
Result<Prepared> flatten(const Prepared &whole) {
  auto read = std::make_unique<ProgramReader::Read>();
  read->module = mlir::cast<mlir::ModuleOp>(whole.program().module).clone();
  mlir::func::FuncOp entry = compiler::entryOf(*read->module);
  if (!entry || entry.isExternal())
    return Error{ErrorCode::Unsupported, "it has no entry function"};
  if (!entry.getBody().hasOneBlock() || !compiler::inlineCalls(entry))
    return Error{ErrorCode::Unsupported, "its calls cannot be put in line"};
  std::vector<mlir::Operation *> checks;
  read->module->walk([&](mlir::Operation *op) {
    if (op->getName().getDialectNamespace() == "check")
      checks.push_back(op);
  });
  for (mlir::Operation *op : checks) {
    if (!op->use_empty())
      return Error{ErrorCode::Unsupported, "it computes with its own checks"};
    op->erase();
  }
  if (Status status = ProgramReader::describe(*read, whole.program().name); !status)
    return status.error();
  Prepared flat{std::move(read), whole.workload, whole.budget};
  flat.workload.checks.clear();
  flat.ownInputs = whole.ownInputs;
  return flat;
}

/// Values for the results of a piece that nobody can evaluate.
Result<std::vector<Tensor>> makeUp(const Program &program, uint32_t number) {
  std::vector<Tensor> values;
  for (const ValueType &type : program.results) {
    Result<Tensor> value =
        tensor::randomTensor(type.element, type.shape, tensor::defaultFill(type.element),
                             {.seed = number, .stream = values.size()});
    if (!value)
      return value.error();
    values.push_back(std::move(*value));
  }
  return values;
}

/// `tensor<2x3xf32>` or `f32[2,3]`.
OpTensor parseTensor(std::string text) {
  OpTensor tensor;
  std::string sizes;
  if (text.starts_with("tensor<") && text.ends_with(">")) {
    text = text.substr(7, text.size() - 8);
    size_t at = text.rfind('x');
    tensor.type = at == std::string::npos ? text : text.substr(at + 1);
    sizes = at == std::string::npos ? "" : text.substr(0, at);
    std::ranges::replace(sizes, 'x', ',');
  } else if (size_t open = text.find('['); open != std::string::npos && text.ends_with("]")) {
    tensor.type = text.substr(0, open);
    sizes = text.substr(open + 1, text.size() - open - 2);
  } else {
    tensor.type = text;
  }
  for (size_t at = 0; at < sizes.size();) {
    size_t comma = std::min(sizes.find(',', at), sizes.size());
    tensor.shape.push_back(std::strtoll(sizes.c_str() + at, nullptr, 10));
    at = comma + 1;
  }
  return tensor;
}

/// `aten.add.Tensor`: with its library, its name and its overload. Operators of ONNX have a domain at most.
bool isCallOfTorch(const std::string &op) { return std::ranges::count(op, '.') >= 2; }

/// Whether there is a lowering of a call, which may not take every form of it.
bool isKnown(const std::string &op) {
  static const std::vector<std::string> &known = *[] {
    auto *names = new std::vector<std::string>;
    for (const frontends::ModelFormat &format : frontends::modelFormats())
      if (format.ending == ".pt2" && format.operators)
        for (frontends::KnownOperator &one : format.operators())
          names->push_back(std::move(one.op));
    return names;
  }();
  // The table may name an operator for all of its overloads.
  auto isThere = [&](const std::string &name) {
    return std::ranges::find(known, name) != known.end();
  };
  return isThere(op) || isThere(op.substr(0, op.rfind('.')));
}

} // namespace

OpByOp::OpByOp(OpTable table, std::string file, std::string doneFolder)
    : contents(std::move(table)), file(std::move(file)), doneFolder(std::move(doneFolder)) {}

std::pair<size_t, bool> OpByOp::place(OpRecord op) {
  auto [found, isNew] = places.try_emplace(op.key, contents.ops.size());
  if (isNew) {
    op.index = next;
    contents.ops.push_back(std::move(op));
  } else {
    ++contents.ops[found->second].count;
  }
  ++next;
  return {found->second, isNew};
}

Status OpByOp::add(const Prepared &whole, const OpByOpSeams &seams) {
  Result<Prepared> flat = flatten(whole);
  // Devices get the pieces of what an operation takes, as it lies in the whole.
  if (flat && isSpread(whole))
    flat = gathered(*flat);
  if (!flat)
    return flat.error();
  const bool byCalls = contents.backend == "torch";
  std::vector<size_t> ends;
  if (byCalls)
    ends = endsOfCalls(compiler::entryOf(mlir::cast<mlir::ModuleOp>(flat->program().module)));
  Result<Pieces> pieces = ends.empty() ? Pieces::of(*flat, UINT32_MAX) : Pieces::at(*flat, ends);
  if (!pieces)
    return pieces.error();
  std::vector<std::pair<size_t, bool>> at;
  for (size_t i = 0; i < pieces->size(); ++i)
    at.push_back(place(describePiece(pieces->at(i), byCalls)));
  if (Status status = save(); !status)
    return status;
  std::string lost;
  for (size_t i = 0; i < at.size(); ++i) {
    if (!seams.hasTime())
      break;
    std::optional<Prepared> piece = pieces->next();
    OpRecord &op = contents.ops[at[i].first];
    Result<TensorLists> expected = seams.evaluate(*piece);
    std::string unevaluated = expected ? "" : expected.message();
    if (expected) {
      pieces->setResults(expected->front());
      piece->workload.expected = std::move(*expected);
    } else {
      Result<std::vector<Tensor>> madeUp = makeUp(piece->program(), op.index);
      if (!madeUp)
        return madeUp.error();
      pieces->setResults(*madeUp);
    }
    if (at[i].second && !takeOver(op)) {
      op.status = OpStatus::ConvertedToStablehlo;
      if (!lost.empty())
        op.remark = lost;
      seams.attempt(*piece, op);
      if (!unevaluated.empty())
        op.remark = "the reference cannot evaluate it: " + unevaluated;
      handOn(op);
      if (std::chrono::steady_clock::now() - saved > kBehind)
        if (Status status = save(); !status)
          return status;
    }
    if (!unevaluated.empty() && lost.empty())
      lost = fmt::format("values behind {} (operation {}) are made up", op.name, op.index);
  }
  return save();
}

void OpByOp::add(const frontends::ModelSurvey &survey) {
  for (const frontends::SurveyedNode &node : survey.nodes) {
    OpRecord op;
    op.name = node.op;
    op.frameworkName = node.op;
    op.key = node.op;
    for (const std::string &operand : node.operands) {
      op.inputs.push_back(parseTensor(operand));
      op.key += "_" + shortType(op.inputs.back());
    }
    for (const std::string &result : node.results)
      op.outputs.push_back(parseTensor(result));
    using State = frontends::SurveyedNode::State;
    switch (node.state) {
    case State::Lowered:
      op.status = OpStatus::ConvertedToStablehlo;
      op.remark = "not tried: the model is not lowered as a whole";
      break;
    case State::Folded:
      op.status = OpStatus::ConvertedToStablehlo;
      op.remark = "evaluated while the model was imported";
      break;
    case State::Failed:
      op.status = !isCallOfTorch(node.op) ? OpStatus::CreatedGraph
                  : isKnown(node.op)      ? OpStatus::ConvertedToBackendIr
                                          : OpStatus::ConvertedToTorchIr;
      op.failure = "not lowered";
      op.error = node.failure ? node.failure->message : "it is not lowered";
      break;
    case State::Unreached:
      op.remark = "not reached: an operand comes from an operator that is not lowered";
      break;
    }
    OpStatus status = op.status;
    std::string failure = op.failure, error = op.error, remark = op.remark;
    auto [at, isNew] = place(std::move(op));
    // The same call may fail for its attributes in one place and not in another.
    if (OpRecord &known = contents.ops[at]; !isNew && status < known.status) {
      known.status = status;
      known.failure = failure;
      known.error = error;
      known.remark = remark;
    }
  }
}

size_t OpByOp::waiting() const {
  return std::ranges::count(contents.ops, OpStatus::NotStarted, &OpRecord::status);
}

Status OpByOp::save() {
  saved = std::chrono::steady_clock::now();
  if (file.empty())
    return {};
  std::error_code error;
  fs::create_directories(fs::path(file).parent_path(), error);
  return writeOutput(file, results::toJson(contents));
}

//===----------------------------------------------------------------------===//
// What other models of the run found out
//===----------------------------------------------------------------------===//

std::string OpByOp::doneFile(const std::string &key) const {
  Sha256 sum;
  for (const std::string &part : {contents.device, contents.depth, contents.backend, key})
    sum.update(std::to_string(part.size()) + ":" + part);
  return doneFolder + "/" + sum.finish() + ".json";
}

bool OpByOp::takeOver(OpRecord &op) const {
  if (doneFolder.empty())
    return false;
  std::error_code error;
  if (std::string path = doneFile(op.key); fs::exists(path, error))
    if (Result<OpTable> known = results::readOpTable(path); known && known->ops.size() == 1) {
      OpRecord done = std::move(known->ops.front());
      done.index = op.index;
      done.count = op.count;
      done.remark = (done.remark.empty() ? "" : done.remark + "; ") + "as tried in " + known->model;
      op = std::move(done);
      return true;
    }
  return false;
}

void OpByOp::handOn(const OpRecord &op) const {
  if (doneFolder.empty())
    return;
  std::error_code error;
  fs::create_directories(doneFolder, error);
  OpTable one{contents.model, contents.group, contents.backend, contents.device, contents.depth, {op}};
  // Without it the next model tries the operation again.
  (void)writeOutput(doneFile(op.key), results::toJson(one));
}

} // namespace cupel::testbench::worker
