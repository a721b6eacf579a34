// The names that case files may give element types, and what torch calls each. One table for the
// reader, the conditions and the messages.
#pragma once

#include <string_view>
#include <vector>

namespace cupel::testbench::opcases {

/// `fp16`, `float16`, `half` and `torch.float16` are all `float16`; empty for what is no dtype.
std::string_view canonicalDType(std::string_view name);

/// All names that are taken, for messages.
std::vector<std::string_view> dtypeNames();

} // namespace cupel::testbench::opcases
