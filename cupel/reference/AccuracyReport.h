// What the accuracy test has measured, collected for docs/reference/accuracy.md. Only the test uses
// it; nothing here decides what passes.

#pragma once

#include "cupel/reference/Loops.h"

#include <map>
#include <string>
#include <vector>

namespace cupel::reference {

/// One function on one type.
struct AccuracyRow {
  ElementOp op;
  tensor::DType type;
  bool exhaustive = false;
  int64_t samples = 0, correct = 0;
  double worst = 0; // ULP, of the results that are not correctly rounded
  double at[2] = {};
  /// Keeps the worst; of equal ones that of the smaller operand, so that the page does not depend
  /// on threads.
  void note(double error, double x, double y) {
    if (error < worst || error == 0 || (error == worst && !(x < at[0])))
      return;
    worst = error;
    at[0] = x;
    at[1] = y;
  }
  std::string str() const;
};

/// One function on complex numbers.
struct ComplexRow {
  std::string function, type, where;
  int64_t samples = 0;
  double worst = 0; // ULP of each component
  double norm = 0;  // ULP of the larger component
  std::complex<double> at = {};
};

/// One family of sums: errors in ULP of the exact sum (of the result's type).
struct SumRow {
  std::string operation, type, family;
  int64_t cases = 0, closer = 0, equal = 0, farther = 0; // than pairwise f32
  int64_t correct = 0;
  double worst = 0, pairwiseWorst = 0;
};

/// CUPEL_ACCURACY_FULL is set.
bool isFullRun();

class AccuracyReport {
public:
  static AccuracyReport &get();
  void add(const AccuracyRow &row) { rows.push_back(row); }
  void add(const ComplexRow &row) { complexRows.push_back(row); }
  void add(const SumRow &row) { sumRows.push_back(row); }
  /// The page; an error if the file cannot be written.
  Status write(const std::string &path) const;

private:
  std::vector<AccuracyRow> rows;
  std::vector<ComplexRow> complexRows;
  std::vector<SumRow> sumRows;
};

} // namespace cupel::reference
