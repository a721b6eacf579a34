// Gathers, scatters, sorting and regions.

#include "cupel/frontends/HloBuilder.h"

namespace cupel::frontends {

using namespace mlir;

Value HloBuilder::wrapIndices(Value indices, int64_t size) {
  if (isUnsigned(indices))
    return indices;
  Value moved = add(indices, splatInteger(size, elementOf(indices), shapeOf(indices)));
  return select(less(indices, like(indices, 0)), moved, indices);
}

Value HloBuilder::take(Value x, Value indices, int64_t dimension) {
  if (!isDimension(x, dimension) || !possible(isInteger(indices), "indices should be integers"))
    return x;
  // result = x.shape[:dimension] + indices.shape + x.shape[dimension + 1:]
  Dims sizes(shapeOf(x)), offsets, shape;
  sizes[dimension] = 1;
  int64_t indexRank = rankOf(indices);
  for (int64_t i = 0; i < dimension; ++i) {
    offsets.push_back(i);
    shape.push_back(shapeOf(x)[i]);
  }
  shape.append(shapeOf(indices).begin(), shapeOf(indices).end());
  for (int64_t i = dimension + 1; i < rankOf(x); ++i) {
    offsets.push_back(i - 1 + indexRank);
    shape.push_back(shapeOf(x)[i]);
  }
  auto numbers = stablehlo::GatherDimensionNumbersAttr::get(context(), offsets, {dimension}, {}, {},
                                                            {dimension}, indexRank);
  return ops.create<stablehlo::GatherOp>(
      loc, TypeRange{tensorType(shape, elementOf(x))}, ValueRange{x, indices},
      ArrayRef<NamedAttribute>{ops.getNamedAttr("dimension_numbers", numbers),
                               ops.getNamedAttr("slice_sizes", ops.getDenseI64ArrayAttr(sizes))});
}

/// Full index rows: the position itself in every dimension but one, where `indices` says it.
static Value indexRows(HloBuilder &b, Value indices, int64_t dimension) {
  SmallVector<Value> columns;
  Type element = HloBuilder::elementOf(indices);
  Dims shape(HloBuilder::shapeOf(indices));
  for (int64_t i = 0; i < int64_t(shape.size()); ++i) {
    Value column = i == dimension ? indices : b.iota(shape, i, element);
    columns.push_back(b.unsqueeze(column, shape.size()));
  }
  return b.concatenate(columns, shape.size());
}

Value HloBuilder::takeAlong(Value x, Value indices, int64_t dimension) {
  if (!isDimension(x, dimension) || !possible(rankOf(x) == rankOf(indices), "ranks differ"))
    return x;
  if (countOf(indices) == 0)
    return splat(0, elementOf(x), shapeOf(indices));
  return gatherNd(x, indexRows(*this, indices, dimension), 0);
}

Value HloBuilder::gatherNd(Value x, Value indices, int64_t batch) {
  int64_t rows = rankOf(indices) - 1, width = rows < 0 ? 0 : shapeOf(indices)[rows];
  if (!possible(rows >= batch && batch >= 0 && batch + width <= rankOf(x),
                "rows of indices are longer than their tensor's rank") ||
      !possible(isInteger(indices), "indices should be integers"))
    return x;
  Dims sizes(shapeOf(x)), offsets, collapsed, batching, map, shape;
  for (int64_t i = 0; i < batch; ++i) {
    batching.push_back(i);
    sizes[i] = 1;
  }
  for (int64_t i = 0; i < width; ++i) {
    collapsed.push_back(batch + i);
    map.push_back(batch + i);
    sizes[batch + i] = 1;
  }
  shape.append(shapeOf(indices).begin(), shapeOf(indices).end() - 1);
  for (int64_t i = batch + width; i < rankOf(x); ++i) {
    offsets.push_back(rows + int64_t(offsets.size()));
    shape.push_back(shapeOf(x)[i]);
  }
  auto numbers = stablehlo::GatherDimensionNumbersAttr::get(context(), offsets, collapsed, batching,
                                                            batching, map, rows);
  return ops.create<stablehlo::GatherOp>(
      loc, TypeRange{tensorType(shape, elementOf(x))}, ValueRange{x, indices},
      ArrayRef<NamedAttribute>{ops.getNamedAttr("dimension_numbers", numbers),
                               ops.getNamedAttr("slice_sizes", ops.getDenseI64ArrayAttr(sizes))});
}

Value HloBuilder::scatterNd(Value x, Value indices, Value updates, std::optional<Fold> fold) {
  int64_t rows = rankOf(indices) - 1, width = rows < 0 ? 0 : shapeOf(indices)[rows];
  if (!possible(rows >= 0 && width <= rankOf(x) && elementOf(x) == elementOf(updates),
                "what is scattered does not fit its tensor") ||
      !possible(isInteger(indices), "indices should be integers"))
    return x;
  Dims windows, inserted, map;
  for (int64_t i = 0; i < width; ++i) {
    inserted.push_back(i);
    map.push_back(i);
  }
  for (int64_t i = rows; i < rankOf(updates); ++i)
    windows.push_back(i);
  auto numbers =
      stablehlo::ScatterDimensionNumbersAttr::get(context(), windows, inserted, {}, {}, map, rows);
  OperationState state(loc, stablehlo::ScatterOp::getOperationName());
  state.addOperands({x, indices, updates});
  state.addTypes(x.getType());
  state.addAttribute("scatter_dimension_numbers", numbers);
  state.addRegion();
  Operation *op = ops.create(state);
  foldRegion(op->getRegion(0), elementOf(x), fold);
  return op->getResult(0);
}

Value HloBuilder::scatterAlong(Value x, Value indices, Value updates, int64_t dimension,
                               std::optional<Fold> fold) {
  if (countOf(indices) == 0 || !isDimension(indices, dimension))
    return x;
  return scatterNd(x, indexRows(*this, indices, dimension), updates, fold);
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

SmallVector<Value> HloBuilder::whileLoop(ValueRange initial,
                                         const std::function<Value(ValueRange)> &condition,
                                         const Body &body) {
  OperationState state(loc, stablehlo::WhileOp::getOperationName());
  state.addOperands(initial);
  state.addTypes(initial.getTypes());
  state.addRegion();
  state.addRegion();
  Operation *op = ops.create(state);
  SmallVector<Location> locations(initial.size(), loc);
  OpBuilder::InsertionGuard guard(ops);
  Block *test = ops.createBlock(&op->getRegion(0), {}, initial.getTypes(), locations);
  Value goOn = condition(test->getArguments());
  ops.setInsertionPointToEnd(test);
  ops.create<stablehlo::ReturnOp>(loc, ValueRange{goOn});
  Block *step = ops.createBlock(&op->getRegion(1), {}, initial.getTypes(), locations);
  SmallVector<Value> next = body(step->getArguments());
  ops.setInsertionPointToEnd(step);
  ops.create<stablehlo::ReturnOp>(loc, next);
  return SmallVector<Value>(op->getResults());
}

SmallVector<Value> HloBuilder::ifElse(Value condition,
                                      const std::function<SmallVector<Value>()> &then,
                                      const std::function<SmallVector<Value>()> &otherwise) {
  // The types of the results are known once the first branch is written, so it is written apart.
  Region first, second;
  auto fill = [&](Region &region, const std::function<SmallVector<Value>()> &branch) {
    OpBuilder::InsertionGuard guard(ops);
    Block *block = new Block;
    region.push_back(block);
    ops.setInsertionPointToEnd(block);
    SmallVector<Value> results = branch();
    ops.setInsertionPointToEnd(block);
    ops.create<stablehlo::ReturnOp>(loc, results);
    return SmallVector<Type>(ValueRange(results).getTypes());
  };
  SmallVector<Type> types = fill(first, then);
  fill(second, otherwise);
  OperationState state(loc, stablehlo::IfOp::getOperationName());
  state.addOperands(condition);
  state.addTypes(types);
  state.addRegion()->takeBody(first);
  state.addRegion()->takeBody(second);
  return SmallVector<Value>(ops.create(state)->getResults());
}

SmallVector<Value> HloBuilder::sort(ValueRange operands, int64_t dimension, bool stable,
                                    const std::function<Value(ValueRange)> &before) {
  OperationState state(loc, stablehlo::SortOp::getOperationName());
  state.addOperands(operands);
  state.addTypes(operands.getTypes());
  state.addAttribute("dimension", ops.getI64IntegerAttr(dimension));
  state.addAttribute("is_stable", ops.getBoolAttr(stable));
  state.addRegion();
  Operation *op = ops.create(state);
  OpBuilder::InsertionGuard guard(ops);
  SmallVector<Type> types;
  for (Value operand : operands)
    types.append(2, tensorType({}, elementOf(operand)));
  SmallVector<Location> locations(types.size(), loc);
  Block *block = ops.createBlock(&op->getRegion(0), {}, types, locations);
  Value result = before(block->getArguments());
  ops.create<stablehlo::ReturnOp>(loc, ValueRange{result});
  return SmallVector<Value>(op->getResults());
}

SmallVector<Value>
HloBuilder::composite(StringRef name, ValueRange operands, DictionaryAttr attributes,
                      const std::function<SmallVector<Value>(HloBuilder &, ValueRange)> &body) {
  ModuleOp module = this->module();
  std::string base = name.str() + ".impl", symbol = base;
  // Where many are made, the search begins at the last one.
  for (unsigned &next = decompositions[name];; ++next) {
    symbol = next ? base + "_" + std::to_string(next) : base;
    if (!module.lookupSymbol(symbol))
      break;
  }
  auto outer = OpBuilder::atBlockEnd(module.getBody());
  auto decomposition =
      outer.create<func::FuncOp>(loc, symbol, outer.getFunctionType(TypeRange(operands), {}));
  decomposition.setPrivate();
  decomposition.addEntryBlock();
  HloBuilder inner(decomposition);
  inner.setLocation(loc);
  SmallVector<Value> results = body(inner, decomposition.getArguments());
  possible(inner.problem().empty(), inner.problem());
  inner.ops.create<func::ReturnOp>(loc, results);
  SmallVector<Type> types(ValueRange(results).getTypes());
  decomposition.setFunctionType(outer.getFunctionType(TypeRange(operands), types));
  OperationState state(loc, stablehlo::CompositeOp::getOperationName());
  state.addOperands(operands);
  state.addTypes(types);
  state.addAttribute("name", ops.getStringAttr(name));
  if (attributes && !attributes.empty())
    state.addAttribute("composite_attributes", attributes);
  state.addAttribute("decomposition", FlatSymbolRefAttr::get(context(), symbol));
  return SmallVector<Value>(ops.create(state)->getResults());
}

} // namespace cupel::frontends
