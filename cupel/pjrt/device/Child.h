// The process that holds the plugin: loads it on the first request, serves requests one at a time
// and may be lost at any moment. Requests arrive as JSON lines on standard input, answers leave as
// JSON lines on a descriptor of their own, because plugins print where they like.
#pragma once

#include <string>
#include <vector>

namespace cupel::device {

/// The descriptor on which a child answers.
inline constexpr int kReplyDescriptor = 3;

/// Serves until standard input ends; returns the exit code.
int runChild(const std::string &plugin, const std::vector<std::string> &clientOptions);

} // namespace cupel::device
