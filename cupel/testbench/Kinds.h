// The kinds of tests as a table: how each is found on disk, which workers serve it in which order,
// the stages they name, and the settings of a run that concern it. Collecting, running and serving
// read it; a new kind is a row here and one in cupel/results/Suites.cpp. Links no MLIR.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/testbench/TestItem.h"

#include <span>
#include <string_view>

namespace cupel::testbench {

/// The programs that serve tests, all over the same protocol. A test goes to those of its kind one
/// after the other: each hands what it made to the next, and the last one judges.
enum class Server : uint8_t {
  Worker, ///< cupel-worker: frontends, reference, devices.
  Python, ///< python/cupel/worker, in the interpreter the test needs.
};
inline constexpr size_t kServerCount = 2;

/// How messages call it.
std::string_view name(Server server);

/// What one server does for a test of a kind.
struct Step {
  Server server;
  std::span<const results::Stage> stages; ///< That it names, in order.
};

/// What a run hands to the first server of a test, besides the test itself.
enum class Preparation : uint8_t {
  None,
  Case,   ///< The call of an operator case.
  Loader, ///< Where the loader's graphs go, and the environment it runs in.
};

/// How the worker serves a test.
enum class Service : uint8_t {
  None,
  Program,  ///< It reads the test's file.
  Captured, ///< It runs and judges what Python made.
  Case,     ///< It makes a program of an operator case's call.
};

struct Kind {
  std::string_view suite;
  std::string_view what; ///< "a StableHLO program", for messages.
  /// Of files that are such tests: how their names end, or their whole names.
  std::span<const std::string_view> files = {};
  std::span<const Step> steps = {}; ///< None: nobody runs it.
  std::string_view missing = {};    ///< What it waits for, where nobody does.
  Preparation preparation = Preparation::None;
  Service service = Service::None;

  // Settings of a run that concern it.
  bool takesShapes = false;   ///< --shape
  bool takesBackend = false;  ///< --compile-backend
  bool deduplicated = false;  ///< --dedupe
  uint32_t testsAWorker = 0;  ///< So many of them are worth the start of one more; 0: any.
};

std::span<const Kind> kinds();

/// That of a suite. Suites that are no row are frameworks of loaders beyond upstream's.
const Kind &kindOf(std::string_view suite);
const Kind &kindOf(const TestItem &item);

/// How far a test goes in a run of this depth: those of the suite `op_by_op` go operation by operation.
std::string depthOf(const TestItem &item, const std::string &ofRun);

/// The kind of test that a file of this name is; null where it is none.
const Kind *kindOfFile(std::string_view name);

} // namespace cupel::testbench
