#include "cupel/compiler/program/CompileOptions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace cupel::compiler {

using llvm::SmallVector;
using llvm::StringRef;

std::string describe(const CompileOptions &options) {
  std::string line = std::to_string(options.replicas) + " " + std::to_string(options.partitions) +
                     " " + (options.wideAccumulation ? "wide" : "native") +
                     (options.isGlobal ? "" : ",own") + (options.splitsWork ? "" : ",whole") +
                     (options.scatterSkipsWindows ? ",windows" : "") +
                     (options.narrowsProducts ? ",bf16" : "") +
                     (options.keepsNarrow ? ",kept" : "") +
                     (options.alwaysMakesCode ? ",code" : "") +
                     (options.enablesTrace ? ",trace" : "");
  if (options.wrongRewrite != 0)
    line += ",wrong=" + std::to_string(options.wrongRewrite);
  if (options.rewriteLimit >= 0)
    line += ",limit=" + std::to_string(options.rewriteLimit);
  if (options.level != CompileOptions().level)
    line += ",level=" + std::to_string(options.level);
  if (options.sramBytes != 0)
    line += ",sram=" + std::to_string(options.sramBytes);
  if (!options.weightFormats.empty()) // One word, whatever it holds.
    line += ",weights=" + llvm::toHex(options.weightFormats);
  if (!options.fusions.empty() || !options.withoutFusions.empty())
    line += ",fusions=" + llvm::toHex(options.fusions) + "," + llvm::toHex(options.withoutFusions);
  line += ' ';
  line += llvm::join(
      llvm::map_range(options.types, [](tensor::DType type) { return tensor::info(type).name; }),
      ",");
  line += ' ';
  for (bool allowed : options.propagateToResults)
    line += allowed ? '1' : '0';
  return line;
}

Result<CompileOptions> parseCompileOptions(std::string_view line) {
  Error malformed{"'" + std::string(line) + "' are no options of a compilation"};
  CompileOptions options;
  SmallVector<StringRef> words;
  StringRef(line).split(words, ' ');
  if (words.size() != 5 || words[0].getAsInteger(10, options.replicas) ||
      words[1].getAsInteger(10, options.partitions))
    return malformed;
  StringRef mode = words[2];
  auto take = [&](StringRef key, int64_t &number) { // A number at the end; whether all is well.
    auto [before, after] = mode.split(key);
    if (before.size() == mode.size())
      return true;
    mode = before;
    return !after.getAsInteger(10, number);
  };
  if (auto [before, fusions] = mode.split(",fusions="); before.size() != mode.size()) {
    auto [patterns, without] = fusions.split(',');
    if (!llvm::tryGetFromHex(patterns, options.fusions) ||
        !llvm::tryGetFromHex(without, options.withoutFusions))
      return malformed;
    mode = before;
  }
  if (auto [before, weights] = mode.split(",weights="); before.size() != mode.size()) {
    if (!llvm::tryGetFromHex(weights, options.weightFormats))
      return malformed;
    mode = before;
  }
  if (!take(",sram=", options.sramBytes) || !take(",level=", options.level) || !take(",limit=", options.rewriteLimit) || !take(",wrong=", options.wrongRewrite))
    return malformed;
  options.enablesTrace = mode.consume_back(",trace");
  options.alwaysMakesCode = mode.consume_back(",code");
  options.keepsNarrow = mode.consume_back(",kept");
  options.narrowsProducts = mode.consume_back(",bf16");
  options.scatterSkipsWindows = mode.consume_back(",windows");
  options.splitsWork = !mode.consume_back(",whole");
  options.isGlobal = !mode.consume_back(",own");
  options.wideAccumulation = mode == "wide";
  SmallVector<StringRef> types;
  words[3].split(types, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  for (StringRef name : types) {
    std::optional<tensor::DType> type = tensor::parseDType(name);
    if (!type)
      return malformed;
    options.types.push_back(*type);
  }
  for (char c : words[4])
    options.propagateToResults.push_back(c == '1');
  return options;
}

} // namespace cupel::compiler
