// `cupel ops extract`: the operator cases of a model, as a file that `cupel run` takes.

#include "cupel/cli/OpsExtract.h"
#include "cupel/cli/CommandLine.h"
#include "cupel/cli/SiblingVerbs.h"
#include "cupel/frontends/torch/Archive.h"
#include "cupel/results/report/Reports.h"
#include "cupel/testbench/opcases/Writer.h"
#include "cupel/testbench/worker/ExtractCases.h"

#include <filesystem>
#include <fmt/format.h>
#include <ostream>
#include <set>

namespace cupel::cli {
namespace {

namespace torch = frontends::torch_import;
using testbench::worker::ExtractedCases;

constexpr size_t kMostLeftOut = 10;

int fail(std::string_view message) { return reportError("ops extract", message, kExitUsage); }

} // namespace

int runOpsExtract(const Arguments &arguments) {
  CommandLine line("ops extract",
                   "Write the operator calls of a model as operator cases, each distinct one once, "
                   "with shapes, dtypes,\n"
                   "layouts and arguments as the model has them and the source line it comes from. "
                   "`cupel run FILE` runs them.");
  std::string file, output, name, program;
  line.app.add_option("MODEL", file, "An archive of torch.export (.pt2)")->required();
  line.app.add_option("-o,--output", output, "The file of cases; - is standard output (-)")
      ->type_name("FILE");
  line.app.add_option("--name", name, "What the cases' model is called (the file's name)");
  line.app.add_option("--program", program, "Which program of an archive that holds several");
  line.example("cupel ops extract llama.pt2 -o llama.yaml",
               "the operators of a model, one test each");
  line.example("cupel run llama.yaml --device cupel", "and how a device does on them");
  if (std::optional<int> code = line.parse(arguments))
    return *code;
  if (!file.ends_with(".pt2"))
    return fail(file + ": cases are extracted from archives of torch.export (.pt2)");
  Result<torch::Archive> archive = torch::Archive::open(file);
  if (!archive)
    return fail(archive.message());
  Result<torch::Program> read = archive->program(program);
  if (!read)
    return fail(read.message());
  std::filesystem::path path(file);
  if (name.empty())
    name = path.stem().string();
  ExtractedCases made = testbench::worker::extractCases(*read, name);
  std::string heading =
      fmt::format("{} of {} calls in {}, as extracted by `cupel ops extract` (torch {}).",
                  made.file.cases.size(), made.calls, path.filename().string(), read->torchVersion);
  std::string text = testbench::opcases::toYaml(made.file, made.defaults, heading);
  Status written =
      results::writeReportFile(output.empty() ? "-" : output, [&](std::ostream &out) -> Status {
        out << text;
        return {};
      });
  if (!written)
    return fail(written.message());
  std::set<std::string> ops;
  for (const testbench::opcases::Case &one : made.file.cases)
    ops.insert(one.op);
  fmt::print(stderr, "cupel ops extract: {} cases of {} operators from {} calls\n",
             made.file.cases.size(), ops.size(), made.calls);
  for (size_t i = 0; i < made.leftOut.size() && i < kMostLeftOut; ++i)
    fmt::print(stderr, "cupel ops extract: left out: {}\n", made.leftOut[i]);
  if (made.leftOut.size() > kMostLeftOut)
    fmt::print(stderr, "cupel ops extract: left out: and {} more\n",
               made.leftOut.size() - kMostLeftOut);
  return made.file.cases.empty()
             ? reportError("ops extract", file + ": calls no operator", kExitNothingSelected)
             : int(kExitSuccess);
}

} // namespace cupel::cli
