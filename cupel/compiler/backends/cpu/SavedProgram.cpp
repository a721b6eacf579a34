#include "cupel/compiler/backends/cpu/SavedProgram.h"

#include "cupel/compiler/analysis/Inspect.h"
#include "cupel/compiler/codegen/Target.h"
#include "cupel/compiler/device/Passes.h"
#include "cupel/compiler/tensor/Passes.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/ir/sdy/Sdy.h"
#include "cupel/support/Sha256.h"
#include "cupel/support/Version.h"

#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/MemoryBuffer.h"

namespace cupel::compiler {

using namespace mlir;

namespace {

constexpr StringLiteral kMagic = "device program\n";
/// The function that says what arguments and results are, and the attribute with all else.
constexpr StringLiteral kSignature = "cupel.signature", kInfo = "cupel.program";

/// Both IRs are of one version: the hash of the sources that define and form them.
constexpr StringLiteral kVersion =
#include "cupel/compiler/backends/cpu/DeviceVersion.inc"
    ;

std::string versionLine() {
  return std::string(version()) + " " + kVersion.take_front(16).str();
}

std::string processorLine() {
  const codegen::Target &host = codegen::Target::host();
  return host.triple + " " + host.cpu + " " + std::to_string(host.lanes) + " lanes";
}

/// What ProgramInfo has beside arguments and results.
DictionaryAttr infoAttribute(const DeviceProgram &program) {
  Builder builder(program.context ? &program.context->context : nullptr);
  const runtime::ProgramInfo &info = program.info;
  SmallVector<NamedAttribute> notes;
  for (const auto &[what, said] : info.notes)
    notes.push_back(builder.getNamedAttr(what, builder.getStringAttr(said)));
  auto number = [&](StringRef name, double value) {
    return builder.getNamedAttr(name, builder.getF64FloatAttr(value));
  };
  NamedAttribute entries[] = {
      builder.getNamedAttr("name", builder.getStringAttr(info.name)),
      builder.getNamedAttr("fingerprint", builder.getStringAttr(info.fingerprint)),
      builder.getNamedAttr("brief", builder.getBoolAttr(info.isBrief)),
      builder.getNamedAttr("notes", builder.getDictionaryAttr(notes)),
      number("flops", info.cost.flops),
      number("transcendentals", info.cost.transcendentals),
      number("bytes_accessed", info.cost.bytesAccessed),
      number("temporary_bytes", double(info.cost.temporaryBytes)),
      number("operations", double(info.cost.operations)),
      number("code_bytes", double(info.codeBytes)),
      builder.getNamedAttr("loop", builder.getBoolAttr(info.cost.hasLoop))};
  return builder.getDictionaryAttr(entries);
}

Status readInfo(DictionaryAttr stated, runtime::ProgramInfo &info) {
  bool isWhole = true;
  auto text = [&](StringRef name) {
    auto value = stated ? stated.getAs<StringAttr>(name) : StringAttr();
    isWhole &= bool(value);
    return value ? value.str() : "";
  };
  auto number = [&](StringRef name) {
    auto value = stated ? stated.getAs<FloatAttr>(name) : FloatAttr();
    isWhole &= bool(value);
    return value ? value.getValueAsDouble() : 0;
  };
  auto truth = [&](StringRef name) {
    auto value = stated ? stated.getAs<BoolAttr>(name) : BoolAttr();
    isWhole &= bool(value);
    return value && value.getValue();
  };
  info.name = text("name");
  info.fingerprint = text("fingerprint");
  info.isBrief = truth("brief");
  info.cost.flops = number("flops");
  info.cost.transcendentals = number("transcendentals");
  info.cost.bytesAccessed = number("bytes_accessed");
  info.cost.temporaryBytes = int64_t(number("temporary_bytes"));
  info.cost.operations = int64_t(number("operations"));
  info.codeBytes = int64_t(number("code_bytes"));
  info.cost.hasLoop = truth("loop");
  if (auto notes = stated ? stated.getAs<DictionaryAttr>("notes") : DictionaryAttr())
    for (NamedAttribute note : notes)
      if (auto said = dyn_cast<StringAttr>(note.getValue()))
        info.notes[note.getName().str()] = said.str();
  if (!isWhole)
    return Error{"the saved executable does not say what it is"};
  return {};
}

/// A declaration with the types and attributes of the entry.
func::FuncOp declareIn(ModuleOp module, const DeviceProgram &program) {
  func::FuncOp entry = program.entry;
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  auto copy = builder.create<func::FuncOp>(entry.getLoc(), kSignature, entry.getFunctionType());
  copy.setPrivate();
  if (ArrayAttr attributes = entry.getArgAttrsAttr())
    copy.setArgAttrsAttr(attributes);
  if (ArrayAttr attributes = entry.getResAttrsAttr())
    copy.setResAttrsAttr(attributes);
  // One that was left to the compiler was chosen by what the body is.
  for (auto [i, result] : llvm::enumerate(program.info.results))
    if (!result.layoutMode.empty())
      copy.setResultAttr(unsigned(i), "mhlo.layout_mode", builder.getStringAttr(result.layoutMode));
  return copy;
}

/// MLIR writes one number for a tensor of no elements whose value was given as one, which no reader
/// takes.
void emptyWhatIsEmpty(ModuleOp module) {
  module.walk([](Operation *op) {
    SmallVector<NamedAttribute> attributes(op->getAttrs());
    for (NamedAttribute attribute : attributes)
      if (auto dense = dyn_cast<DenseElementsAttr>(attribute.getValue());
          dense && dense.getNumElements() == 0)
        op->setAttr(attribute.getName(), DenseElementsAttr::getFromRawBuffer(dense.getType(), {}));
  });
}

/// The lines before the bytecode.
struct Header {
  std::string_view version, processor, options, digest, bytes;
};

std::optional<Header> parseHeader(std::string_view bytes) {
  if (!isSavedProgram(bytes))
    return std::nullopt;
  bytes.remove_prefix(kMagic.size());
  Header header;
  for (std::string_view *line :
       {&header.version, &header.processor, &header.options, &header.digest}) {
    size_t end = bytes.find('\n');
    if (end == std::string_view::npos)
      return std::nullopt;
    *line = bytes.substr(0, end);
    bytes.remove_prefix(end + 1);
  }
  header.bytes = bytes;
  return header;
}

} // namespace

std::string saveProgram(const DeviceProgram &program, ModuleOp compiled) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(compiled.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  for (NamedAttribute attribute : ModuleOp(*program.module)->getDiscardableAttrs())
    (*module)->setAttr(attribute.getName(), attribute.getValue());
  (*module)->setAttr(kInfo, infoAttribute(program));
  // What attributes of arguments may speak of.
  for (auto mesh : ModuleOp(*program.module).getOps<sdy::MeshOp>())
    builder.clone(*mesh);
  for (auto one : compiled.getOps<dev::ProgramOp>())
    builder.clone(*one);
  declareIn(*module, program);
  emptyWhatIsEmpty(*module);
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  (void)writeBytecodeToFile(*module, os);
  return kMagic.str() + versionLine() + "\n" + processorLine() + "\n" + describe(program.options) +
         "\n" + sha256(bytes) + "\n" + bytes;
}

bool isSavedProgram(std::string_view bytes) { return bytes.starts_with(std::string_view(kMagic)); }

Result<OwningOpRef<ModuleOp>> loadProgram(DeviceProgram &program, std::string_view bytes,
                                          ContextLease &lease) {
  std::optional<Header> header = parseHeader(bytes);
  if (!header)
    return Error{"the saved executable is cut off"};
  if (header->version != versionLine())
    return Error{ErrorCode::Unsupported,
                 "the saved executable is of Cupel " + std::string(header->version) +
                     " (version and device IR), this is " + versionLine() +
                     ": compile the program again"};
  if (header->digest != sha256(header->bytes))
    return Error{"the saved executable is damaged: its bytes are not those that were saved"};
  Result<CompileOptions> options = parseCompileOptions(header->options);
  if (!options)
    return options.error().within("the saved executable cannot be read");
  program.options = std::move(*options);
  program.options.backend = "cpu";
  program.context = lease.shared();
  (*lease).loadDialect<tir::TirDialect, dev::DevDialect>();
  std::string complaint;
  ScopedDiagnosticHandler handler(&*lease, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && complaint.empty())
      complaint = diagnostic.str();
    return success();
  });
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(StringRef(header->bytes), "saved executable");
  OwningOpRef<ModuleOp> module = ir::readProgram(buffer->getMemBufferRef(), ParserConfig(&*lease));
  auto signature = module ? module->lookupSymbol<func::FuncOp>(kSignature) : func::FuncOp();
  if (!signature || !module->lookupSymbol<dev::ProgramOp>("main"))
    return Error{"the saved executable cannot be read: " +
                 (complaint.empty() ? "it holds no device program" : complaint)};
  // What it says of itself stands by itself, as a program's own module does.
  program.module = ModuleOp::create(module->getLoc());
  for (NamedAttribute attribute : (*module)->getDiscardableAttrs())
    (*program.module)->setAttr(attribute.getName(), attribute.getValue());
  for (auto mesh : llvm::make_early_inc_range(module->getOps<sdy::MeshOp>()))
    mesh->moveBefore(program.module->getBody(), program.module->getBody()->end());
  signature->moveBefore(program.module->getBody(), program.module->getBody()->end());
  program.entry = signature;
  program.devices = Devices::of(*program.module);
  Result<runtime::ProgramInfo> info = describe(*program.module, signature);
  if (!info)
    return info.error().within("the saved executable cannot be read");
  program.info = std::move(*info);
  if (Status status =
          readInfo((*program.module)->getAttrOfType<DictionaryAttr>(kInfo), program.info);
      !status)
    return status.error();
  (*program.module)->removeAttr(kInfo);
  if (header->processor != processorLine())
    program.info.notes["processor"] = "saved on " + std::string(header->processor) +
                                      "; its code was made anew for " + processorLine() +
                                      ", where sums may round otherwise";
  return module;
}

OwningOpRef<ModuleOp> expandedProgram(const DeviceProgram &program, ModuleOp compiled) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(compiled.getLoc(), program.info.name);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  for (auto one : compiled.getOps<dev::ProgramOp>())
    builder.clone(*one);
  PassManager passes(compiled.getContext(), ModuleOp::getOperationName());
  passes.addPass(dev::createExpandDeviceIr());
  passes.addPass(tir::createExpandTensorIr());
  if (failed(passes.run(*module)))
    return nullptr;
  auto main = module->lookupSymbol<func::FuncOp>("main");
  if (!main)
    return nullptr;
  func::FuncOp entry = program.entry;
  if (ArrayAttr attributes = entry.getArgAttrsAttr())
    main.setArgAttrsAttr(attributes);
  if (ArrayAttr attributes = entry.getResAttrsAttr())
    main.setResAttrsAttr(attributes);
  return module;
}

} // namespace cupel::compiler
