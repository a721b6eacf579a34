#include "tests/conformance/Judges.h"

#include "cupel/compiler/passes/LowerChlo.h"
#include "cupel/ir/Dialects.h"
#include "cupel/ir/portable/ReadProgram.h"
#include "cupel/ir/vhlo/Vhlo.h"

#include "mlir/Bytecode/BytecodeReader.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace mlir;
using namespace cupel;
using namespace cupel::conformance;
using portable::Version;

namespace {

/// A context with all that a vector needs, which keeps what is said in it.
class Session {
public:
  Session()
      : context(MLIRContext::Threading::DISABLED), handler(&context, [this](Diagnostic &d) {
          if (d.getSeverity() == DiagnosticSeverity::Error)
            errors.push_back({lineOf(d.getLocation()), d.str()});
          return success();
        }) {
    DialectRegistry registry;
    ir::registerAllDialects(registry);
    context.appendDialectRegistry(registry);
    portable::loadDialects(context);
  }

  OwningOpRef<ModuleOp> parse(const std::string &text) {
    return ir::readProgram(llvm::MemoryBufferRef(text, "vector.mlir"), ParserConfig(&context));
  }

  /// The first error, for a message.
  std::string complaint() const {
    return errors.empty()
               ? "no reason was given"
               : "line " + std::to_string(errors.front().line) + ": " + errors.front().text;
  }

  MLIRContext context;
  std::vector<ExpectedError> errors;
  ScopedDiagnosticHandler handler;

private:
  static long lineOf(Location location) {
    if (auto file = location->findInstanceOf<FileLineColLoc>())
      return file.getLine();
    return 0;
  }
};

std::string print(Operation *op, bool generic = false) {
  std::string text;
  llvm::raw_string_ostream os(text);
  OpPrintingFlags flags;
  if (generic)
    flags.printGenericOpForm();
  op->print(os, flags);
  os << '\n';
  return text;
}

void stripLocations(ModuleOp module) {
  Location unknown = UnknownLoc::get(module.getContext());
  module->walk([&](Operation *op) {
    op->setLoc(unknown);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (BlockArgument argument : block.getArguments())
          argument.setLoc(unknown);
  });
}

/// The first line in which two texts differ.
std::string firstDifference(const std::string &expected, const std::string &actual) {
  StringRef left = expected, right = actual;
  for (size_t line = 1;; ++line) {
    StringRef a, b;
    std::tie(a, left) = left.split('\n');
    std::tie(b, right) = right.split('\n');
    if (a != b)
      return ("printed line " + Twine(line) + ":\n    expected " + a.take_front(300) +
              "\n    found    " + b.take_front(300))
          .str();
    if (left.empty() && right.empty())
      return "no line differs";
  }
}

/// Runs FileCheck on a text with the check lines of another; what it says if they do not match.
std::optional<std::string> fileCheck(const std::string &checks, const std::string &text,
                                     const Environment &env, StringRef prefix = "CHECK") {
  auto temporary = [](StringRef content) -> std::string {
    int descriptor;
    SmallString<128> path;
    if (llvm::sys::fs::createTemporaryFile("conformance", "txt", descriptor, path))
      return "";
    llvm::raw_fd_ostream(descriptor, /*shouldClose=*/true) << content;
    return path.str().str();
  };
  std::string checkFile = temporary(checks), inputFile = temporary(text), output = temporary("");
  std::string prefixFlag = ("--check-prefix=" + prefix).str();
  std::string inputFlag = "--input-file=" + inputFile;
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(output), StringRef(output)};
  int code = llvm::sys::ExecuteAndWait(
      env.fileCheck, {env.fileCheck, checkFile, inputFlag, prefixFlag, "--dump-input=never"},
      std::nullopt, redirects, /*SecondsToWait=*/60);
  std::string said = readFile(output).value_or("");
  for (const std::string &file : {checkFile, inputFile, output})
    llvm::sys::fs::remove(file);
  if (code == 0)
    return std::nullopt;
  return code < 0 ? env.fileCheck + " cannot be run" : said;
}

Version versionOf(const Row &row) {
  std::optional<std::string> text = versionInName(row.path);
  return text ? Version::parse(*text).value_or(vhlo::kCurrentVersion) : vhlo::kCurrentVersion;
}

//===----------------------------------------------------------------------===//
// Judges
//===----------------------------------------------------------------------===//

/// Print, convert, write, read, convert, print: the two texts must be equal.
Verdict judgeRoundtrip(const std::string &text, const std::string &where, bool needsChlo) {
  Session session;
  OwningOpRef<ModuleOp> module = session.parse(text);
  if (!module)
    return Verdict::failed(where + "does not parse: " + session.complaint());
  if (needsChlo && failed(compiler::lowerChlo(*module)))
    return Verdict::failed(where + "its chlo operations cannot be lowered: " + session.complaint());
  std::string custom = print(*module);
  std::string artifact;
  llvm::raw_string_ostream os(artifact);
  if (failed(portable::writePortable(*module, vhlo::kCurrentVersion, os)))
    return Verdict::failed(where + "cannot be written: " + session.complaint());
  Session reader;
  OwningOpRef<ModuleOp> back =
      portable::readPortable(llvm::MemoryBufferRef(artifact, "artifact"), &reader.context);
  if (!back)
    return Verdict::failed(where + "cannot be read back: " + reader.complaint());
  if (std::string again = print(*back); again != custom)
    return Verdict::failed(where + "comes back differently, " + firstDifference(custom, again));
  // Printed text and generic text are read back as the same program. Attributes that equal their
  // defaults are in neither, for the portable format does not keep them.
  Session reparser;
  OwningOpRef<ModuleOp> reparsed = reparser.parse(custom);
  if (!reparsed)
    return Verdict::failed(where + "its printed text does not parse: " + reparser.complaint());
  std::string generic = print(*reparsed, /*generic=*/true);
  if (std::string again = print(*back, /*generic=*/true); again != generic)
    return Verdict::failed(where + "comes back differently in generic form, " +
                           firstDifference(generic, again));
  OwningOpRef<ModuleOp> fromGeneric = reparser.parse(generic);
  if (!fromGeneric)
    return Verdict::failed(where + "its generic text does not parse: " + reparser.complaint());
  if (std::string again = print(*fromGeneric); again != custom)
    return Verdict::failed(where + "its generic text prints differently, " +
                           firstDifference(custom, again));
  return {};
}

Verdict judgeRoundtripFile(const Row &row, const std::string &text) {
  Verdict verdict;
  std::vector<Chunk> chunks = splitChunks(text);
  for (const Chunk &chunk : chunks) {
    std::string where = chunks.size() > 1 ? "piece " + std::to_string(chunk.index + 1) + " " : "";
    Verdict one = judgeRoundtrip(chunk.text, where, row.needs.find("chlo") != std::string::npos);
    if (one.kind != Verdict::Kind::Passed)
      return one;
  }
  return verdict;
}

/// Converted to vhlo of the version in the name, the text matches its check lines.
Verdict judgeDowngradeText(const Row &row, const std::string &text, const Environment &env,
                           bool generic) {
  Verdict verdict;
  std::string checks, output;
  for (const Chunk &chunk : splitChunks(text)) {
    checks += chunk.text;
    Session session;
    OwningOpRef<ModuleOp> module = session.parse(chunk.text);
    if (!module)
      return Verdict::failed("does not parse: " + session.complaint());
    if (failed(portable::convertToVhlo(*module, versionOf(row), {.allowOtherDialects = false})) ||
        failed(verify(*module)))
      return Verdict::failed("cannot be converted: " + session.complaint());
    output += print(*module, generic);
  }
  if (auto said = fileCheck(checks, output, env))
    return Verdict::failed("does not match its check lines: " + *said);
  return verdict;
}

OwningOpRef<ModuleOp> readVhlo(const std::string &bytes, Session &session) {
  Block block;
  ParserConfig config(&session.context);
  if (failed(readBytecodeFile(llvm::MemoryBufferRef(bytes, "artifact"), &block, config)) ||
      block.empty())
    return {};
  auto module = llvm::dyn_cast<ModuleOp>(block.front());
  if (module)
    module->remove();
  return module;
}

/// An artifact is read, matches the check lines of its text, and is the program of its text.
Verdict judgeArtifact(const Row &row, const std::string &bytes, const std::string &text,
                      const Environment &env) {
  Session session;
  OwningOpRef<ModuleOp> module = readVhlo(bytes, session);
  if (!module)
    return Verdict::failed("cannot be read: " + session.complaint());
  if (auto said = fileCheck(text, print(*module, /*generic=*/true), env))
    return Verdict::failed("does not match the check lines of its text: " + *said);

  Verdict verdict;
  Session source;
  OwningOpRef<ModuleOp> expected = source.parse(text);
  if (!expected)
    return Verdict::failed("its text does not parse: " + source.complaint());
  Session reader;
  OwningOpRef<ModuleOp> actual =
      portable::readPortable(llvm::MemoryBufferRef(bytes, "artifact"), &reader.context);
  if (!actual)
    return Verdict::failed("cannot be converted: " + reader.complaint());
  if (std::string a = print(*expected), b = print(*actual); a != b)
    return Verdict::failed("is not the program of its text, " + firstDifference(a, b));
  return verdict;
}

/// A text, written for the version in its name, is the artifact beside it.
Verdict judgeArtifactText(const Row &row, const std::string &text, const std::string &bytes) {
  Verdict verdict;
  Session session;
  OwningOpRef<ModuleOp> module = session.parse(text);
  if (!module)
    return Verdict::failed("does not parse: " + session.complaint());
  stripLocations(*module);
  Version version = versionOf(row);
  std::string written;
  llvm::raw_string_ostream os(written);
  if (failed(portable::writePortable(*module, version, os, {.allowOtherDialects = false})))
    return Verdict::failed("cannot be written: " + session.complaint());
  if (version < Version{0, 18, 0} && written != bytes)
    return Verdict::failed("was written with other bytes than the artifact beside it");
  // From 0.18 on MLIR 19 writes one record more than newer ones do: compare what the bytes mean.
  OwningOpRef<ModuleOp> ours = readVhlo(written, session), theirs = readVhlo(bytes, session);
  if (!ours || !theirs)
    return Verdict::failed("cannot be read back: " + session.complaint());
  if (std::string a = print(*theirs, true), b = print(*ours, true); a != b)
    return Verdict::failed("was written differently from the artifact beside it, " +
                           firstDifference(a, b));
  if (portable::artifactVersion(written) != portable::artifactVersion(bytes))
    return Verdict::failed("was written with another version than the artifact beside it");
  return verdict;
}

Verdict judgeArtifactVersion(const Row &row, const std::string &bytes) {
  std::optional<Version> version = portable::artifactVersion(bytes);
  if (!version)
    return Verdict::failed("has no version");
  if (auto name = versionInName(row.path); name && *name != version->str())
    return Verdict::failed("has version " + version->str() + " instead of " + *name);
  return {};
}

/// The messages about target versions that do not exist.
Verdict judgeTargetVersions(const std::string &text, const Environment &env) {
  for (auto [prefix, target] :
       {std::pair("EMPTY_TARGET", ""), std::pair("FUTURE_TARGET", "100.10.10"),
        std::pair("MINIMUM_TARGET", "0.0.0"), std::pair("NOT_VERSION_TARGET", "x.y.z")}) {
    if (text.find(std::string(prefix) + ":") == std::string::npos)
      continue;
    std::string message;
    if (vhlo::parseTargetVersion(target, message))
      return Verdict::failed("target version '" + std::string(target) + "' is accepted");
    if (auto said = fileCheck(text, message + "\n", env, prefix))
      return Verdict::failed(*said);
  }
  return {};
}

/// Errors must be exactly those that are announced.
std::string compareErrors(std::vector<ExpectedError> expected,
                          const std::vector<ExpectedError> &actual) {
  for (const ExpectedError &error : actual) {
    auto it = llvm::find_if(expected, [&](const ExpectedError &candidate) {
      return (candidate.line < 1 || candidate.line == error.line) &&
             StringRef(error.text).contains(candidate.text);
    });
    if (it == expected.end())
      return "unexpected error in line " + std::to_string(error.line) + ": " + error.text;
    expected.erase(it);
  }
  if (!expected.empty())
    return "missing error in line " + std::to_string(expected.front().line) + ": " +
           expected.front().text;
  return "";
}

Verdict judgeMustFail(const Row &row, const std::string &text, const Environment &env) {
  if (text.find("EMPTY_TARGET") != std::string::npos)
    return judgeTargetVersions(text, env);
  Verdict verdict;
  for (const Chunk &chunk : splitChunks(text)) {
    std::string where = "piece " + std::to_string(chunk.index + 1) + ": ";
    // A comment may point to the line of an error relative to its own.
    std::vector<ExpectedError> expected = expectedErrors(chunk.text);
    Session session;
    OwningOpRef<ModuleOp> module = session.parse(chunk.text);
    bool failedAsExpected = !module;
    std::string output;
    if (module) {
      failedAsExpected =
          failed(portable::convertToVhlo(*module, versionOf(row), {.allowOtherDialects = false})) ||
          failed(verify(*module));
      if (!failedAsExpected)
        output = print(*module);
    }
    if (expected.empty()) {
      if (failedAsExpected && StringRef(chunk.text).contains("CHECK"))
        return Verdict::failed(where + "should succeed: " + session.complaint());
      if (StringRef(chunk.text).contains("CHECK"))
        if (auto said = fileCheck(chunk.text, output, env))
          return Verdict::failed(where + *said);
      continue;
    }
    if (!failedAsExpected)
      return Verdict::failed(where + "should fail but does not");
    if (std::string difference = compareErrors(expected, session.errors); !difference.empty())
      return Verdict::failed(where + difference);
  }
  return verdict;
}

} // namespace

std::optional<Verdict> cupel::conformance::judge(const Row &row, const std::string &judge,
                                                 const Environment &env) {
  static const std::set<std::string> ours = {"roundtrip",       "text",           "artifact",
                                             "artifact-text",   "downgrade-text", "must-fail",
                                             "artifact-version"};
  if (!ours.contains(judge))
    return std::nullopt;
  std::string path = env.folder + "/" + row.path;
  std::optional<std::string> content = readFile(path);
  if (!content)
    return Verdict::failed("cannot be opened");
  // The other half of a pair of text and artifact.
  bool isArtifact = StringRef(path).ends_with(".bc");
  std::string other = isArtifact ? path.substr(0, path.size() - 3) : path + ".bc";
  if (judge == "roundtrip")
    return judgeRoundtripFile(row, *content);
  if (judge == "text")
    return judgeDowngradeText(row, *content, env, /*generic=*/true);
  if (judge == "downgrade-text")
    return judgeDowngradeText(row, *content, env, /*generic=*/false);
  if (judge == "must-fail")
    return judgeMustFail(row, *content, env);
  if (judge == "artifact-version")
    return judgeArtifactVersion(row, *content);
  std::optional<std::string> pair = readFile(other);
  if (!pair)
    return Verdict::failed("the file beside it cannot be opened");
  if (judge == "artifact")
    return judgeArtifact(row, *content, *pair, env);
  return judgeArtifactText(row, *content, *pair);
}
