// Runs what a frontend has made ready, stage by stage (compile, execute, reference, compare), and
// judges it; or saves it as a folder that reproduces the test. Keeps devices open from test to
// test. Used by whatever serves tests in cupel-worker.
#pragma once

#include "cupel/testbench/worker/Prepared.h"
#include "cupel/testbench/worker/Serve.h"

#include <map>

namespace cupel::testbench::worker {

class Trials {
public:
  /// Does with a test what the request asks for: runs it, or saves it.
  void serve(const Request &request, Progress &progress, Prepared prepared,
             results::TestRecord &record);
  /// A small program that every device must get right.
  results::TestRecord checkHealth(const Request &request, Progress &progress,
                                  ProgramReader &reader);

private:
  /// The device of this name, opened when first asked for.
  Result<Device *> device(const std::string &name);
  void run(const Request &request, Progress &progress, Prepared prepared,
           results::TestRecord &record);
  Result<TensorLists> runOn(Device &device, Prepared &prepared, Progress *progress);
  void judge(const Request &request, Progress &progress, Device &device, Prepared prepared,
             const TensorLists &outputs, results::TestRecord &record);
  void save(const Request &request, Progress &progress, Prepared prepared,
            results::TestRecord &record);

  std::map<std::string, std::unique_ptr<Device>> devices;
};

/// Records that a test ran and that nothing says whether it is right, and why not.
void leaveUnjudged(results::TestRecord &record, const std::string &why);

/// Records that a test failed, and of what.
void fail(results::TestRecord &record, std::string_view errorClass, const std::string &message);
void fail(results::TestRecord &record, const Error &error);

} // namespace cupel::testbench::worker
