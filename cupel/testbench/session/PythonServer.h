// Where Python is that serves tests: the interpreter, our script, and the command that starts it as
// a server of the runner. Used by the session and by `cupel doctor`. Runs nothing itself.
#pragma once

#include "cupel/testbench/runner/Runner.h"

#include <string>

namespace cupel::testbench::session {

/// The interpreter for tests that need torch: the one given, else $CUPEL_PYTHON, else `.venv` here,
/// above or in the source tree of this build, else python3 of PATH.
std::string findPython(const std::string &given);

/// The Python worker's script: in the source tree, or where it was installed; empty if it is
/// nowhere. `instructions` as its only argument makes it say what torch there can be trusted with.
std::string findPythonWorker();

/// How it is started for tests of `backend`. Where that is `cupel`, torch's own compiler is not
/// needed, and it starts without.
runner::ServerSpec pythonServer(const std::string &given, const std::string &backend);

} // namespace cupel::testbench::session
