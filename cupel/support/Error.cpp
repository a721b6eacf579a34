#include "cupel/support/Error.h"

#include <cstdio>

namespace cupel {

int reportError(std::string_view verb, std::string_view message, ExitCode code) {
  std::string line = "cupel";
  if (!verb.empty())
    line.append(" ").append(verb);
  line.append(": error: ").append(message).append("\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
  return code;
}

} // namespace cupel
