#include "cupel/testbench/session/PythonServer.h"

#include "cupel/support/Process.h"

#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace cupel::testbench::session {

std::string findPython(const std::string &given) {
  if (!given.empty())
    return given;
  if (const char *named = std::getenv("CUPEL_PYTHON"); named && *named)
    return named;
  std::error_code error;
  std::string folder = std::filesystem::current_path(error);
  std::vector<std::string> places;
  for (; folder.size() > 1; folder = folder.substr(0, folder.rfind('/')))
    places.push_back(folder);
  places.push_back(executableFolder() + "/../..");
  for (const std::string &place : places)
    if (std::string path = place + "/.venv/bin/python"; access(path.c_str(), X_OK) == 0)
      return path;
  return "python3";
}

std::string findPythonWorker() {
  // Of a source tree, of a wheel, of an installation.
  for (const char *place : {"/../../python/cupel", "/..", "/../share/cupel/python/cupel"}) {
    std::string path = executableFolder() + place + "/worker/__main__.py";
    if (access(path.c_str(), R_OK) == 0)
      return path;
  }
  return "";
}

runner::ServerSpec pythonServer(const std::string &given, const std::string &backend) {
  std::string python = findPython(given);
  // Servers run in folders of their own, and are started without a search.
  if (python.find('/') != std::string::npos)
    python = std::filesystem::absolute(python).string();
  else if (std::string found = findOnPath(python); !found.empty())
    python = found;
  // Importing torch on a busy machine; and trying its products, once a boot.
  constexpr double kStartSeconds = 300;
  return {{python, "-u", findPythonWorker(), "--compile-backend=" + backend},
          kStartSeconds,
          " (--python or CUPEL_PYTHON names another interpreter)"};
}

} // namespace cupel::testbench::session
