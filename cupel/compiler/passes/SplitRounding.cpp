#include "cupel/compiler/passes/SplitRounding.h"

#include "cupel/compiler/passes/NarrowProducts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace cupel::compiler {

namespace {

/// The operations between an argument and a form of it, the first one first, and the argument.
std::pair<SmallVector<Operation *>, BlockArgument> wayOf(Value form) {
  SmallVector<Operation *> way;
  while (Operation *op = form.getDefiningOp()) {
    if (op->getNumOperands() != 1)
      return {{}, {}};
    way.push_back(op);
    form = op->getOperand(0);
  }
  std::reverse(way.begin(), way.end());
  return {way, cast<BlockArgument>(form)};
}

/// A program that goes this way.
OwningOpRef<ModuleOp> programOf(ArrayRef<Operation *> way, BlockArgument argument) {
  Location location = UnknownLoc::get(argument.getContext());
  OwningOpRef<ModuleOp> module = ModuleOp::create(location);
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  Type result = way.back()->getResult(0).getType();
  auto main = builder.create<func::FuncOp>(location, "main", builder.getFunctionType(argument.getType(), result));
  Block *body = main.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  IRMapping mapping;
  mapping.map(argument, body->getArgument(0));
  Operation *last = nullptr;
  for (Operation *op : way)
    last = builder.clone(*op, mapping);
  builder.create<func::ReturnOp>(location, last->getResults());
  return module;
}

/// Adds arguments to a function behind its own.
class FurtherArguments {
public:
  explicit FurtherArguments(func::FuncOp main) : main(main) {
    main.getAllArgAttrs(attributes);
    attributes.resize(main.getNumArguments(), DictionaryAttr::get(main.getContext()));
  }

  Value add(Type type, const std::string &name) {
    return main.getBody().front().addArgument(type, NameLoc::get(StringAttr::get(main.getContext(), name)));
  }

  void finish() {
    Block &body = main.getBody().front();
    attributes.resize(body.getNumArguments(), DictionaryAttr::get(main.getContext()));
    main.setFunctionType(FunctionType::get(main.getContext(), body.getArgumentTypes(), main.getFunctionType().getResults()));
    main.setAllArgAttrs(attributes);
  }

private:
  func::FuncOp main;
  SmallVector<DictionaryAttr> attributes;
};

} // namespace

std::vector<RoundedForm> splitRounding(ModuleOp module, StringRef mainName, const WeightFormats &formats) {
  std::vector<RoundedForm> forms;
  auto main = module.lookupSymbol<func::FuncOp>(mainName);
  if (!main || main.isExternal())
    return forms;
  FurtherArguments further(main);
  Block &body = main.getBody().front();
  llvm::DenseMap<Value, Value> made;
  for (const ProductWeight &one : productWeights(module)) {
    std::optional<tensor::BlockFormat> format = formats.of(one.name);
    if (!format || one.product->getBlock() != &body)
      continue;
    auto [known, isNew] = made.try_emplace(one.value);
    if (isNew) {
      auto [way, argument] = wayOf(one.value);
      if (!argument || argument.getOwner() != &body || argument.getArgNumber() >= main.getNumArguments())
        continue; // A constant.
      std::string name = "rounded weight " + std::to_string(forms.size());
      forms.push_back({argument.getArgNumber(), *format, way.empty() ? OwningOpRef<ModuleOp>() : programOf(way, argument), name});
      known->second = further.add(one.value.getType(), name);
    }
    if (known->second)
      one.product->setOperand(1, known->second);
  }
  further.finish();
  return forms;
}

std::vector<RoundedForm> splitNarrowing(ModuleOp module, StringRef mainName, unsigned own) {
  std::vector<RoundedForm> forms;
  auto main = module.lookupSymbol<func::FuncOp>(mainName);
  if (!main || main.isExternal())
    return forms;
  FurtherArguments further(main);
  for (Operation &op : main.getBody().front()) {
    if (!op.hasAttr(kNarrowedAttr))
      continue;
    // Kernels read through what moves rounded numbers: only what rounds them is taken out.
    auto [value, origin] = numbersOfNarrowed(op.getOperand(1));
    auto argument = dyn_cast_or_null<BlockArgument>(origin);
    if (!argument || argument.getOwner() != &main.getBody().front() || argument.getArgNumber() >= own)
      continue;
    SmallVector<Operation *> way = wayOf(value).first;
    std::string name = "narrow weight " + std::to_string(forms.size());
    forms.push_back({argument.getArgNumber(), std::nullopt, programOf(way, argument), name});
    value.replaceAllUsesWith(further.add(value.getType(), name));
  }
  further.finish();
  return forms;
}

} // namespace cupel::compiler
