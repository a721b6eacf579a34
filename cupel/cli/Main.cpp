// `cupel`: finds the verb and runs it.

#include "cupel/cli/Verbs.h"
#include "cupel/support/Error.h"
#include "cupel/support/Text.h"

#include <fmt/format.h>

using namespace cupel;
using namespace cupel::cli;

namespace {

void printHelp() {
  fmt::print("Cupel compiles and runs machine-learning programs on a device and says what they are "
             "worth.\n\n"
             "usage: cupel VERB [ARGUMENTS...]\n\n"
             "Verbs:\n");
  for (const Verb &verb : verbs())
    fmt::print("  {:<10} {}\n", verb.name, verb.summary);
  fmt::print("\n"
             "Examples:\n"
             "  cupel list zoo/programs                   what is there to test?\n"
             "  cupel run zoo/programs                    run it, and end with the report\n"
             "  cupel show latest                         the last run again\n"
             "  cupel eval program.mlir                   one program on the golden reference\n"
             "  cupel opt model.mlir                      read, verify and print a program\n"
             "  cupel doctor                              is everything here that Cupel needs?\n"
             "\n"
             "cupel VERB --help explains a verb.\n"
             "Exit codes: 0 as expected, 1 failures, 2 usage or configuration error,\n"
             "            4 nothing selected, 5 not all selected tests accounted for.\n");
}

int unknownVerb(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Verb &verb : verbs())
    names.push_back(verb.name);
  std::string_view nearest = nearestWord(name, names);
  std::string hint = nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest);
  return reportError("",
                     fmt::format("unknown verb '{}'{} (cupel --help lists the verbs)", name, hint),
                     kExitUsage);
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    printHelp();
    return kExitUsage;
  }
  std::string_view first = argv[1];
  Arguments arguments(argv + 2, argv + argc);
  if (first == "--help" || first == "-h" || first == "help") {
    printHelp();
    return kExitSuccess;
  }
  if (first == "--version")
    first = "version";
  for (const Verb &verb : verbs())
    if (verb.name == first)
      return verb.run(arguments);
  return unknownVerb(first);
}
