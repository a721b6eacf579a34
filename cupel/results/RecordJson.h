// The JSON form of records: one object, no line breaks, empty fields left out. The journal, the
// store and the JSON report all write this form, and read it back.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/support/Error.h"

#include <string>
#include <string_view>

namespace cupel::results {

std::string toJson(const TestRecord &record);
std::string toJson(const RunInfo &run);

/// Unknown fields are ignored (a newer Cupel wrote them); a field of the wrong kind is an error.
Result<TestRecord> testRecordFromJson(std::string_view text);
Result<RunInfo> runInfoFromJson(std::string_view text);

} // namespace cupel::results
