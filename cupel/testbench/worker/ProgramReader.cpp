#include "cupel/testbench/worker/ProgramReader.h"

#include "cupel/ir/bytecode/ProgramBytes.h"
#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/ir/Dialects.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/reference/Plan.h"
#include "cupel/reference/Registry.h"

#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Diagnostics.h>
#include <mlir/IR/Matchers.h>
#include <sys/stat.h>

namespace cupel::testbench::worker {

using namespace mlir;

namespace {

/// Types, attributes and locations of programs stay in the context for good; so much of program
/// text is read with one.
constexpr uint64_t kContextBytes = 16 << 20;

/// Processes of a program that are run side by side, at most.
constexpr uint64_t kMostProcesses = 256;

ValueType valueType(mlir::Type type) {
  ValueType value;
  auto ranked = dyn_cast<RankedTensorType>(type);
  if (!ranked) {
    value.isTensor = false;
    return value;
  }
  Result<tensor::ElementType> element = reference::elementTypeOf(ranked.getElementType());
  if (!element) {
    value.isTensor = false;
    return value;
  }
  value.element = *element;
  for (int64_t size : ranked.getShape())
    value.shape.push_back(ShapedType::isDynamic(size) ? kDynamicSize : size);
  return value;
}

/// Whether processes of a program talk to each other, or know which one they are.
bool communicates(Operation *op) {
  return op->hasTrait<stablehlo::Collective>() || op->hasTrait<stablehlo::DependsOnProcess>();
}

/// How many processes JAX says a program is for; 1 where it does not.
uint32_t processCount(ModuleOp module, llvm::StringRef attribute) {
  auto count = module->getAttrOfType<IntegerAttr>(attribute);
  return count && count.getType().isSignlessInteger(32) && count.getInt() > 1
             ? uint32_t(count.getInt())
             : 1;
}

std::string nameOf(Location location) {
  if (auto name = location->findInstanceOf<NameLoc>())
    return name.getName().str();
  return {};
}

} // namespace

ProgramReader::ProgramReader() {
  ir::registerAllDialects(registry);
  renewContext();
}

void ProgramReader::renewContext() {
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  usedBytes = 0;
  // Registered for as long as the context lives. The first error is the one that is told.
  context->getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && complaint.empty())
      complaint = reference::describeLocation(diagnostic.getLocation()) + ": " + diagnostic.str();
    return success();
  });
}

Result<std::string> ProgramReader::load(const std::string &file, uint32_t part,
                                        const std::string &given) {
  const std::string &shown = given.empty() ? file : given;
  struct stat status = {};
  stat(file.c_str(), &status);
  int64_t modified = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  if (!kept || kept->file != file || kept->modified != modified || kept->size != status.st_size) {
    kept.reset();
    Result<FileContents> contents = readInput(file);
    if (!contents)
      return contents.error();
    std::string_view bytes = contents->bytes();
    if (Status checked = ir::checkIsProgram(shown, bytes); !checked)
      return checked.error();
    Kept now{file, modified, status.st_size, {}};
    if (!ir::isBytecode(bytes) && bytes.find(ir::kProgramSeparator) != std::string_view::npos)
      now.parts = ir::splitPrograms(bytes);
    else
      now.parts.emplace_back(bytes);
    // A file of one program is not needed again.
    if (now.parts.size() == 1 && part == 0)
      return std::move(now.parts[0]);
    kept = std::move(now);
  }
  if (part >= kept->parts.size())
    return Error{shown + ": has " + std::to_string(kept->parts.size()) + " programs; number " +
                 std::to_string(part) + " (from 0) was asked for"};
  return kept->parts[part];
}

Result<std::unique_ptr<ProgramReader::Read>> ProgramReader::read(const std::string &bytes,
                                                                 const std::string &name) {
  if (usedBytes > kContextBytes)
    renewContext();
  usedBytes += bytes.size();
  complaint.clear();
  auto read = std::make_unique<Read>();
  read->module = ir::readProgram(llvm::MemoryBufferRef(bytes, name), ParserConfig(context.get()));
  if (!read->module)
    return Error{complaint.empty() ? name + ": the program cannot be read" : complaint};
  if (Status status = complete(*read, name); !status)
    return status.error();
  return read;
}

/// What a module leaves in its context for good, roughly.
static uint64_t footprint(ModuleOp module) {
  uint64_t bytes = 0;
  module->walk([&](Operation *op) {
    bytes += 256;
    if (DenseElementsAttr constant; matchPattern(op, m_Constant(&constant)))
      bytes += constant.getRawData().size();
  });
  return bytes;
}

Result<std::unique_ptr<ProgramReader::ReadModel>>
ProgramReader::import(const frontends::ModelFile &model, const frontends::ImportOptions &options,
                      const std::string &name) {
  if (usedBytes > kContextBytes)
    renewContext();
  complaint.clear();
  context->loadAllAvailableDialects();
  Result<frontends::ImportedModel> imported = model.import(*context, options);
  if (!imported) {
    // What was tried stays in the context too.
    usedBytes += kContextBytes / 64;
    Error refusal = imported.error();
    if (!complaint.empty())
      refusal.message += " [" + complaint + "]";
    return refusal;
  }
  auto read = std::make_unique<ReadModel>();
  read->imported = std::move(*imported);
  read->module = std::move(read->imported.module);
  usedBytes += footprint(*read->module);
  if (Status status = complete(*read, name); !status)
    return status.error().as(ErrorCode::NotYet);
  Program &program = read->program;
  const frontends::ImportedModel &made = read->imported;
  for (size_t i = 0; i < program.arguments.size(); ++i)
    program.arguments[i].name =
        i < made.inputs.size() ? made.inputs[i].name : made.weights[i - made.inputs.size()].first;
  for (size_t i = 0; i < program.results.size(); ++i)
    program.results[i].name = made.outputs[i];
  return read;
}

Status ProgramReader::complete(Read &read, const std::string &name) {
  if (failed(compiler::lowerChlo(*read.module)))
    return Error{complaint.empty() ? name + ": chlo cannot be lowered" : complaint};
  return describe(read, name);
}

Status ProgramReader::describe(Read &read, const std::string &name) {
  ModuleOp module = *read.module;
  func::FuncOp entry = compiler::entryOf(module);
  if (!entry)
    return Error{name + ": no function @main, and not just one function"};
  Program &program = read.program;
  program.name = name;
  program.module = module;
  FunctionType type = entry.getFunctionType();
  for (unsigned i = 0; i < type.getNumInputs(); ++i) {
    program.arguments.push_back(valueType(type.getInput(i)));
    if (!entry.isExternal())
      program.arguments.back().name = nameOf(entry.getArgument(i).getLoc());
  }
  for (mlir::Type result : type.getResults())
    program.results.push_back(valueType(result));
  bool several = false;
  module->walk([&](Operation *op) {
    program.selfChecking |= op->getName().getDialectNamespace() == "check";
    // Programs that went through JAX's export check themselves with custom calls.
    if (auto call = dyn_cast<stablehlo::CustomCallOp>(op))
      program.selfChecking |= call.getCallTargetName().starts_with("check.");
    several |= communicates(op);
  });
  // A program on whole tensors, with shardings only, is run once.
  if (several) {
    program.replicas = processCount(module, "mhlo.num_replicas");
    program.partitions = processCount(module, "mhlo.num_partitions");
    if (uint64_t(program.replicas) * program.partitions > kMostProcesses)
      return Error{name + ": the program is for " + std::to_string(program.replicas) +
                   " replicas of " + std::to_string(program.partitions) + " partitions; at most " +
                   std::to_string(kMostProcesses) + " processes are run"};
  }
  return {};
}

} // namespace cupel::testbench::worker
