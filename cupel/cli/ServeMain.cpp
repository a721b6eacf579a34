// `cupel-serve`: the part of Cupel that makes and serves pages. Started by `cupel`.

#include "cupel/cli/ServeVerbs.h"
#include "cupel/support/Error.h"

using namespace cupel;
using namespace cupel::cli;

int main(int argc, char **argv) {
  std::string_view verb = argc > 1 ? argv[1] : "";
  Arguments arguments(argv + std::min(argc, 2), argv + argc);
  if (verb == "serve")
    return serveVerb(arguments);
  if (verb == "explore")
    return exploreVerb(arguments);
  if (verb == "report")
    return reportVerb(arguments);
  return reportError("", "cupel-serve serves cupel and is not meant to be started by hand", kExitUsage);
}
