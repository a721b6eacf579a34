// Operator cases: files of one-op tests in the schema of RFC-0186 (model, defaults, cases), read
// into values with everything resolved: defaults applied, dtypes in torch's names, literals parsed,
// conditions parsed. Discovery lists them from here, the worker runs them from here, so both see
// the same. It reads no tensors, knows nothing of torch and executes nothing it reads.
#pragma once

#include "cupel/support/Error.h"
#include "cupel/testbench/config/Yaml.h"
#include "cupel/testbench/opcases/Condition.h"
#include "cupel/testbench/opcases/Literal.h"
#include "cupel/testbench/zoo/Remark.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cupel::testbench::opcases {

using NamedValues = std::vector<std::pair<std::string, Value>>;

/// A tensor to be made.
struct TensorSpec {
  bool isNone = false; ///< Of a list: None stands in its place.
  std::vector<int64_t> shape;
  std::string init = "rand"; ///< rand, randn, zeros, ones, arange, randint, uniform, data.
  std::string dtype;         ///< As torch calls it, resolved.
  std::optional<double> low, high;
  Value data;         ///< Of `init: data`.
  std::string preset; ///< Empty: contiguous.
  NamedValues presetArgs;
};

/// One argument of the operator.
struct Input {
  enum class Kind : uint8_t { Tensor, TensorList, Value, File };
  Kind kind = Kind::Value;
  std::vector<TensorSpec> tensors; ///< One for Tensor.
  bool isTuple = false;            ///< Of a tensor list.
  opcases::Value value;            ///< Of `value` and `py`.
  std::string file, key;           ///< Of `file`: absolute, and what in it is meant.
};

struct SkipRule {
  Condition condition;
  std::string text, reason;
};

struct ExpectedError {
  std::string type = "Exception";
  std::string match;
};

struct Case {
  std::string name, op, description;
  uint32_t number = 0; ///< Its place in the file, from 0.
  uint32_t line = 0, column = 0;
  std::vector<Input> inputs;
  std::vector<std::pair<std::string, Input>> attrs;
  std::vector<std::string> marks;
  std::vector<SkipRule> skipIf;
  std::optional<ExpectedError> expectsError;
  std::string dtype; ///< Of tensors that say none.
  int64_t seed = 0;
  std::optional<double> rtol, atol; ///< Not set: what torch.testing takes for the dtype.

  /// Operator and inputs, normalised: cases with equal keys test the same. Neither name, model,
  /// seed nor tolerance is part of it.
  std::string key() const;
  /// The tensors' shapes and dtypes, for people and for coverage: "4x128x768xfloat16, 3.0".
  std::string signature() const;
  /// Whether a result that satisfies this case's tolerances satisfies those of `other`.
  bool isAsStrictAs(const Case &other) const;
};

struct CaseFile {
  std::string path;
  std::string model; ///< The file's name without its ending where it says none.
  std::vector<Case> cases;
  std::vector<Remark> problems; ///< What is wrong, with places; a case with a problem is left out.
};

/// The defaults of the RFC's own runner, where neither case nor file says anything.
inline constexpr std::string_view kDefaultDType = "float16";

/// Reads a parsed file. `hasCases` is false where the file is something else.
CaseFile readCases(const config::YamlFile &yaml);

/// Reads and parses; an error where the file cannot be read at all.
Result<CaseFile> readCaseFile(const std::string &path);

/// A case as the Python worker is told of it, a JSON object.
std::string toJson(const Case &one);

} // namespace cupel::testbench::opcases
