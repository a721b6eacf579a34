// Keeps a child process that holds the plugin, sends it requests and survives what becomes of it: a
// child that crashes, exits, hangs or grows too large is the answer to the request it was serving,
// and the next request gets a new one.
#pragma once

#include "cupel/support/Error.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cupel::device {

struct ChildSettings {
  std::string plugin;
  std::vector<std::string> clientOptions; ///< NAME=VALUE
  uint64_t memoryLimit = 0;               ///< Bytes of resident memory; 0: none.
  bool isHeard = false; ///< Whether to stop once nobody reads our standard output.
};

/// Has signals that end us end the plugin's process first, and what it started.
void endChildrenWithUs();

class Supervisor {
public:
  explicit Supervisor(ChildSettings settings) : settings(std::move(settings)) {}
  ~Supervisor() { stop(); }
  Supervisor(const Supervisor &) = delete;

  /// Asks and waits, at most `timeout` seconds and a little more. The answer always has an
  /// "outcome": what the child said, or "crashed", "exited", "timed out", "out of memory" with the
  /// stage it was in and the end of what it printed.
  nlohmann::ordered_json ask(const nlohmann::ordered_json &request, double timeout,
                             const std::function<void(std::string_view stage)> &onStage = {});

  /// Ends the child, so that the plugin cleans up. An error says how that went wrong.
  Status close();

private:
  Status start();
  /// Ends the child, gently if it is idle, and returns its wait status.
  int stop();
  int kill();
  nlohmann::ordered_json describeDeath(int status, const std::string &stage);
  void drainOutput();
  bool readReplies();

  ChildSettings settings;
  pid_t child = -1;
  int requests = -1, replies = -1, output = -1;
  std::string pending; ///< Replies that are not a whole line yet.
  std::string printed; ///< The end of what the child printed.
};

} // namespace cupel::device
