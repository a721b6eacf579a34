#include "cupel/calls/LapackCall.h"

#include "cupel/support/Error.h"

namespace cupel::calls::lapack {

using tensor::DType;
using tensor::Shape;

namespace {

DType realOf(DType type) {
  return type == DType::C64 ? DType::F32 : type == DType::C128 ? DType::F64 : type;
}
DType complexOf(DType type) {
  return type == DType::F32 ? DType::C64 : type == DType::F64 ? DType::C128 : type;
}

/// One word of a signature.
struct Part {
  DType type;
  std::string_view letters;
};

std::vector<Part> parse(std::string_view text, DType type) {
  std::vector<Part> parts;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty())
      continue;
    DType partType = word[0] == 'R'   ? realOf(type)
                     : word[0] == 'C' ? complexOf(type)
                     : word[0] == 'i' ? DType::I32
                                      : type;
    parts.push_back({partType, word.substr(2)});
  }
  return parts;
}

} // namespace

Result<Batches> Batches::open(const CustomCall &call, std::string_view signature, DType type) {
  size_t arrow = signature.find("->");
  std::vector<Part> inputs = parse(signature.substr(0, arrow), type);
  std::vector<Part> outputs = parse(signature.substr(arrow + 2), type);
  auto wrong = [&](std::string what) {
    return Error{"custom call @" + std::string(call.target) + " " + what + " (it is " +
                 std::string(signature) + ")"};
  };
  if (inputs.size() != call.operands.size() || outputs.size() != call.results.size())
    return wrong("has " + std::to_string(call.operands.size()) + " operands and " +
                 std::to_string(call.results.size()) + " results");

  Batches batches;
  std::array<bool, 26> known{};
  std::optional<Shape> stackShape;
  auto check = [&](const Part &part, const tensor::ElementType &element,
                   std::span<const int64_t> shape, int64_t &piece) -> Status {
    if (element != tensor::ElementType(part.type))
      return wrong("has a part of type " + element.str() + " where " +
                   tensor::ElementType(part.type).str() + " belongs");
    size_t own = part.letters.size();
    if (shape.size() < own)
      return wrong("has a part of rank " + std::to_string(shape.size()));
    Shape stack(shape.begin(), shape.end() - own);
    if (stackShape && *stackShape != stack)
      return wrong("has parts whose leading dimensions differ");
    stackShape = stack;
    piece = 1;
    for (size_t i = 0; i < own; ++i) {
      int64_t dim = shape[shape.size() - own + i];
      size_t letter = part.letters[i] - 'a';
      if (dim < 0 || dim > std::numeric_limits<lapack_int>::max())
        return wrong("has a size LAPACK cannot count");
      if (known[letter] && batches.sizes[letter] != dim)
        return wrong(std::string("has sizes that disagree on ") + part.letters[i]);
      known[letter] = true;
      batches.sizes[letter] = dim;
      piece *= dim;
    }
    return {};
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    Result<tensor::Tensor> operand = call.operands[i].contiguous();
    if (!operand)
      return operand.error();
    batches.operandPieces.push_back(0);
    if (Status status = check(inputs[i], operand->elementType(), operand->shape(),
                              batches.operandPieces.back());
        !status)
      return status.error();
    batches.operands.push_back(std::move(*operand));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    batches.resultPieces.push_back(0);
    if (Status status = check(outputs[i], call.results[i].element, call.results[i].shape,
                              batches.resultPieces.back());
        !status)
      return status.error();
    Result<tensor::Tensor> result =
        tensor::Tensor::zeros(call.results[i].element, call.results[i].shape);
    if (!result)
      return result.error();
    batches.results.push_back(std::move(*result));
  }
  for (int64_t dim : stackShape.value_or(Shape{}))
    batches.stack *= dim;
  return batches;
}

void addFamily(CallRegistry &registry, std::string_view real, std::string_view complex, Plain s,
               Plain d, Plain c, Plain z) {
  auto add = [&](char letter, std::string_view name, Plain handler) {
    if (!handler)
      return;
    Status status =
        registry.add("lapack_" + std::string(1, letter) + std::string(name) + "_ffi", handler);
    assert(status && "two families of one name");
    (void)status;
  };
  add('s', real, s);
  add('d', real, d);
  add('c', complex, c);
  add('z', complex, z);
}

} // namespace cupel::calls::lapack

namespace cupel::calls {

void registerLapack(CallRegistry &registry) {
  // A NaN in an operand must come out as NaN, not as an error of the interface.
  LAPACKE_set_nancheck(0);
  lapack::addFactorizations(registry);
  lapack::addEigenvalues(registry);
  lapack::addSolvers(registry);
}

} // namespace cupel::calls
