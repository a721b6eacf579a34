// What `cupel explore` and the pages' jobs look at: a file, a workload or a test of the results store,
// and the graph that the worker makes of it, in a process of its own.
#pragma once

#include "cupel/results/graph/Graph.h"
#include "cupel/results/store/Store.h"
#include "cupel/support/Error.h"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace cupel::cli {

struct ExploreTarget {
  std::string file;        ///< Of the program or model.
  std::string target;      ///< What runs as a test: that file, or the workload folder that it lies in.
  std::string explanation; ///< Of a failed test, as JSON; empty: there is none.
  std::string what;        ///< How it is called.
  std::string device;      ///< Of a test: where it ran last.
};

/// What the user names: a file, a workload, or a test of the store.
Result<ExploreTarget> findExploreTarget(const std::string &name, const std::string &results);
/// A test of the store and nothing else.
Result<ExploreTarget> findExploredTest(const std::string &name, results::Store &store);

/// Asks the worker. `request` is what Graph.cpp takes, without the file. The text is that of
/// `readGraph`.
Result<std::string> makeGraphText(const ExploreTarget &target, nlohmann::json request, double limit);
Result<results::graph::Graph> makeGraph(const ExploreTarget &target, nlohmann::json request, double limit);

/// Adds what is known of a graph that was just made.
void completeGraph(results::graph::Graph &graph, const ExploreTarget &target);

} // namespace cupel::cli
