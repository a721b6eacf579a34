#include "cupel/testbench/worker/ProgramInputs.h"

#include "cupel/ir/bytecode/ProgramBytes.h"
#include "cupel/tensor/Fill.h"
#include "cupel/tensor/Print.h"
#include "cupel/tensor/Safetensors.h"

#include <algorithm>
#include <unistd.h>

namespace cupel::testbench::worker {

namespace {

using tensor::Tensor;

/// Whether a tensor can stand where `type` is asked for; sizes known at run time match any.
bool fits(const Tensor &tensor, const ValueType &type) {
  if (tensor.dtype() != type.element.storage || tensor.shape().size() != type.shape.size())
    return false;
  for (size_t i = 0; i < type.shape.size(); ++i)
    if (type.shape[i] != kDynamicSize && type.shape[i] != tensor.shape()[i])
      return false;
  return true;
}

/// Picks the tensors of a file for `types` by position or name.
Result<std::vector<Tensor>> pick(const std::string &path, const std::vector<ValueType> &types,
                                 std::string_view what) {
  Result<tensor::Safetensors> read = tensor::readSafetensors(path);
  if (!read)
    return read.error();
  std::vector<Tensor> picked;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!types[i].isTensor)
      continue;
    std::string position = std::to_string(i);
    auto found = std::ranges::find_if(read->tensors, [&](const auto &entry) {
      return entry.first == position || (!types[i].name.empty() && entry.first == types[i].name);
    });
    if (found == read->tensors.end())
      return Error{path + ": holds no tensor '" + position + "'" +
                   (types[i].name.empty() ? "" : " or '" + types[i].name + "'") + " for " +
                   std::string(what) + " " + position};
    Tensor value = found->second;
    if (types[i].element.quantization && value.dtype() == types[i].element.storage)
      value = value.withElementType(types[i].element);
    if (!fits(value, types[i]))
      return Error{path + ": tensor '" + found->first + "' is " +
                   tensor::describe(value.elementType(), value.shape()) + ", but " +
                   std::string(what) + " " + position + " is " +
                   tensor::describe(types[i].element, types[i].shape)};
    picked.push_back(std::move(value));
  }
  if (picked.size() != read->tensors.size())
    return Error{path + ": holds " + std::to_string(read->tensors.size()) + " tensors for " +
                 std::to_string(picked.size()) + " of the program's " + std::string(what) + "s"};
  return picked;
}

} // namespace

std::string companionFile(const std::string &file, uint32_t part, std::string_view kind) {
  std::string path = ir::programStem(file) + (part ? "." + std::to_string(part) : "") + "." +
                     std::string(kind) + ".safetensors";
  return access(path.c_str(), F_OK) == 0 ? path : std::string();
}

/// A random value for an argument.
static Result<Tensor> makeUp(const Program &program, size_t i, uint64_t seed) {
  const ValueType &type = program.arguments[i];
  std::string position = "argument " + std::to_string(i);
  if (!type.isTensor)
    return Error{program.name + ": " + position + " is no tensor and cannot be made up"};
  if (std::ranges::count(type.shape, kDynamicSize))
    return Error{program.name + ": " + position +
                 " has a size that is known at run time only; put inputs beside the program as "
                 "NAME.inputs.safetensors"};
  Result<Tensor> made =
      tensor::randomTensor(type.element, type.shape, tensor::defaultFill(type.element), {seed, i});
  if (!made)
    return made.error().within(program.name + ": " + position);
  return made;
}

/// The weights that were written beside a program, by name.
static Result<std::map<std::string, Tensor>> weightsFor(const std::string &file, uint32_t part) {
  std::map<std::string, Tensor> weights;
  std::string path = companionFile(file, part, "weights");
  if (path.empty())
    return weights;
  Result<tensor::Safetensors> read = tensor::readSafetensors(path);
  if (!read)
    return read.error();
  for (auto &[name, value] : read->tensors)
    weights.emplace(name, std::move(value));
  return weights;
}

Result<std::vector<Tensor>> inputsFor(const Program &program, const std::string &file,
                                      uint32_t part, uint64_t seed) {
  if (program.arguments.empty())
    return std::vector<Tensor>();
  Result<std::map<std::string, Tensor>> weights = weightsFor(file, part);
  if (!weights)
    return weights.error();
  // Weights stand behind the inputs.
  size_t count = program.arguments.size();
  while (count && weights->contains(program.arguments[count - 1].name))
    --count;
  std::vector<ValueType> types(program.arguments.begin(),
                               program.arguments.begin() + int64_t(count));
  std::vector<Tensor> inputs;
  if (std::string path = companionFile(file, part, "inputs"); !path.empty()) {
    Result<std::vector<Tensor>> picked = pick(path, types, "argument");
    if (!picked)
      return picked;
    inputs = std::move(*picked);
  } else {
    for (size_t i = 0; i < count; ++i) {
      Result<Tensor> made = makeUp(program, i, seed);
      if (!made)
        return made.error();
      inputs.push_back(std::move(*made));
    }
  }
  for (size_t i = count; i < program.arguments.size(); ++i) {
    const ValueType &type = program.arguments[i];
    Tensor &weight = weights->at(type.name);
    if (!fits(weight, type))
      return Error{companionFile(file, part, "weights") + ": tensor '" + type.name + "' is " +
                   tensor::describe(weight.elementType(), weight.shape()) + ", but argument " +
                   std::to_string(i) + " is " + tensor::describe(type.element, type.shape)};
    inputs.push_back(std::move(weight));
  }
  return inputs;
}

Result<std::map<std::string, Tensor>> namedInputsFor(const std::vector<std::string> &names,
                                                     const std::string &file, uint32_t part) {
  std::map<std::string, Tensor> inputs;
  std::string path = companionFile(file, part, "inputs");
  if (path.empty())
    return inputs;
  Result<tensor::Safetensors> read = tensor::readSafetensors(path);
  if (!read)
    return read.error();
  for (const auto &[name, value] : read->tensors) {
    auto found = std::ranges::find(names, name);
    for (size_t i = 0; found == names.end() && i < names.size(); ++i)
      if (name == std::to_string(i))
        found = names.begin() + int64_t(i);
    if (found == names.end())
      return Error{path + ": the model has no input '" + name + "'"};
    if (!inputs.emplace(*found, value).second)
      return Error{path + ": holds input '" + *found + "' twice, by name and by position"};
  }
  return inputs;
}

bool isMutation(const ValueType &result) { return result.name.starts_with("mutated:"); }

Result<std::optional<std::vector<Tensor>>> expectedFor(const Program &program,
                                                       const std::string &file, uint32_t part) {
  std::string path = companionFile(file, part, "expected");
  if (path.empty())
    return std::optional<std::vector<Tensor>>();
  // What a program writes to beside its results may be left out.
  Result<tensor::Safetensors> read = tensor::readSafetensors(path);
  if (!read)
    return read.error();
  std::vector<ValueType> results = program.results;
  while (results.size() > read->tensors.size() && isMutation(results.back()))
    results.pop_back();
  Result<std::vector<Tensor>> picked = pick(path, results, "result");
  if (!picked)
    return picked.error();
  return std::optional(std::move(*picked));
}

} // namespace cupel::testbench::worker
