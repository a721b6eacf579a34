// The JSON files of a workload's folder: options.json (how it is compiled and judged) and
// workload.json (where it came from). Used by Folder.cpp alone. Of options.json nothing may be left
// unread: who does not know a field would judge by less than was asked for.
#pragma once

#include "cupel/workload/Workload.h"

#include <nlohmann/json.hpp>

namespace cupel::workload {

nlohmann::ordered_json optionsToJson(const Workload &workload);
/// `path` stands in messages. Bounds that the file gives for all floats at once go to `forFloats`.
Status optionsFromJson(const std::string &path, const nlohmann::ordered_json &json,
                       Workload &workload, std::optional<compare::Tolerance> &forFloats);

nlohmann::ordered_json provenanceToJson(const Provenance &provenance);
Status provenanceFromJson(const std::string &path, const nlohmann::ordered_json &json,
                          Provenance &provenance);

} // namespace cupel::workload
