#include "cupel/testbench/worker/ProgramInputs.h"

#include "cupel/ir/bytecode/ProgramBytes.h"
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

/// Picks the tensors of a file for `types` by position or name, those of one process where there
/// are several: `0/0`, `0/1`, ...; counts them in `taken`.
Result<std::vector<Tensor>> pick(const std::string &path, const tensor::Safetensors &read,
                                 const std::vector<ValueType> &types, std::string_view what,
                                 const std::string &process, size_t &taken) {
  std::vector<Tensor> picked;
  for (size_t i = 0; i < types.size(); ++i) {
    if (!types[i].isTensor)
      continue;
    std::string position = std::to_string(i);
    auto found = std::ranges::find_if(read.tensors, [&](const auto &entry) {
      return entry.first == process + position ||
             (!types[i].name.empty() && entry.first == process + types[i].name);
    });
    if (found == read.tensors.end())
      return Error{path + ": holds no tensor '" + process + position + "'" +
                   (types[i].name.empty() ? "" : " or '" + process + types[i].name + "'") +
                   " for " + std::string(what) + " " + position};
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
  taken += picked.size();
  return picked;
}

/// The tensors of a file by process; one list where the file does not tell processes apart.
Result<TensorLists> pickAll(const std::string &path, const tensor::Safetensors &read,
                            const std::vector<ValueType> &types, std::string_view what,
                            uint32_t processes) {
  bool isByProcess = processes > 1 && std::ranges::any_of(read.tensors, [](const auto &entry) {
                       return entry.first.starts_with("0/");
                     });
  TensorLists lists;
  size_t taken = 0;
  for (uint32_t p = 0; p < (isByProcess ? processes : 1); ++p) {
    Result<std::vector<Tensor>> picked =
        pick(path, read, types, what, isByProcess ? std::to_string(p) + "/" : "", taken);
    if (!picked)
      return picked.error();
    lists.push_back(std::move(*picked));
  }
  if (taken != read.tensors.size())
    return Error{path + ": holds " + std::to_string(read.tensors.size()) + " tensors for " +
                 std::to_string(taken) + " of the program's " + std::string(what) + "s"};
  return lists;
}

} // namespace

std::string companionFile(const std::string &file, uint32_t part, std::string_view kind) {
  std::string path = ir::programStem(file) + (part ? "." + std::to_string(part) : "") + "." +
                     std::string(kind) + ".safetensors";
  return access(path.c_str(), F_OK) == 0 ? path : std::string();
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

Result<Inputs> inputsFor(const Program &program, const std::string &file, uint32_t part,
                         const MakeUp &makeUp) {
  Inputs inputs;
  TensorLists &lists = inputs.lists;
  lists.resize(1);
  if (program.arguments.empty())
    return inputs;
  Result<std::map<std::string, Tensor>> weights = weightsFor(file, part);
  if (!weights)
    return weights.error();
  // Weights stand behind the inputs.
  size_t count = program.arguments.size();
  while (count && weights->contains(program.arguments[count - 1].name))
    --count;
  std::vector<ValueType> types(program.arguments.begin(),
                               program.arguments.begin() + int64_t(count));
  // Partitions may hold pieces of one value; replicas hold what is theirs.
  uint32_t replicas = program.partitions == 1 ? program.replicas : 1;
  if (std::string path = companionFile(file, part, "inputs"); !path.empty()) {
    Result<tensor::Safetensors> read = tensor::readSafetensors(path);
    if (!read)
      return read.error();
    Result<TensorLists> picked =
        pickAll(path, *read, types, "argument", program.replicas * program.partitions);
    if (!picked)
      return picked.error();
    lists = std::move(*picked);
  } else {
    inputs.isMadeUp = count > 0;
    lists.resize(replicas);
    for (uint32_t replica = 0; replica < replicas; ++replica)
      for (size_t i = 0; i < count; ++i) {
        Result<Tensor> made = makeUp(i, replica);
        if (!made)
          return made.error();
        lists[replica].push_back(std::move(*made));
      }
  }
  for (size_t i = count; i < program.arguments.size(); ++i) {
    const ValueType &type = program.arguments[i];
    const Tensor &weight = weights->at(type.name);
    if (!fits(weight, type))
      return Error{companionFile(file, part, "weights") + ": tensor '" + type.name + "' is " +
                   tensor::describe(weight.elementType(), weight.shape()) + ", but argument " +
                   std::to_string(i) + " is " + tensor::describe(type.element, type.shape)};
    for (std::vector<Tensor> &list : lists)
      list.push_back(weight);
  }
  inputs.own = count;
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
  uint32_t processes = program.replicas * program.partitions;
  std::vector<ValueType> results = program.results;
  while (results.size() * processes > read->tensors.size() && isMutation(results.back()))
    results.pop_back();
  Result<TensorLists> picked = pickAll(path, *read, results, "result", processes);
  if (!picked)
    return picked.error();
  std::vector<Tensor> all;
  for (std::vector<Tensor> &list : *picked)
    std::ranges::move(list, std::back_inserter(all));
  // Without processes in its names, the file speaks of each of them.
  for (size_t i = 0, one = all.size(); picked->size() == 1 && i < (processes - 1) * one; ++i)
    all.push_back(all[i]);
  return std::optional(std::move(all));
}

} // namespace cupel::testbench::worker
