// The explorer's questions, under /api/v1/graph: what stages a program has, where boxes stand for a
// choice of open groups and what colours they have, what a node is, where it went in another stage.
// Keeps the graphs that it was given; makes none.
#pragma once

#include "cupel/results/graph/Graph.h"
#include "cupel/results/serve/Http.h"

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace cupel::results::serve {

class Explorer {
public:
  static constexpr std::string_view kRoot = "/api/v1/graph";

  /// Keeps a graph under a key; what is asked without a key means the first.
  void add(std::string key, graph::Graph graph);
  bool has(const std::string &key);
  /// Null where there is none.
  std::shared_ptr<const graph::Graph> find(const std::string &key);

  HttpAnswer answer(const HttpRequest &request);
  /// Its part of the page of documentation.
  static std::string describe();

private:
  std::shared_ptr<const graph::Graph> graphOf(const HttpRequest &request);

  std::mutex mutex;
  std::string firstKey;
  std::vector<std::string> order; ///< Of keys: what was looked at last comes last.
  std::map<std::string, std::shared_ptr<const graph::Graph>> graphs;
};

} // namespace cupel::results::serve
