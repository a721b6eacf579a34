// Reads the arguments of operator cases: tensors, lists of them, values, literals and files.
#pragma once

#include "cupel/testbench/opcases/Case.h"
#include "cupel/testbench/opcases/Complaints.h"

#include <string>

namespace cupel::testbench::opcases {

class InputReader {
public:
  /// `dtype`: of the case, for tensors that name none. The complaints must outlive this.
  InputReader(Complaints &complaints, std::string dtype) : complaints(complaints), dtype(std::move(dtype)) {}

  /// `key` is the kind of input, `value` what it holds.
  Input readInput(const config::YamlNode &key, const config::YamlNode &value);
  /// A scalar, a list, or a text that is a tuple.
  Value readValue(const config::YamlNode &node);

private:
  void complain(const config::YamlNode *at, std::string message) { complaints.complain(at, std::move(message)); }
  void readFile(const config::YamlNode &node, Input &input);
  TensorSpec readTensor(const config::YamlNode &node);
  void readShape(const config::YamlNode &node, TensorSpec &tensor);
  void readInitArgs(const config::YamlNode &node, TensorSpec &tensor);
  void readPreset(const config::YamlNode &node, TensorSpec &tensor);

  Complaints &complaints;
  std::string dtype;
};

} // namespace cupel::testbench::opcases
