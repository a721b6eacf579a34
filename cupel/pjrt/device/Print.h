// Reports for people, from the JSON that programs get.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cupel::device {

/// Several lines: version, platform, devices, memories, extensions, what is missing, self-test.
std::string formatInfo(const std::string &plugin, const nlohmann::ordered_json &answer);

/// One line, and more where something went wrong.
std::string formatRun(const nlohmann::ordered_json &answer);

/// Indented, with broken UTF-8 replaced: a plugin's strings can hold anything.
std::string dump(const nlohmann::ordered_json &json);

} // namespace cupel::device
