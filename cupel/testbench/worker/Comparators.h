// What the configuration asks of a result, as one tolerance, and what the comparison found, as the
// record keeps it. Used by whatever compares outputs in a worker; all comparisons go through
// cupel/compare. Links no MLIR.
#pragma once

#include "cupel/compare/Defaults.h"
#include "cupel/compare/Verdict.h"
#include "cupel/results/Record.h"
#include "cupel/tensor/Tensor.h"
#include "cupel/testbench/config/Expectation.h"

namespace cupel::testbench::worker {

struct Comparators {
  bool assertPcc = true, assertAtol = false, assertAllclose = false;
  double pcc = compare::kDefaultPcc, atol = compare::kDefaultAtol;
  double allcloseRtol = compare::kDefaultAllcloseRtol;
  double allcloseAtol = compare::kDefaultAllcloseAtol;
  /// Whether a correlation that nobody asserts is recorded all the same.
  bool recordPcc = true;
  /// Bounds that the configuration has no words for: everything but pcc, atol, rtol and largest.
  compare::Tolerance others = {};

  /// What the configuration says; `silent` holds where it says nothing.
  static Comparators of(const config::Expectation &expectation, Comparators silent);
  static Comparators of(const config::Expectation &expectation);
  /// Whether the configuration names a comparator at all, be it to switch it off.
  static bool areNamedIn(const config::Expectation &expectation);
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

/// The figures of a comparison, for a record whose verdict comes from elsewhere.
void recordFigures(const compare::Statistics &statistics, results::ComparisonRecord &record,
                   bool wantsPcc = true);

} // namespace cupel::testbench::worker
