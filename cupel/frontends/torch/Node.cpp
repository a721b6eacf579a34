#include "cupel/frontends/torch/Node.h"

#include "cupel/frontends/torch/Importer.h"
#include "cupel/frontends/torch/Promotion.h"
#include "cupel/frontends/torch/ops/Lowering.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cupel::frontends::torch_import {

using namespace mlir;
using tensor::Tensor;

Node::Node(Importer &importer, HloBuilder &builder, std::string name)
    : b(builder), importer(importer), name(std::move(name)) {}

StringRef Node::overload() const { return StringRef(name).rsplit('.').second; }
bool Node::failed() const { return importer.failure.has_value(); }

//===----------------------------------------------------------------------===//
// Complaints
//===----------------------------------------------------------------------===//

static std::string describeArguments(const std::vector<std::pair<std::string, Resolved>> &all) {
  std::string text;
  auto type = [](const Item &item) {
    auto tensor = llvm::cast<RankedTensorType>(item.value.getType());
    std::string element;
    llvm::raw_string_ostream(element) << tensor.getElementType();
    return fmt::format("{}[{}]", element, fmt::join(tensor.getShape(), ","));
  };
  for (const auto &[name, resolved] : all) {
    std::string one;
    if (resolved.item.value) {
      one = type(resolved.item);
    } else if (!resolved.items.empty()) {
      for (const Item &item : resolved.items)
        one += (one.empty() ? "[" : ", ") + (item.value ? type(item) : "None");
      one += "]";
    } else if (const auto *integer = resolved.argument.as<int64_t>()) {
      one = std::to_string(*integer);
    } else if (const auto *integers = resolved.argument.as<std::vector<int64_t>>()) {
      one = fmt::format("[{}]", fmt::join(*integers, ","));
    } else if (const auto *real = resolved.argument.as<double>()) {
      one = fmt::format("{}", *real);
    } else if (const auto *flag = resolved.argument.as<bool>()) {
      one = *flag ? "true" : "false";
    } else if (const auto *text = resolved.argument.as<std::string>()) {
      one = "'" + *text + "'";
    } else {
      continue;
    }
    text += (text.empty() ? "" : ", ") + name + "=" + one;
  }
  return text.size() > 400 ? text.substr(0, 400) + "..." : text;
}

void Node::refuse(ErrorCode code, const std::string &message) {
  importer.refuse(code, message + " (" + describeArguments(arguments) + ")");
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

const Resolved *Node::find(StringRef argument) const {
  for (const auto &[key, resolved] : arguments)
    if (argument == key)
      return &resolved;
  return nullptr;
}

bool Node::has(StringRef argument) const {
  const Resolved *found = find(argument);
  return found && !found->argument.isNone();
}

bool Node::isTensor(StringRef argument) const {
  const Resolved *found = find(argument);
  return found && found->item.value;
}

/// A number among arguments, as a Scalar.
static std::optional<Scalar> scalarOf(const Resolved &resolved) {
  Scalar scalar;
  if (resolved.item.number)
    return resolved.item.number;
  if (const auto *integer = resolved.argument.as<int64_t>()) {
    scalar = {Scalar::Kind::Integer, *integer, double(*integer)};
  } else if (const auto *real = resolved.argument.as<double>()) {
    scalar = {Scalar::Kind::Real, 0, *real};
  } else if (const auto *flag = resolved.argument.as<bool>()) {
    scalar = {Scalar::Kind::Bool, *flag, double(*flag)};
  } else if (const auto *complex = resolved.argument.as<std::complex<double>>()) {
    scalar = {Scalar::Kind::Complex, 0, *complex};
  } else {
    return std::nullopt;
  }
  return scalar;
}

static Value numberConstant(HloBuilder &b, const Scalar &scalar, Type element) {
  if (auto complex = dyn_cast<ComplexType>(element)) {
    Value real = b.splat(scalar.number.real(), complex.getElementType());
    Value imaginary = b.splat(scalar.number.imag(), complex.getElementType());
    return b.builder().create<stablehlo::ComplexOp>(
        b.location(), TypeRange{RankedTensorType::get({}, element)}, ValueRange{real, imaginary});
  }
  if (element.isInteger(1))
    return b.splatInteger(scalar.kind == Scalar::Kind::Real || scalar.kind == Scalar::Kind::Complex
                              ? scalar.number != 0.0
                              : scalar.integer != 0,
                          element);
  if (scalar.kind == Scalar::Kind::Integer || scalar.kind == Scalar::Kind::Bool)
    return b.splatInteger(scalar.integer, element);
  if (isa<IntegerType>(element)) {
    double value = std::trunc(scalar.real());
    bool fits = std::abs(value) < 9.2e18;
    return b.splatInteger(fits ? int64_t(value) : value > 0 ? INT64_MAX : INT64_MIN, element);
  }
  return b.splat(scalar.real(), element);
}

/// Parts rounded to f16.
static Value withHalfParts(HloBuilder &b, Value complex) {
  auto rounded = [&](Value part) { return b.convert(b.convert(part, b.f16()), b.f32()); };
  return b.builder().create<stablehlo::ComplexOp>(
      b.location(), TypeRange{complex.getType()},
      ValueRange{rounded(b.unary<stablehlo::RealOp>(complex, b.f32())),
                 rounded(b.unary<stablehlo::ImagOp>(complex, b.f32()))});
}

Value Node::in(StringRef argument) {
  const Resolved *found = find(argument);
  if (found && found->item.value)
    return found->item.value;
  if (found)
    if (std::optional<Scalar> scalar = scalarOf(*found)) {
      Type element = scalar->kind == Scalar::Kind::Bool      ? b.i1()
                     : scalar->kind == Scalar::Kind::Integer ? b.i64()
                     : scalar->kind == Scalar::Kind::Real    ? b.f64()
                                                             : Type(ComplexType::get(b.f64()));
      return numberConstant(b, *scalar, element);
    }
  fail("the argument '" + argument.str() + "' should be a tensor" +
       (found ? "" : ", but this overload does not have it"));
  return b.splat(0, b.f32());
}

Value Node::in(StringRef argument, Type element) {
  const Resolved *found = find(argument);
  if (found && !found->item.value)
    if (std::optional<Scalar> scalar = scalarOf(*found)) {
      Value number = numberConstant(b, *scalar, element);
      // What complex32 is computed from is complex32, numbers too.
      bool rounds = !results.empty() && results[0].hasHalfParts && HloBuilder::isComplex(number);
      return rounds ? withHalfParts(b, number) : number;
    }
  return cast(b, in(argument), element);
}

bool Node::isWrapped(StringRef argument) const {
  const Resolved *found = find(argument);
  return found && !found->item.value && scalarOf(*found);
}

SmallVector<Value> Node::list(StringRef argument) {
  const Resolved *found = find(argument);
  SmallVector<Value> values;
  if (!found) {
    fail("the argument '" + argument.str() + "' is asked for, but this overload does not have it");
    return values;
  }
  if (found->item.value)
    return {found->item.value};
  for (const Item &item : found->items) {
    if (item.value || !item.number)
      values.push_back(item.value);
    else
      values.push_back(numberConstant(b, *item.number,
                                      item.number->kind == Scalar::Kind::Real ? b.f64() : b.i64()));
  }
  return values;
}

std::optional<Tensor> Node::known(StringRef argument) const {
  const Resolved *found = find(argument);
  if (!found)
    return std::nullopt;
  if (found->item.known)
    return found->item.known;
  return found->item.value ? importer.evaluate(found->item.value) : std::nullopt;
}

std::optional<Tensor> Node::known(Value value) const { return importer.evaluate(value); }

Dims Node::strides(StringRef argument) const {
  const Resolved *found = find(argument);
  return found && found->item.alias ? found->item.alias->strides : Dims();
}

int64_t Node::offset(StringRef argument) const {
  const Resolved *found = find(argument);
  return found && found->item.alias ? found->item.alias->offset : 0;
}

Scalar Node::scalar(StringRef argument) {
  const Resolved *found = find(argument);
  if (found) {
    if (std::optional<Scalar> scalar = scalarOf(*found))
      return *scalar;
    // A Scalar may be a tensor of one element whose value is known.
    if (found->item.value)
      if (std::optional<Tensor> value = importer.evaluate(found->item.value);
          value && value->size() == 1)
        return scalarOfTensor(*value);
  }
  fail("the argument '" + argument.str() + "' should be a number");
  return {Scalar::Kind::Integer, 1, 1};
}

int64_t Node::integer(StringRef argument, int64_t missing) {
  const Resolved *found = find(argument);
  if (!found || found->argument.isNone())
    return missing;
  Scalar value = scalar(argument);
  return value.kind == Scalar::Kind::Real ? int64_t(value.real()) : value.integer;
}

double Node::real(StringRef argument, double missing) {
  const Resolved *found = find(argument);
  if (!found || found->argument.isNone())
    return missing;
  return scalar(argument).real();
}

bool Node::flag(StringRef argument, bool missing) {
  const Resolved *found = find(argument);
  if (!found || found->argument.isNone())
    return missing;
  Scalar value = scalar(argument);
  return value.number != 0.0;
}

std::string Node::text(StringRef argument, StringRef missing) {
  const Resolved *found = find(argument);
  if (!found || found->argument.isNone())
    return missing.str();
  if (const auto *text = found->argument.as<std::string>())
    return *text;
  fail("the argument '" + argument.str() + "' should be a string");
  return missing.str();
}

Dims Node::integers(StringRef argument) {
  const Resolved *found = find(argument);
  if (!found || found->argument.isNone())
    return {};
  if (const auto *list = found->argument.as<std::vector<int64_t>>())
    return Dims(list->begin(), list->end());
  if (const auto *one = found->argument.as<int64_t>())
    return {*one};
  // An empty list may be written as one of another kind.
  if (const auto *names = found->argument.as<std::vector<Name>>(); names && names->empty())
    return {};
  if (const auto *reals = found->argument.as<std::vector<double>>(); reals && reals->empty())
    return {};
  if (const auto *flags = found->argument.as<std::vector<bool>>()) {
    Dims values;
    for (bool flag : *flags)
      values.push_back(flag);
    return values;
  }
  fail("the argument '" + argument.str() + "' should be a list of integers");
  return {};
}

SmallVector<double> Node::reals(StringRef argument) {
  const Resolved *found = find(argument);
  if (!found || found->argument.isNone())
    return {};
  if (const auto *list = found->argument.as<std::vector<double>>())
    return SmallVector<double>(list->begin(), list->end());
  if (const auto *list = found->argument.as<std::vector<int64_t>>())
    return SmallVector<double>(list->begin(), list->end());
  if (std::optional<Scalar> scalar = scalarOf(*found))
    return {scalar->real()};
  if (const auto *names = found->argument.as<std::vector<Name>>(); names && names->empty())
    return {};
  fail("the argument '" + argument.str() + "' should be a list of numbers");
  return {};
}

SmallVector<bool> Node::flags(StringRef argument) {
  const Resolved *found = find(argument);
  if (!found || found->argument.isNone())
    return {};
  if (const auto *list = found->argument.as<std::vector<bool>>())
    return SmallVector<bool>(list->begin(), list->end());
  if (const auto *one = found->argument.as<bool>())
    return {*one};
  fail("the argument '" + argument.str() + "' should be a list of true and false");
  return {};
}

Type Node::dtype(StringRef argument) {
  const Resolved *found = find(argument);
  if (!found || found->argument.isNone())
    return {};
  if (const auto *type = found->argument.as<tensor::DType>())
    return elementTypeFor(b.context(), *type);
  fail("the argument '" + argument.str() + "' should be an element type");
  return b.f32();
}

Dims Node::repeated(StringRef argument, size_t count, ArrayRef<int64_t> missing) {
  Dims values = integers(argument);
  if (values.empty())
    values.assign(missing.begin(), missing.end());
  if (values.size() == 1)
    values.resize(count, values[0]);
  if (values.size() != count) {
    fail(fmt::format("the argument '{}' should have {} numbers, not {}", std::string_view(argument),
                     count, values.size()));
    values.resize(count, 1);
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Dimensions and types
//===----------------------------------------------------------------------===//

int64_t Node::wrapDim(int64_t dim, int64_t rank) {
  int64_t range = std::max<int64_t>(rank, 1);
  if (dim < -range || dim >= range) {
    fail(fmt::format("dimension {} is out of range for rank {}", dim, rank));
    return 0;
  }
  return dim < 0 ? dim + range : dim;
}

int64_t Node::dim(StringRef argument, int64_t rank) { return wrapDim(integer(argument), rank); }

Dims Node::dims(StringRef argument, int64_t rank, bool emptyIsAll) {
  Dims given = integers(argument), result;
  if (given.empty() && emptyIsAll) {
    for (int64_t i = 0; i < rank; ++i)
      result.push_back(i);
    return result;
  }
  for (int64_t value : given) {
    int64_t wrapped = wrapDim(value, rank);
    if (rank > 0 && !llvm::is_contained(result, wrapped))
      result.push_back(wrapped);
  }
  return result;
}

Type Node::promote(ArrayRef<StringRef> names) {
  Promotion promotion(b.context());
  for (StringRef argument : names) {
    const Resolved *found = find(argument);
    if (!found || found->argument.isNone())
      continue;
    if (found->item.value)
      promotion.add(found->item.value);
    else if (std::optional<Scalar> scalar = scalarOf(*found))
      promotion.add(*scalar);
    for (const Item &item : found->items)
      if (item.value)
        promotion.add(item.value);
  }
  return promotion.result();
}

Type Node::promoteToFloat(ArrayRef<StringRef> names) {
  Type type = promote(names);
  return isa<IntegerType>(type) ? b.f32() : type;
}

Type Node::computeType(Type element) {
  if (auto real = dyn_cast<FloatType>(element))
    return real.getWidth() < 32 ? b.f32() : element;
  return element;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

bool Node::wants(size_t i) const { return i < results.size() && results[i].wanted; }

RankedTensorType Node::resultType(size_t i) const {
  return i < results.size() && !results[i].types.empty() ? results[i].types[0] : RankedTensorType();
}

ArrayRef<int64_t> Node::resultShape(size_t i) const {
  RankedTensorType type = resultType(i);
  return type ? type.getShape() : ArrayRef<int64_t>();
}

Type Node::resultElement(size_t i) const {
  RankedTensorType type = resultType(i);
  return type ? type.getElementType() : Type(Float32Type::get(b.context()));
}

ArrayRef<RankedTensorType> Node::resultTypes(size_t i) const {
  return i < results.size() ? ArrayRef<RankedTensorType>(results[i].types)
                            : ArrayRef<RankedTensorType>();
}

/// The value in the declared type; null (after a complaint) if its shape is another.
static Value conform(Node &node, HloBuilder &b, Value value, RankedTensorType type, size_t i,
                     bool halfParts) {
  if (!value || node.failed())
    return {};
  if (HloBuilder::shapeOf(value) != type.getShape()) {
    node.fail(fmt::format("result {} was computed with shape [{}], the program declares [{}]: an "
                          "error in Cupel or in the program",
                          i, fmt::join(HloBuilder::shapeOf(value), ","),
                          fmt::join(type.getShape(), ",")));
    return {};
  }
  Type element = type.getElementType();
  value = HloBuilder::elementOf(value) == element ? value : cast(b, value, element);
  return halfParts ? withHalfParts(b, value) : value;
}

void Node::out(size_t i, Value value) {
  if (i >= results.size() || results[i].types.empty())
    return; // The program does not take this result.
  results[i].items = {Item{}};
  results[i].items[0].value =
      conform(*this, b, value, results[i].types[0], i, results[i].hasHalfParts);
}

void Node::outList(size_t i, ArrayRef<Value> values) {
  if (i >= results.size())
    return;
  // A list of one may be declared as a tensor, and the other way round.
  Result &result = results[i];
  if (values.size() != result.types.size()) {
    fail(fmt::format("result {} is a list of {} tensors, the program declares {}", i, values.size(),
                     result.types.size()));
    return;
  }
  result.items.clear();
  for (auto [value, type] : llvm::zip(values, result.types)) {
    Item item;
    item.value = conform(*this, b, value, type, i, result.hasHalfParts);
    result.items.push_back(item);
  }
}

void Node::write(StringRef argument, Value value) {
  const Resolved *found = find(argument);
  if (!found || !found->item.alias)
    return fail("writes to '" + argument.str() + "', which is no tensor");
  RankedTensorType type = HloBuilder::typeOf(importer.read(*found->item.alias));
  if (HloBuilder::shapeOf(value) != type.getShape())
    return fail("the new value of '" + argument.str() + "' has another shape");
  importer.write(*found->item.alias, cast(b, value, type.getElementType()));
}

void Node::outNumber(size_t i, Scalar number) {
  if (i >= results.size())
    return;
  results[i].items = {Item{}};
  results[i].items[0].number = number;
}

SmallVector<Value> Node::inlineGraph(StringRef argument, ValueRange inputs) {
  const Resolved *found = find(argument);
  const SubGraph *sub = found ? found->argument.as<SubGraph>() : nullptr;
  SmallVector<Value> values;
  if (!sub) {
    fail("the argument '" + argument.str() + "' should be a graph");
    return values;
  }
  SmallVector<Entry> entries;
  for (Value input : inputs)
    entries.push_back(importer.fresh(input));
  cupel::Result<std::vector<Entry>> results = importer.inlineGraph(*sub->graph, entries);
  if (!results)
    return values;
  for (const Entry &entry : *results)
    values.push_back(entry.tensor ? importer.read(*entry.tensor) : Value());
  return values;
}

} // namespace cupel::frontends::torch_import
