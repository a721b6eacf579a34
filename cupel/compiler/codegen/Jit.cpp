#include "cupel/compiler/codegen/Jit.h"

#include "cupel/compiler/codegen/RuntimeMath.h"

#include "llvm/ExecutionEngine/Orc/ExecutionUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Pass.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/Scalar.h"

#include <atomic>
#include <map>

namespace cupel::codegen {
namespace {

using namespace llvm;

Error failure(const char *what, llvm::Error error) {
  return Error{std::string(what) + ": " + toString(std::move(error))};
}

void initializeOnce() {
  static const bool done = [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)done;
}

/// A target machine keeps tables and is not thread-safe: each thread has its own.
TargetMachine *machineFor(const codegen::Target &target) {
  static thread_local std::map<std::string, std::unique_ptr<TargetMachine>> machines;
  std::unique_ptr<TargetMachine> &machine = machines[target.cpu + target.features];
  if (machine)
    return machine.get();
  initializeOnce();
  std::string why;
  const llvm::Target *known = TargetRegistry::lookupTarget(target.triple, why);
  if (!known)
    return nullptr;
  machine.reset(known->createTargetMachine(target.triple, target.cpu, target.features,
                                           TargetOptions(), Reloc::PIC_, CodeModel::Small,
                                           CodeGenOptLevel::Default, /*JIT=*/true));
  return machine.get();
}

/// What all code of the process is linked into: LLVM's JIT and the functions that code may call.
struct Linker {
  std::unique_ptr<orc::LLJIT> jit;
  orc::JITDylib *runtime = nullptr;
  std::string failure;
  std::atomic<int64_t> libraries = 0;

  static Linker &get() {
    // Never destroyed: code may be freed by other objects with static lifetime.
    static Linker *linker = new Linker();
    return *linker;
  }

private:
  Linker() {
    if (llvm::Error error = create())
      failure = toString(std::move(error));
  }
  llvm::Error create() {
    initializeOnce();
    auto created = orc::LLJITBuilder().setPlatformSetUp(orc::setUpInactivePlatform).create();
    if (!created)
      return created.takeError();
    jit = std::move(*created);
    runtime = &jit->getExecutionSession().createBareJITDylib("cupel-runtime");
    orc::SymbolMap symbols;
    for (const RuntimeSymbol &symbol : runtimeSymbols())
      symbols[jit->mangleAndIntern(symbol.name)] = {orc::ExecutorAddr::fromPtr(symbol.address),
                                                    JITSymbolFlags::Exported};
    if (llvm::Error error = runtime->define(orc::absoluteSymbols(std::move(symbols))))
      return error;
    // floorf, memset and the like, where the target has no instructions for them.
    auto process = orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
        jit->getDataLayout().getGlobalPrefix());
    if (!process)
      return process.takeError();
    runtime->addGenerator(std::move(*process));
    return llvm::Error::success();
  }
};

} // namespace

struct Code::Library {
  orc::JITDylib *dylib = nullptr;
};

Code::Code(std::unique_ptr<Library> library) : library(std::move(library)) {}

Code::~Code() {
  Linker &linker = Linker::get();
  consumeError(linker.jit->getExecutionSession().removeJITDylib(*library->dylib));
}

Result<std::shared_ptr<const Code>> Code::link(std::string_view object) {
  Linker &linker = Linker::get();
  if (!linker.failure.empty())
    return Error{"LLVM's JIT does not start: " + linker.failure};
  auto library = std::make_unique<Library>();
  auto created = linker.jit->createJITDylib("cupel-kernel-" + std::to_string(linker.libraries++));
  if (!created)
    return failure("generated code cannot be linked", created.takeError());
  library->dylib = &*created;
  library->dylib->addToLinkOrder(*linker.runtime);
  std::shared_ptr<const Code> code(new Code(std::move(library)));
  auto buffer = MemoryBuffer::getMemBufferCopy(StringRef(object.data(), object.size()), "kernel");
  if (llvm::Error error = linker.jit->addObjectFile(*code->library->dylib, std::move(buffer)))
    return failure("generated code cannot be linked", std::move(error));
  return code;
}

void *Code::function(const std::string &name) const {
  auto found = Linker::get().jit->lookup(*library->dylib, name);
  if (!found) {
    consumeError(found.takeError());
    return nullptr;
  }
  return found->toPtr<void *>();
}

/// Loops have their steps as functions, which are written into them; what these were given through
/// memory of the stack is then known. Nothing that computes is changed.
static void addInlining(legacy::PassManager &passes, const Module &module) {
  if (none_of(module, [](const Function &one) { return one.hasFnAttribute(Attribute::AlwaysInline); }))
    return;
  passes.add(createAlwaysInlinerLegacyPass());
  passes.add(createSROAPass());
  passes.add(createEarlyCSEPass());
  passes.add(createCFGSimplificationPass());
  passes.add(createLICMPass());
}

Result<std::string> compileObject(Module &module, const codegen::Target &target) {
  TargetMachine *machine = machineFor(target);
  if (!machine)
    return Error{ErrorCode::Unsupported, "LLVM makes no code for " + target.triple};
  module.setTargetTriple(target.triple);
  module.setDataLayout(machine->createDataLayout());
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager passes;
  addInlining(passes, module);
  MCContext *context = nullptr;
  if (machine->addPassesToEmitMC(passes, context, stream, /*DisableVerify=*/true))
    return Error{ErrorCode::Unsupported, "LLVM makes no objects for " + target.triple};
  passes.run(module);
  return std::string(bytes.data(), bytes.size());
}

Result<std::string> compileAssembly(Module &module, const codegen::Target &target) {
  TargetMachine *machine = machineFor(target);
  if (!machine)
    return Error{ErrorCode::Unsupported, "LLVM makes no code for " + target.triple};
  module.setTargetTriple(target.triple);
  module.setDataLayout(machine->createDataLayout());
  SmallVector<char, 0> bytes;
  raw_svector_ostream stream(bytes);
  legacy::PassManager passes;
  addInlining(passes, module);
  if (machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::AssemblyFile,
                                   /*DisableVerify=*/true))
    return Error{ErrorCode::Unsupported, "LLVM writes no assembly for " + target.triple};
  passes.run(module);
  return std::string(bytes.data(), bytes.size());
}

} // namespace cupel::codegen
