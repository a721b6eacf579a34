// What the configuration asks of a result, as one tolerance, and what the comparison found, as the
// record keeps it. Used by whatever compares outputs in a worker; all comparisons go through
// cupel/compare. Links no MLIR.
#pragma once

#include "cupel/compare/Tolerance.h"
#include "cupel/results/Record.h"
#include "cupel/tensor/Tensor.h"
#include "cupel/testbench/config/Expectation.h"

namespace cupel::testbench::worker {

/// Where the configuration is silent.
inline constexpr double kDefaultPcc = 0.99, kDefaultAtol = 0.16;
inline constexpr double kDefaultAllcloseRtol = 1e-2, kDefaultAllcloseAtol = 1e-2;

struct Comparators {
  bool assertPcc = true, assertAtol = false, assertAllclose = false;
  double pcc = kDefaultPcc, atol = kDefaultAtol;
  double allcloseRtol = kDefaultAllcloseRtol, allcloseAtol = kDefaultAllcloseAtol;
  /// Whether a correlation that nobody asserts is recorded all the same.
  bool recordPcc = true;
  /// Bounds that the configuration has no words for: everything but pcc, atol, rtol and largest.
  compare::Tolerance others = {};

  /// What the configuration says; `silent` holds where it says nothing.
  static Comparators of(const config::Expectation &expectation, Comparators silent);
  static Comparators of(const config::Expectation &expectation);
  /// Bounds that a workload holds. With none set, results must be equal.
  static Comparators of(const compare::Tolerance &tolerance);
  /// How ONNX's own runner judges results of an element type.
  static Comparators onnxSuite(tensor::DType type);
  /// Everything that is asserted. Where nothing is, the correlation, which then is only measured.
  /// With both assertAtol and assertAllclose the bound on single elements is allclose's, and the
  /// largest difference is judged by itself.
  compare::Tolerance tolerance() const;
  bool assertsAnything() const {
    return assertPcc || assertAtol || assertAllclose || !others.isEmpty();
  }
};

/// Compares one output and judges it. An error where the comparison cannot be made.
Result<results::ComparisonRecord> compareOutput(uint32_t output, const tensor::Tensor &actual,
                                                const tensor::Tensor &expected,
                                                const Comparators &comparators);

} // namespace cupel::testbench::worker
