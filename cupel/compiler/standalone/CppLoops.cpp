// Elementwise operations of generated C++: several of them become one loop.

#include "cupel/compiler/standalone/Cpp.h"

#include "cupel/reference/Registry.h"

#include "llvm/ADT/StringExtras.h"

namespace cupel::compiler::standalone {

using namespace mlir;
using tensor::DType;

/// Expressions that grow longer than this get a name.
static constexpr size_t kLongestExpression = 56;
/// Elements that are worth a thread.
static constexpr int64_t kGrain = 16384;

static ArrayRef<int64_t> shapeOfType(mlir::Type type) { return cast<RankedTensorType>(type).getShape(); }

static bool isSplatConstant(Operation *op) {
  auto constant = dyn_cast_or_null<stablehlo::ConstantOp>(op);
  return constant && isa<DenseElementsAttr>(constant.getValue()) &&
         cast<DenseElementsAttr>(constant.getValue()).isSplat();
}

/// A number for every element, whatever the shape.
static bool isNumber(Operation *op) {
  if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op))
    return isSplatConstant(broadcast.getOperand().getDefiningOp());
  return isSplatConstant(op);
}

bool CppWriter::isElementFunction(StringRef symbol) {
  auto [found, isNew] = elementFunctions.try_emplace(symbol, false);
  if (!isNew)
    return found->second;
  auto function = module.lookupSymbol<func::FuncOp>(symbol);
  if (!function || function.isExternal() || !function.getBody().hasOneBlock() || function.getNumResults() != 1 ||
      function.isPublic() || function.getNumArguments() == 0)
    return false;
  auto type = dyn_cast<RankedTensorType>(function.getResultTypes()[0]);
  auto fits = [&](mlir::Type other) {
    return hasStaticShape(other) && !isQuantized(other) && shapeOfType(other) == type.getShape();
  };
  if (!type || !fits(type) || !llvm::all_of(function.getArgumentTypes(), fits))
    return false;
  size_t maps = 0;
  for (Operation &op : function.getBody().front().without_terminator()) {
    bool isOfThisShape = op.getNumResults() == 1 && fits(op.getResult(0).getType());
    auto call = dyn_cast<func::CallOp>(op);
    if (isNumber(&op))
      continue;
    if (!isOfThisShape || !(isElementwise(&op) || (call && isElementFunction(call.getCallee()))))
      return false;
    ++maps;
  }
  // Functions that give an argument back, and those of arguments in tuples, are not worth it.
  bool isOne = maps > 0 && !isa<BlockArgument>(function.getBody().front().getTerminator()->getOperand(0));
  elementFunctions[symbol] = isOne;
  return isOne;
}

bool CppWriter::isMap(Operation *op) {
  auto call = dyn_cast<func::CallOp>(op);
  if (call ? !isElementFunction(call.getCallee()) : !isElementwise(op))
    return false;
  auto isPlain = [](mlir::Type type) { return hasStaticShape(type) && !isQuantized(type); };
  return llvm::all_of(op->getOperandTypes(), isPlain) && llvm::all_of(op->getResultTypes(), isPlain);
}

Operation *CppWriter::loopOf(Operation *op) {
  if (auto found = loops.find(op); found != loops.end())
    return found->second;
  for (Operation &each : llvm::reverse(*op->getBlock())) {
    if (!isMap(&each))
      continue;
    Operation *root = nullptr;
    bool isJoined = !each.getResult(0).use_empty();
    for (Operation *user : each.getResult(0).getUsers()) {
      auto found = loops.find(user);
      isJoined = isJoined && user->getBlock() == op->getBlock() && found != loops.end() &&
                 (!root || root == found->second) &&
                 shapeOfType(user->getResult(0).getType()) == shapeOfType(each.getResult(0).getType());
      root = isJoined ? found->second : nullptr;
    }
    loops[&each] = isJoined ? root : &each;
  }
  return loops[op];
}

bool CppWriter::isReadInPlace(Operation *op) {
  if (isOnElements || !isa_and_nonnull<stablehlo::BroadcastInDimOp, stablehlo::TransposeOp>(op) || !hasStaticShape(op->getResult(0).getType()) ||
      !hasStaticShape(op->getOperand(0).getType()) || isQuantized(op->getResult(0).getType()))
    return false;
  if (auto transpose = dyn_cast<stablehlo::TransposeOp>(op)) {
    // Elements must stay neighbours.
    ArrayRef<int64_t> order = transpose.getPermutation();
    if (order.empty() || order.back() != int64_t(order.size()) - 1)
      return false;
  }
  return llvm::all_of(op->getResult(0).getUsers(), [&](Operation *user) {
    return isMap(user) && user->getBlock() == op->getBlock() &&
           shapeOfType(user->getResult(0).getType()) == shapeOfType(op->getResult(0).getType());
  });
}

Result<std::string> CppWriter::elementText(Operation *op, ArrayRef<std::string> operands) {
  if (auto call = dyn_cast<func::CallOp>(op))
    return functionName(call.getCallee()) + "(" + llvm::join(operands, ", ") + ")";
  Result<OpCall> call = callOf(op);
  if (!call)
    return call.error();
  StringRef name = op->getName().stripDialect();
  DType from = computedAs(op->getOperand(op->getNumOperands() - 1).getType());
  DType to = computedAs(op->getResult(0).getType());
  if (auto compare = dyn_cast<stablehlo::CompareOp>(op)) {
    static const llvm::StringMap<std::pair<const char *, const char *>> kNames = {
        {"EQ", {"equal", " == "}},         {"NE", {"not_equal", " != "}}, {"GE", {"greater_equal", " >= "}},
        {"GT", {"greater", " > "}},        {"LE", {"less_equal", " <= "}}, {"LT", {"less", " < "}}};
    auto [function, sign] = kNames.lookup(stringifyEnum(compare.getComparisonDirection()));
    if (compare.getCompareType() == stablehlo::ComparisonType::TOTALORDER)
      return std::string("ops::") + function + "(ops::total_order(" + operands[0] + "), ops::total_order(" +
             operands[1] + "))";
    // Of an unsigned number that is never below zero, and of one that is compared with itself, compilers
    // complain, but not in a function.
    if (tensor::info(from).bits >= 32 && !tensor::isComplex(from) && tensor::info(from).kind != tensor::Kind::Unsigned &&
        operands[0] != operands[1])
      return "(" + operands[0] + sign + operands[1] + ")";
    return std::string("ops::") + function + "(" + operands[0] + ", " + operands[1] + ")";
  }
  if (name == "convert")
    return from == to ? operands[0] : "ops::convert<" + cppType(to) + ">(" + operands[0] + ")";
  static const llvm::StringMap<const char *> kInfix = {
      {"add", " + "}, {"subtract", " - "}, {"multiply", " * "}, {"divide", " / "}};
  if (from == DType::F32 || from == DType::F64) {
    if (const char *sign = kInfix.lookup(name))
      return "(" + operands[0] + sign + operands[1] + ")";
    if (name == "negate")
      return operands[0].front() == '-' ? "-(" + operands[0] + ")" : "-" + operands[0];
  }
  if (name == "select")
    return "(" + operands[0] + " ? " + operands[1] + " : " + operands[2] + ")";
  std::vector<std::string> parts(operands.begin(), operands.end());
  for (const OpArgument &argument : call->arguments)
    if (auto *number = std::get_if<int64_t>(&argument.value))
      parts.push_back(std::to_string(*number));
  return "ops::" + call->function + "(" + llvm::join(parts, ", ") + ")";
}

Result<std::string> CppWriter::readingText(mlir::Value value, Loop &loop) {
  mlir::Value source = value;
  ArrayRef<int64_t> shape = loop.type.getShape();
  std::vector<int64_t> steps(shape.size(), 0);
  Operation *op = value.getDefiningOp();
  if (isReadInPlace(op)) {
    source = op->getOperand(0);
    ArrayRef<int64_t> from = shapeOfType(source.getType());
    std::vector<int64_t> own = rowMajorSteps(from);
    if (auto broadcast = dyn_cast<stablehlo::BroadcastInDimOp>(op)) {
      for (auto [i, d] : llvm::enumerate(broadcast.getBroadcastDimensions()))
        steps[size_t(d)] = from[i] == 1 ? 0 : own[i];
    } else {
      for (auto [d, i] : llvm::enumerate(cast<stablehlo::TransposeOp>(op).getPermutation()))
        steps[d] = own[size_t(i)];
    }
  } else if (cast<RankedTensorType>(value.getType()).getRank() == int64_t(shape.size())) {
    steps = rowMajorSteps(shapeOfType(value.getType()));
  } // else a scalar for all
  if (auto found = literals.find(source); found != literals.end())
    return found->second;
  Reading reading{nameOf(source), cppType(storedAs(source.getType())), steps};
  size_t number = 0;
  while (number < loop.readings.size() && !(loop.readings[number].tensor == reading.tensor &&
                                            loop.readings[number].steps == reading.steps))
    ++number;
  if (number == loop.readings.size())
    loop.readings.push_back(reading);
  return "@" + std::to_string(number) + "@";
}

Result<std::string> CppWriter::inlined(mlir::Value value, Loop &loop) {
  if (auto found = loop.known.find(value); found != loop.known.end())
    return found->second;
  if (auto found = literals.find(value); found != literals.end())
    return found->second;
  Operation *op = value.getDefiningOp();
  bool isComputedHere = op && op->getBlock() == loop.root->getBlock() && isMap(op) && loopOf(op) == loop.root;
  if (!isComputedHere)
    return readingText(value, loop);
  std::vector<std::string> operands;
  for (mlir::Value operand : op->getOperands()) {
    Result<std::string> text = inlined(operand, loop);
    if (!text)
      return text;
    operands.push_back(*text);
  }
  Result<std::string> text = elementText(op, operands);
  if (!text)
    return text;
  if (!value.hasOneUse() || text->size() > kLongestExpression) {
    std::string name = scope.numbered("v");
    loop.statements.push_back("const " + cppType(storedAs(value.getType())) + " " + name + " = " + *text + ";");
    text = name;
  }
  loop.known[value] = *text;
  return text;
}

/// Replaces `@3@` by what stands for the element of reading 3.
static std::string withElements(StringRef text, ArrayRef<std::string> elements) {
  std::string result;
  while (true) {
    auto [before, rest] = text.split('@');
    result += before;
    if (rest.empty())
      return result;
    auto [number, after] = rest.split('@');
    result += elements[std::stoul(number.str())];
    text = after;
  }
}

/// "(a + b)" on its own is "a + b".
static std::string withoutOuter(const std::string &text) {
  if (text.size() < 2 || text.front() != '(' || text.back() != ')')
    return text;
  int open = 0;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    open += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (open == 0)
      return text;
  }
  return text.substr(1, text.size() - 2);
}

CppWriter::LoopPlan CppWriter::planOf(const Loop &loop) {
  LoopPlan plan;
  std::vector<int64_t> &sizes = plan.sizes;
  std::vector<std::vector<int64_t>> &steps = plan.steps;
  steps.resize(loop.readings.size());
  for (int64_t d = 0; d < loop.type.getRank(); ++d) {
    int64_t size = loop.type.getShape()[d];
    if (size == 1)
      continue;
    bool joins = !sizes.empty();
    for (size_t r = 0; r < steps.size() && joins; ++r)
      joins = steps[r].back() == loop.readings[r].steps[d] * size;
    if (joins)
      sizes.back() *= size;
    else
      sizes.push_back(size);
    for (size_t r = 0; r < steps.size(); ++r) {
      if (joins)
        steps[r].back() = loop.readings[r].steps[d];
      else
        steps[r].push_back(loop.readings[r].steps[d]);
    }
  }
  if (sizes.empty()) {
    sizes.push_back(1);
    for (auto &list : steps)
      list.push_back(0);
  }
  plan.inner = sizes.back();
  for (size_t d = 0; d + 1 < sizes.size(); ++d)
    plan.outer *= sizes[d];
  plan.isFlat = plan.outer == 1;
  return plan;
}

void CppWriter::writeLoopBody(const Loop &loop, const LoopPlan &plan, const std::string &value,
                              const std::string &begin, const std::string &end) {
  auto offsetText = [&](const std::vector<int64_t> &list) {
    std::vector<std::string> terms;
    int64_t below = 1;
    for (size_t d = plan.sizes.size() - 1; d-- > 0; below *= plan.sizes[d]) {
      if (list[d] == 0)
        continue;
      // Of empty tensors no row is run, and compilers read what stands there all the same.
      std::string term = below <= 1 ? "row" : "row / " + std::to_string(below);
      if (d > 0)
        term += " % " + std::to_string(std::max<int64_t>(1, plan.sizes[d]));
      terms.push_back(list[d] == 1 ? term : term + " * " + std::to_string(list[d]));
    }
    return terms.empty() ? std::string() : " + " + llvm::join(terms, " + ");
  };
  std::vector<std::string> elements;
  for (size_t r = 0; r < loop.readings.size(); ++r) {
    const Reading &reading = loop.readings[r];
    StringRef base = StringRef(reading.tensor).rsplit('.').second;
    std::string pointer = scope.unique(identifierOf(base.empty() ? reading.tensor : base, "x") + "_p");
    line("const " + reading.type + " *" + pointer + " = " + reading.tensor + ".data()" +
         (plan.isFlat ? "" : offsetText(plan.steps[r])) + ";");
    int64_t step = plan.steps[r].back();
    elements.push_back(step == 0   ? "*" + pointer
                       : step == 1 ? pointer + "[i]"
                                   : pointer + "[i * " + std::to_string(step) + "]");
  }
  bool isShort = loop.statements.empty();
  line("for (int64_t i = " + begin + "; i < " + end + "; ++i)" + (isShort ? "" : " {"));
  ++depth;
  for (const std::string &statement : loop.statements)
    line(withElements(statement, elements));
  line("to[i] = " + withoutOuter(withElements(value, elements)) + ";");
  --depth;
  if (!isShort)
    line("}");
}

void CppWriter::writeLoop(const Loop &loop, const std::string &result, const std::string &value) {
  LoopPlan plan = planOf(loop);
  std::string inner = std::to_string(plan.inner), type = cppType(storedAs(loop.type));
  int64_t grain = plan.isFlat ? kGrain : std::max<int64_t>(1, kGrain / std::max<int64_t>(plan.inner, 1));
  line("ops::parallel_for(" + (plan.isFlat ? inner : std::to_string(plan.outer)) + ", " + std::to_string(grain) +
       ", [&](int64_t begin, int64_t end) {");
  ++depth;
  if (plan.isFlat) {
    line(type + " *__restrict to = " + result + ".data();");
    writeLoopBody(loop, plan, value, "begin", "end");
  } else {
    line("for (int64_t row = begin; row < end; ++row) {");
    ++depth;
    line(type + " *__restrict to = " + result + ".data() + row * " + inner + ";");
    writeLoopBody(loop, plan, value, "0", inner);
    --depth;
    line("}");
  }
  --depth;
  line("});");
}

Result<std::string> CppWriter::loopText(Operation *root, Loop &loop) {
  loop.type = cast<RankedTensorType>(root->getResult(0).getType());
  loop.root = root;
  std::vector<std::string> operands;
  for (mlir::Value operand : root->getOperands()) {
    Result<std::string> text = inlined(operand, loop);
    if (!text)
      return text;
    operands.push_back(*text);
  }
  return elementText(root, operands);
}

Status CppWriter::writeMap(Operation *op) {
  if (loopOf(op) != op)
    return {}; // Computed where it is needed.
  if (Result<bool> isWritten = writeFinishedKernel(op); !isWritten || *isWritten)
    return isWritten ? Status() : isWritten.error();
  Loop loop;
  Result<std::string> value = loopText(op, loop);
  if (!value)
    return value.error();
  if (loop.type.getRank() == 0 && loop.statements.empty()) {
    std::vector<std::string> elements;
    for (const Reading &reading : loop.readings)
      elements.push_back(reading.tensor + ".item()");
    return define(op, cppTensorType(loop.type) + "(" + withoutOuter(withElements(*value, elements)) + ")");
  }
  std::string name = newName(op->getResult(0), stemOf(op));
  std::vector<int64_t> shape(loop.type.getShape().begin(), loop.type.getShape().end());
  line(cppTensorType(loop.type) + " " + name + "(" + listText(shape) + ");" + commentText(noteOn(op)));
  writeLoop(loop, name, *value);
  return {};
}

Result<std::string> CppWriter::mapCall(Operation *op, ArrayRef<std::string> operands) {
  std::vector<std::string> parameters, names;
  for (mlir::Value operand : op->getOperands()) {
    names.push_back(scope.numbered("x"));
    parameters.push_back(cppType(computedAs(operand.getType())) + " " + names.back());
  }
  Result<std::string> text = elementText(op, names);
  if (!text)
    return text;
  return "ops::map_elements([](" + llvm::join(parameters, ", ") + ") { return " + withoutOuter(*text) + "; }, " +
         llvm::join(operands, ", ") + ")";
}

Status CppWriter::writeElementwise(Operation *op) {
  if (isOnElements) {
    std::vector<std::string> operands;
    for (mlir::Value operand : op->getOperands())
      operands.push_back(nameOf(operand));
    Result<std::string> text = elementText(op, operands);
    if (!text)
      return text.error();
    mlir::Value result = op->getResult(0);
    if (result.hasOneUse() && text->size() <= kLongestExpression) {
      setName(result, *text);
      return {};
    }
    line("const " + cppType(storedAs(result.getType())) + " " + newName(result, "v") + " = " + withoutOuter(*text) +
         ";");
    return {};
  }
  if (isMap(op))
    return writeMap(op);
  if (llvm::any_of(op->getOperandTypes(), isQuantized) || isQuantized(op->getResult(0).getType()))
    return writeQuantized(op);
  Result<std::string> text = mapCall(op, textsOf(op->getOperands()));
  if (!text)
    return text.error();
  return define(op, *text);
}

} // namespace cupel::compiler::standalone
