// What a plugin is and can do, as JSON, with a one-operation self-test: `cupel doctor --device` and
// `cupel-device info` print it. Made inside a process that may be lost.
#pragma once

#include "cupel/pjrt/host/Client.h"

#include <functional>
#include <nlohmann/json_fwd.hpp>

namespace cupel::pjrt {

/// Versions, attributes, extensions, functions that are missing.
nlohmann::ordered_json describePlugin(const Plugin &plugin);

/// Platform, devices, memories.
nlohmann::ordered_json describeClient(const Client &client);

/// {call, code, class, message} of a failure.
nlohmann::ordered_json describeError(const Error &error);

/// Adds two vectors on the first device and compares. Announces its stages.
nlohmann::ordered_json selfTest(Client &client, double timeout,
                                const std::function<void(std::string_view)> &announce);

} // namespace cupel::pjrt
