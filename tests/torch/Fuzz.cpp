// Feeds damaged `.pt2` archives to the reader and the importer: bytes of the file, fields of its
// JSON (with the archive around it intact), weights' configurations and pickles. Every input is
// made from a seed and its number, so that one that kills the process can be made again.
//
// usage: cupel_torch_fuzz FILE.pt2... [--inputs N], and the options of tests/fuzz/Frame.h: `--save`
// keeps what failed, `--only N` reads that input in this process.

#include "cupel/frontends/torch/Archive.h"
#include "cupel/frontends/torch/Import.h"
#include "cupel/ir/Dialects.h"
#include "tests/fuzz/Frame.h"
#include "tests/torch/Mutations.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

#include <cstdlib>

using namespace cupel;
using namespace cupel::frontends::torch_import;

namespace {

class Archives : public fuzz::InputSource {
public:
  Archives(const torch_fuzz::Mutations &mutations, uint64_t seed, uint64_t count)
      : mutations(mutations), seed(seed), count(count) {}
  uint64_t size() const override { return count; }
  fuzz::Input make(uint64_t number) const override {
    return {mutations.describe(seed, number), mutations.make(seed, number)};
  }
  std::string kind(uint64_t number) const override { return mutations.kind(seed, number); }

private:
  const torch_fuzz::Mutations &mutations;
  uint64_t seed, count;
};

/// A context for so many inputs: making one takes longer than reading most of them.
class Contexts {
public:
  Contexts() { ir::registerAllDialects(registry); }
  mlir::MLIRContext &next() {
    if (!context || ++used % 128 == 0) {
      context =
          std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
      context->loadAllAvailableDialects();
      context->getDiagEngine().registerHandler([](mlir::Diagnostic &) {});
    }
    return *context;
  }

private:
  mlir::DialectRegistry registry;
  std::unique_ptr<mlir::MLIRContext> context;
  uint64_t used = 0;
};

/// Every refusal is one line that says something.
fuzz::Outcome refusal(const std::string &message) {
  if (message.find('\n') != std::string::npos)
    std::abort();
  return message.empty() ? fuzz::Outcome::Silent : fuzz::Outcome::Refused;
}

fuzz::Outcome read(const std::string &bytes, mlir::MLIRContext &context) {
  tensor::SharedBytes file{{reinterpret_cast<const std::byte *>(bytes.data()), bytes.size()},
                           nullptr};
  Result<Archive> archive = Archive::parse(file, "input.pt2");
  if (!archive)
    return refusal(archive.message());
  fuzz::Outcome worst = fuzz::Outcome::Valid;
  for (const std::string &name : archive->programs()) {
    Result<Program> program = archive->program(name);
    if (!program)
      return refusal(program.message());
    if (Result<Imported> imported = importProgram(*program, context, {}); !imported)
      worst = std::max(worst, imported.message().empty() ? fuzz::Outcome::Silent
                                                         : fuzz::Outcome::Refused);
  }
  return worst;
}

} // namespace

int main(int argc, char **argv) {
  fuzz::Frame frame("cupel_torch_fuzz", "FILE.pt2...");
  frame.options.extension = ".pt2";
  frame.options.secondsPerInput = 30;
  frame.options.memoryLimit = uint64_t(6) << 30;
  uint64_t count = 10000;
  frame.number("--inputs", count);
  frame.parse(argc, argv);
  torch_fuzz::Mutations mutations;
  for (const std::string &path : frame.paths)
    if (Status status = mutations.add(path); !status)
      frame.usage(status.message());
  if (mutations.empty())
    frame.usage("no *.pt2 in the folders");
  Contexts contexts;
  return frame.run(Archives(mutations, frame.seed, count),
                   [&](const fuzz::Input &input) { return read(input.content, contexts.next()); });
}
