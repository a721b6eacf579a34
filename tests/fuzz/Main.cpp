// cupel_fuzz FOLDER... [--quick] [--as-bytecode] [--no-guard] [--verbose] [--largest BYTES], and
// the options of Frame.h.
//
// Reads damaged programs made from the *.mlir and *.mlir.bc below the folders, as Cupel reads
// programs. Each must end in a message or a sound module: no crash, no hang, no more than 1 GiB.
// Exits with 1 if any did not. `--only N` reads that input (with `--count N` so many from there on)
// in this process, for a debugger;
// `--as-bytecode` also takes each text that reads as bytecode of every version.
#include "tests/fuzz/Frame.h"
#include "tests/fuzz/Target.h"

#include <algorithm>
#include <iterator>

using namespace cupel::fuzz;

int main(int count, char **arguments) {
  Frame frame("cupel_fuzz", "FOLDER...");
  TargetOptions target;
  uint64_t largest = 64 << 10;
  bool quick = false, wantBytecode = false, noGuard = false;
  frame.flag("--quick", quick);
  frame.flag("--as-bytecode", wantBytecode);
  frame.flag("--no-guard", noGuard);
  frame.flag("--verbose", target.verbose);
  frame.number("--largest", largest);
  frame.parse(count, arguments);
  target.guard = !noGuard;

  std::vector<CorpusFile> corpus = readCorpus(frame.paths, largest);
  if (wantBytecode) {
    std::vector<CorpusFile> more;
    for (const CorpusFile &file : corpus)
      if (!file.bytecode)
        for (CorpusFile &written : asBytecode(file))
          more.push_back(std::move(written));
    std::move(more.begin(), more.end(), std::back_inserter(corpus));
  }
  Inputs inputs(std::move(corpus), quick ? Amounts::quick() : Amounts(), frame.seed);
  if (inputs.size() == 0)
    frame.usage("no *.mlir or *.mlir.bc in the folders");
  return frame.run(inputs, [&](const Input &input) { return readProgram(input, target); });
}
