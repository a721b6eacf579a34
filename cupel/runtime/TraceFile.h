// A trace on disk: what was recorded, the executable that it is of, and what it gave on inputs made up
// from a seed, so that it can be shown, and replayed and held against what it was. Written by
// `cupel compile --trace`, read by `cupel show trace`; files that are cut short or damaged are refused.

#pragma once

#include "cupel/runtime/Trace.h"

namespace cupel::runtime {

struct TraceFile {
  TraceRecord record;
  uint64_t seed = 0;                ///< Of the inputs that it was recorded with.
  std::vector<std::string> results; ///< SHA-256 of each result.
  std::string executable;           ///< As `Executable::serialize` gave it.

  std::string bytes() const;
  /// For people: slots, then commands in their order.
  std::string text() const;
  /// The same for tools: one object of JSON.
  std::string json() const;
};

Result<TraceFile> parseTraceFile(std::string_view bytes);

} // namespace cupel::runtime
