// What tests of the device's backends share: a program compiled by one of them and run on arguments that
// the test fills. For tests only.
#pragma once

#include "cupel/compiler/Compile.h"

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cupel::compiler {

/// All elements are `value`.
inline tensor::Tensor filled(tensor::Shape shape, float value) {
  tensor::Tensor tensor = *tensor::Tensor::uninitialized(tensor::DType::F32, std::move(shape));
  std::fill_n(tensor.mutableAs<float>(), tensor.size(), value);
  return tensor;
}

struct Outcome {
  std::vector<tensor::Tensor> results; ///< Of the last execution, on the first device.
  std::map<std::string, std::string> notes;
};

/// Writes into the argument of this number, which is zeros.
using FillArgument = std::function<void(tensor::Tensor &argument, int64_t number)>;

inline Result<Outcome> runBy(const char *backend, const std::string &text, const FillArgument &fill,
                             CompileOptions options = {}, int times = 1) {
  options.backend = backend;
  auto made = compile(text, options);
  if (!made)
    return made.error();
  std::vector<tensor::Tensor> arguments;
  for (const runtime::ValueInfo &value : (*made)->info().arguments) {
    Result<tensor::Tensor> argument = tensor::Tensor::zeros(value.type, value.shape);
    if (!argument)
      return argument.error();
    fill(*argument, int64_t(arguments.size()));
    arguments.push_back(std::move(*argument));
  }
  Outcome outcome{{}, (*made)->info().notes};
  for (int i = 0; i < times; ++i) {
    auto all = (*made)->execute({arguments});
    if (!all)
      return all.error();
    outcome.results = std::move((*all)[0]);
  }
  return outcome;
}

} // namespace cupel::compiler
