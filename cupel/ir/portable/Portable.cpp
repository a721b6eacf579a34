#include "cupel/ir/portable/Portable.h"

#include "cupel/ir/bytecode/Prepare.h"
#include "cupel/ir/portable/Conversion.h"
#include "cupel/ir/stablehlo/Stablehlo.h"
#include "cupel/ir/vhlo/Vhlo.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/Bytecode/BytecodeWriter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Quant/QuantOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace cupel;
using namespace cupel::portable;

namespace {
constexpr StringRef kMagic = "ML\xefR";
constexpr StringRef kProducer = "StableHLO_v";
} // namespace

void cupel::portable::loadDialects(MLIRContext &context) {
  context.loadDialect<vhlo::VhloDialect, stablehlo::StablehloDialect, func::FuncDialect,
                      quant::QuantizationDialect>();
}

std::optional<Version> cupel::portable::artifactVersion(StringRef bytes) {
  if (!bytes.consume_front(kMagic) || bytes.empty())
    return std::nullopt;
  // The level of the bytecode, a number whose length is told by the zero bits of its first byte.
  unsigned length = 1 + llvm::countr_zero(uint8_t(bytes.front()) | 0x100u);
  if (bytes.size() < length)
    return std::nullopt;
  StringRef producer = bytes.drop_front(length).split('\0').first;
  if (!producer.consume_front(kProducer))
    return std::nullopt;
  return Version::parse(producer);
}

LogicalResult cupel::portable::convertToVhlo(ModuleOp module, Version target,
                                             const WriteOptions &options) {
  loadDialects(*module.getContext());
  if (failed(convertStablehloToVhlo(module, options.allowOtherDialects)))
    return module.emitError("failed to convert to VHLO v") << target.str();
  return downgrade(module, target);
}

LogicalResult cupel::portable::convertFromVhlo(ModuleOp module) {
  loadDialects(*module.getContext());
  if (failed(upgrade(module)))
    return failure();
  return convertVhloToStablehlo(module);
}

LogicalResult cupel::portable::writeVhlo(ModuleOp module, Version version, llvm::raw_ostream &out) {
  // The configuration keeps only a reference to it.
  std::string producer = kProducer.str() + version.str();
  BytecodeWriterConfig config(producer);
  config.setDesiredBytecodeVersion(vhlo::bytecodeLevel(version));
  return writeBytecodeToFile(module, out, config);
}

LogicalResult cupel::portable::writePortable(ModuleOp module, Version target,
                                             llvm::raw_ostream &out, const WriteOptions &options) {
  OwningOpRef<ModuleOp> copy = module.clone();
  if (failed(convertToVhlo(*copy, target, options)))
    return failure();
  return writeVhlo(*copy, target, out);
}

OwningOpRef<ModuleOp> cupel::portable::readPortable(llvm::MemoryBufferRef artifact,
                                                    MLIRContext *context,
                                                    const ReadOptions &options) {
  loadDialects(*context);
  Location location = FileLineColLoc::get(context, artifact.getBufferIdentifier(), 0, 0);
  std::optional<Version> version = artifactVersion(artifact.getBuffer());
  if (!version) {
    emitError(location) << "is not a portable artifact: it does not begin with MLIR bytecode whose "
                           "producer is StableHLO_v#.#.#";
    return {};
  }
  if (*version < vhlo::kMinimumVersion) {
    emitError(location) << "has version " << version->str() << "; the oldest that can be read is "
                        << vhlo::kMinimumVersion.str();
    return {};
  }
  // MLIR's reader trusts what it reads; this refuses what would harm it, and rewrites locations of
  // newer MLIR.
  bytecode::Prepared prepared = bytecode::prepareForMlir(artifact.getBuffer());
  if (!prepared.ok()) {
    emitError(location) << prepared.error();
    return {};
  }
  Block block;
  ParserConfig config(context);
  if (failed(
          readBytecodeFile(llvm::MemoryBufferRef(prepared.text(), artifact.getBufferIdentifier()),
                           &block, config))) {
    if (vhlo::kCurrentVersion < version->withoutPatch())
      emitError(location) << "has version " << version->str()
                          << "; the newest that can surely be read is "
                          << vhlo::kCurrentVersion.str();
    return {};
  }
  auto module =
      block.getOperations().size() == 1 ? llvm::dyn_cast<ModuleOp>(block.front()) : ModuleOp();
  if (!module) {
    emitError(location) << "does not hold one module";
    return {};
  }
  module->remove();
  OwningOpRef<ModuleOp> result = module;
  LogicalResult converted = options.keepVhlo ? upgrade(*result) : convertFromVhlo(*result);
  if (failed(converted) || failed(verify(*result)))
    return {};
  return result;
}
