// The verbs that need MLIR or a server of pages: handed to the binaries beside this one, which link
// them.

#include "cupel/cli/SiblingVerbs.h"
#include "cupel/support/Error.h"
#include "cupel/support/MissingLibrary.h"
#include "cupel/support/Process.h"
#include "cupel/support/Version.h"

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace cupel::cli {

int handOver(std::string_view verb, const char *binary, const Arguments &arguments) {
  // Without it the loader ends that binary with words of its own.
  if (std::string library = std::string(llvmRoot()) + "/lib/libMLIR.so.19.1";
      std::string_view(binary) != "cupel-serve" && ::access(library.c_str(), F_OK) != 0)
    fmt::print(stderr, "cupel {}: {} is not there{}\n", verb, library,
               missingPackage("libMLIR.so.19.1: cannot open shared object file"));
  Status status = execute(executableFolder() + "/" + binary, arguments);
  return reportError(verb, status.message() + " (./run builds it)", kExitUsage);
}

/// A verb that its binary serves as a whole, options and help too.
static int handOverWhole(const char *verb, const char *binary, const Arguments &arguments) {
  Arguments forwarded = {verb};
  forwarded.insert(forwarded.end(), arguments.begin(), arguments.end());
  return handOver(verb, binary, forwarded);
}

int runOptVerb(const Arguments &arguments) { return handOverWhole("opt", "cupel-worker", arguments); }

int runServeVerb(const Arguments &arguments) { return handOverWhole("serve", "cupel-serve", arguments); }
int runExploreVerb(const Arguments &arguments) { return handOverWhole("explore", "cupel-serve", arguments); }
int runReportVerb(const Arguments &arguments) { return handOverWhole("report", "cupel-serve", arguments); }

int runLspVerb(const Arguments &arguments) {
  for (const std::string &argument : arguments)
    if (argument == "--help" || argument == "-h") {
      fmt::print(
          "A language server for .mlir files with all of Cupel's dialects: diagnostics as you "
          "type,\n"
          "hover, go to definition, completion, and the text of bytecode files.\n"
          "It speaks the Language Server Protocol on standard input and output, so an editor "
          "starts it.\n"
          "\n"
          "usage: cupel lsp [OPTIONS]\n"
          "\n"
          "Options:\n"
          "  --log=error|info|verbose  what it reports on standard error (info)\n"
          "  --pretty                  print its JSON on several lines\n"
          "  --lit-test                messages separated by // ----- as test files have them\n"
          "\n"
          "Examples:\n"
          "  Visual Studio Code, extension \"MLIR\" (llvm-vs-code-extensions.vscode-mlir):\n"
          "    \"mlir.server_path\": \"/path/to/build/bin/cupel-lsp\"\n"
          "  Neovim:\n"
          "    vim.lsp.start({{name = 'cupel', cmd = {{'cupel', 'lsp'}}}})\n"
          "  Helix, languages.toml:\n"
          "    [language-server.cupel]\n"
          "    command = \"cupel\"\n"
          "    args = [\"lsp\"]\n");
      return kExitSuccess;
    }
  return handOver("lsp", "cupel-lsp", arguments);
}

} // namespace cupel::cli
