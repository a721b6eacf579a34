#include "cupel/compiler/passes/SplitRounding.h"

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

} // namespace

std::vector<RoundedForm> splitRounding(ModuleOp module, StringRef mainName, const WeightFormats &formats) {
  std::vector<RoundedForm> forms;
  auto main = module.lookupSymbol<func::FuncOp>(mainName);
  if (!main || main.isExternal())
    return forms;
  Block &body = main.getBody().front();
  llvm::DenseMap<Value, Value> made;
  SmallVector<DictionaryAttr> attributes;
  main.getAllArgAttrs(attributes);
  attributes.resize(main.getNumArguments(), DictionaryAttr::get(module.getContext()));
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
      known->second = body.addArgument(one.value.getType(), NameLoc::get(StringAttr::get(module.getContext(), name)));
    }
    if (known->second)
      one.product->setOperand(1, known->second);
  }
  if (forms.empty())
    return forms;
  attributes.resize(body.getNumArguments(), DictionaryAttr::get(module.getContext()));
  main.setFunctionType(FunctionType::get(main.getContext(), body.getArgumentTypes(), main.getFunctionType().getResults()));
  main.setAllArgAttrs(attributes);
  return forms;
}

} // namespace cupel::compiler
