#include "cupel/reference/AccuracyReport.h"

#include <cstdlib>

namespace cupel::reference {

std::string AccuracyRow::str() const {
  char text[256];
  std::snprintf(text, sizeof text, "%s on %s: %lld of %lld correctly rounded, worst %.4f ULP at (%.17g, %.17g)",
                std::string(name(op)).c_str(), std::string(tensor::info(type).name).c_str(),
                static_cast<long long>(correct), static_cast<long long>(samples), worst, at[0],
                at[1]);
  return text;
}

bool isFullRun() {
  static const bool full = std::getenv("CUPEL_ACCURACY_FULL") != nullptr;
  return full;
}

AccuracyReport &AccuracyReport::get() {
  static AccuracyReport report;
  return report;
}

} // namespace cupel::reference
