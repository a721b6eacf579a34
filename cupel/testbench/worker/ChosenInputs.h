// Inputs for programs that bring none, chosen so that faults show: of both signs, no value twice
// where the type has room for it, another input for each replica and for each look, and within
// what the program asks of them: positive definite matrices where it factors them, indices that
// lie inside, predicates and cases that take another branch at each look, weights so small that
// magnitudes survive. Used wherever the worker makes inputs up. The same seed gives the same inputs
// on every machine.
#pragma once

#include "cupel/testbench/worker/Device.h"

#include <optional>

namespace cupel::testbench::worker {

/// What a program asks of an argument.
struct InputNeeds {
  bool isDefinite = false;   ///< A symmetric positive definite matrix in its last two dimensions.
  bool isTriangular = false; ///< A matrix whose diagonal dominates.
  bool isNonzero = false;    ///< It divides.
  bool isState = false;      ///< Of a random generator: any bits.
  std::optional<int64_t> limit; ///< An index or a choice: from 0 to this.
  bool isChoice = false;        ///< It chooses a branch.
  double amplitude = 1;         ///< Of floats.
};

class ChosenInputs {
public:
  explicit ChosenInputs(const Program &program);

  /// A value for an argument. Another `look` gives another value; from `kPositive` on, floats are
  /// positive, for programs that would give NaN otherwise.
  Result<tensor::Tensor> make(size_t argument, uint64_t seed, uint32_t replica,
                              uint32_t look = 0) const;
  /// Values for all replicas, the first `count` arguments of each; those behind them are taken from
  /// `others`.
  Result<TensorLists> makeAll(size_t count, const TensorLists &others, uint64_t seed,
                              uint32_t look) const;

  /// Looks from here on have positive inputs alone.
  static constexpr uint32_t kPositive = 1u << 16;

private:
  std::string name;
  std::vector<ValueType> types;
  std::vector<InputNeeds> needs;
  uint32_t replicas = 1;
};

/// What is asked of each argument of the program's entry function.
std::vector<InputNeeds> needsOf(const Program &program);

} // namespace cupel::testbench::worker
