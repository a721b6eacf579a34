#include "cupel/compiler/passes/ExposeWeights.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/passes/RoundWeights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace cupel::compiler {

namespace {

/// Makes a function give these values, and its type say so.
void giveResults(func::FuncOp main, ValueRange values) {
  Operation *end = main.getBody().front().getTerminator();
  end->setOperands(values);
  main.setAllResultAttrs(ArrayRef<DictionaryAttr>());
  main.setFunctionType(FunctionType::get(main.getContext(), main.getBody().getArgumentTypes(), values.getTypes()));
}

/// Weights and products of a copy, in the order that they have in the original: which copy does not matter.
struct Found {
  std::vector<ProductWeight> products; ///< In main's own block.
  SmallVector<Value> values;           ///< Distinct.
  std::vector<size_t> layers;
  std::vector<std::string> names;
  size_t hidden = 0;
};

Found findIn(ModuleOp module, func::FuncOp main) {
  Found found;
  llvm::DenseMap<Value, size_t> numbers;
  for (ProductWeight &one : productWeights(module)) {
    if (one.product->getBlock() != &main.getBody().front()) {
      ++found.hidden;
      continue;
    }
    auto [number, isNew] = numbers.try_emplace(one.value, found.values.size());
    if (isNew) {
      found.values.push_back(one.value);
      found.names.push_back(one.name);
    }
    found.layers.push_back(number->second);
    found.products.push_back(std::move(one));
  }
  return found;
}

} // namespace

Result<ExposedProgram> exposeWeights(ModuleOp module) {
  ExposedProgram made;
  made.weights = module.clone();
  made.program = module.clone();
  func::FuncOp giving = entryOf(*made.weights), main = entryOf(*made.program);
  if (!main)
    return Error{"there is no main function, whose weights could be looked at"};
  Found weights = findIn(*made.weights, giving), found = findIn(*made.program, main);
  if (found.values.empty())
    return Error{"no product of the program has a weight of f32 or bf16"};
  giveResults(giving, weights.values);

  Block &body = main.getBody().front();
  SmallVector<Value> results(body.getTerminator()->getOperands());
  made.results = results.size();
  SmallVector<Value> arguments;
  for (size_t i = 0; i < found.values.size(); ++i) {
    auto type = cast<RankedTensorType>(found.values[i].getType());
    made.all.push_back({found.names[i], type});
    arguments.push_back(body.addArgument(type, found.values[i].getLoc()));
  }
  for (size_t i = 0; i < found.products.size(); ++i) {
    found.products[i].product->setOperand(1, arguments[found.layers[i]]);
    results.push_back(found.products[i].product->getResult(0));
  }
  made.layers = std::move(found.layers);
  made.hidden = found.hidden;
  main.setAllArgAttrs(ArrayRef<DictionaryAttr>());
  giveResults(main, results);
  return made;
}

} // namespace cupel::compiler
