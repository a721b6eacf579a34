// The operations of a model one by one: which there are, how far each came on a device and how good
// its result is. The worker makes a table a model and keeps it as a JSON file in the layout of
// tt-torch's `*_unique_ops.json` (fields are only ever added); reports over many models are made
// from these files and from nothing else.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::results {

/// How far an operation came. The numbers are those of tt-torch's files.
enum class OpStatus : uint8_t {
  NotStarted,
  CreatedGraph,         ///< A graph of this operation alone was made.
  ConvertedToTorchIr,   ///< It is a call of ATen; nobody lowers it.
  ConvertedToBackendIr, ///< The frontend knows it, and what it made does not hold.
  ConvertedToStablehlo, ///< The device's compiler does not take it.
  ConvertedToTensorIr,  ///< The device's first intermediate form (TTIR) was reached, no more.
  Compiled,             ///< (TTNN) It does not execute.
  Executed,
};
inline constexpr size_t kOpStatusCount = 8;
/// `NOT_STARTED`, `CREATED_GRAPH`, ..., `EXECUTED`.
std::string_view name(OpStatus status);

/// A tensor that an operation takes or gives.
struct OpTensor {
  std::vector<int64_t> shape;
  std::string type; ///< `f32`
  /// `4x8`; a scalar is empty.
  std::string shapeText() const;
  bool operator==(const OpTensor &) const = default;
};

/// One operation of StableHLO that a framework's call was lowered to.
struct StablehloOp {
  std::string output, name, attributes, text;
  std::vector<std::string> arguments, inputShapes, outputShapes;
  bool operator==(const StablehloOp &) const = default;
};

struct OpRecord {
  std::string key;           ///< Name, shapes, dtypes and attributes: what makes it unique.
  std::string name;          ///< `stablehlo.add`; several that cannot be parted are joined by ` + `.
  std::string frameworkName; ///< `aten.add.Tensor`; empty where operations are StableHLO's.
  uint32_t index = 0;        ///< Of its first occurrence, over all graphs of the model.
  uint64_t count = 1;        ///< How often the model has it.
  std::vector<OpTensor> inputs, outputs;
  std::vector<StablehloOp> stablehloOps;
  OpStatus status = OpStatus::NotStarted;
  std::string torchGraph, stablehloGraph, tensorGraph, deviceGraph; ///< Programs as text.
  std::string dump;    ///< What the device said when it did not run.
  std::string error;   ///< One line: why it came no further.
  std::string failure; ///< What kind of end: `failed`, `crashed`, `timed out`, ...; empty: none.
  std::optional<double> pcc, atol;
  /// Whether its result is right by the strict rule; nothing: nobody judged it.
  std::optional<bool> passed;
  std::string sentence;     ///< Of the verdict.
  std::string remark;       ///< Inputs that are made up, a result taken over from another model.
  double compileSeconds = 0, executeSeconds = 0;
  /// Whether it stops its model: it was tried and failed, or is wrong.
  bool stops() const { return passed == false || !failure.empty(); }
  bool operator==(const OpRecord &) const = default;
};

struct OpTable {
  std::string model, group, backend, device, depth; ///< backend: torch or stablehlo.
  std::vector<OpRecord> ops;                        ///< Unique, in the order of occurrence.

  bool isExecuted() const { return depth != "compile-op-by-op"; }
  uint64_t total() const;
  bool operator==(const OpTable &) const = default;
};

/// The file's text. Graphs of operations that executed are cut at 32,667 characters, as upstream
/// does, because a cell of a table sheet holds no more.
std::string toJson(const OpTable &table);
/// Reads a file back; what it does not know is passed over.
Result<OpTable> readOpTable(const std::string &path);
/// `<id with all but letters, digits, _ and / replaced by _>_unique_ops.json`.
std::string opTableFile(std::string_view id);

/// An operation over all models.
struct MergedOp {
  OpRecord op;                         ///< As the model has it where it came least far.
  std::map<std::string, uint64_t> models; ///< How often each has it.
  uint64_t count = 0;                  ///< Over all models.
};
/// By backend and key; what differs between models counts as in the model where it is worst.
std::vector<MergedOp> mergeOps(const std::vector<OpTable> &tables);

/// `0.99`, `NaN`, `Inf`, or nothing.
std::string numberText(const std::optional<double> &number);

} // namespace cupel::results
