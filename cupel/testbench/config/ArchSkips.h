// What tt-xla's runner skips on an architecture without its configuration saying so: its conftest
// gives pytest's own mark `skip` to models whose ids begin in certain ways. Used where tests get
// their markers. Must stay what upstream has: a configuration of one's own says such things with
// NOT_SUPPORTED_SKIP or `markers: [skip]`.
#pragma once

#include <string_view>

namespace cupel::testbench::config {

/// Whether anything is skipped on this architecture.
bool hasSkips(std::string_view arch);

/// Why the test with this id is skipped there; empty if it is not.
std::string_view skipReason(std::string_view arch, std::string_view id);

} // namespace cupel::testbench::config
