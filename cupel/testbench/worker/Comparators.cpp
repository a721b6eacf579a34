#include "cupel/testbench/worker/Comparators.h"

#include "cupel/compare/Verdict.h"

#include <cmath>

namespace cupel::testbench::worker {

Comparators Comparators::of(const config::Expectation &expectation, Comparators silent) {
  Comparators c = silent;
  // A bound that is named is meant, unless the configuration turns it off.
  c.assertPcc = expectation.assertPcc.value_or(c.assertPcc || expectation.requiredPcc);
  c.assertAtol = expectation.assertAtol.value_or(c.assertAtol);
  c.assertAllclose = expectation.assertAllclose.value_or(c.assertAllclose);
  c.pcc = expectation.requiredPcc.value_or(c.pcc);
  c.atol = expectation.requiredAtol.value_or(c.atol);
  c.allcloseRtol = expectation.allcloseRtol.value_or(c.allcloseRtol);
  c.allcloseAtol = expectation.allcloseAtol.value_or(c.allcloseAtol);
  return c;
}

bool Comparators::areNamedIn(const config::Expectation &e) {
  return e.assertPcc || e.assertAtol || e.assertAllclose || e.requiredPcc || e.requiredAtol ||
         e.allcloseRtol || e.allcloseAtol;
}

Comparators Comparators::of(const config::Expectation &expectation) {
  return of(expectation, Comparators());
}

Comparators Comparators::of(const compare::Tolerance &tolerance) {
  Comparators c;
  c.others = tolerance;
  c.others.pcc = c.others.atol = c.others.rtol = c.others.largest = std::nullopt;
  c.assertPcc = c.recordPcc = tolerance.pcc.has_value();
  c.pcc = tolerance.pcc.value_or(c.pcc);
  c.assertAllclose = tolerance.rtol || tolerance.isEmpty();
  c.assertAtol = tolerance.largest || (tolerance.atol && !tolerance.rtol);
  if (c.assertAllclose) {
    c.allcloseRtol = tolerance.rtol.value_or(0);
    c.allcloseAtol = tolerance.atol.value_or(0);
  }
  if (c.assertAtol)
    c.atol = tolerance.largest ? *tolerance.largest : *tolerance.atol;
  return c;
}

Comparators Comparators::onnxSuite(tensor::DType type) {
  Comparators c;
  c.assertPcc = false;
  c.assertAllclose = true;
  compare::Closeness close = compare::onnxCloseness(type);
  c.allcloseRtol = close.rtol;
  c.allcloseAtol = close.atol;
  c.recordPcc = false;
  return c;
}

compare::Tolerance Comparators::tolerance() const {
  compare::Tolerance tolerance = others;
  if (assertPcc || !assertsAnything())
    tolerance.pcc = pcc;
  if (assertAllclose) {
    tolerance.rtol = allcloseRtol;
    tolerance.atol = allcloseAtol;
    if (assertAtol)
      tolerance.largest = atol;
  } else if (assertAtol) {
    tolerance.atol = atol;
  }
  return tolerance;
}

void recordFigures(const compare::Statistics &statistics, results::ComparisonRecord &record,
                   bool wantsPcc) {
  if (!statistics.sameShape())
    return;
  record.maxAbsolute = statistics.maxError;
  record.maxRelative = statistics.maxRelativeError;
  record.relativeL2 = statistics.relativeL2;
  // Where a correlation has no meaning there is none, rather than NaN; but one that NaNs in the
  // result spoilt is a fact worth keeping.
  bool measured = statistics.pccState == compare::PccState::Measured ||
                  statistics.pccState == compare::PccState::Equal ||
                  statistics.pccState == compare::PccState::ActualConstant;
  if (measured && wantsPcc)
    record.pcc = statistics.nonFiniteMismatches && statistics.nonFiniteActual.nans ? std::nan("")
                                                                                   : statistics.pcc;
}

Result<results::ComparisonRecord> compareOutput(uint32_t output, const tensor::Tensor &actual,
                                                const tensor::Tensor &expected,
                                                const Comparators &comparators) {
  Result<compare::Verdict> verdict =
      compare::check(actual, expected, comparators.tolerance(),
                     {.threads = compare::threadsFor(expected.size())});
  if (!verdict)
    return verdict.error();
  const compare::Statistics &statistics = verdict->statistics;
  results::ComparisonRecord record;
  record.output = output;
  record.passed = verdict->passed;
  record.sentence = verdict->sentence;
  record.pccAsserted = comparators.assertPcc;
  record.atolAsserted = comparators.assertAtol;
  record.allcloseAsserted = comparators.assertAllclose;
  bool wantsPcc = comparators.assertPcc || comparators.recordPcc;
  if (wantsPcc)
    record.pccThreshold = comparators.pcc;
  if (comparators.assertAtol || comparators.assertAllclose)
    record.atolThreshold = comparators.assertAtol ? comparators.atol : comparators.allcloseAtol;
  if (comparators.assertAllclose)
    record.rtolThreshold = comparators.allcloseRtol;
  recordFigures(statistics, record, wantsPcc);
  if (!statistics.sameShape())
    return record;
  if (!comparators.assertsAnything()) {
    record.passed = true;
    record.sentence = "nothing is asserted; " + record.sentence;
  }
  return record;
}

} // namespace cupel::testbench::worker
