// The rows of a folder of conformance vectors (its manifest.tsv) and the pieces of its files.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::conformance {

/// One row of the manifest: one file and how it is judged.
struct Row {
  std::string path; // Below the folder of the vectors.
  std::vector<std::string> judges;
  std::string needs;
  /// Why upstream does not run it; empty if it does.
  std::string disabled;
};

/// The rows of a manifest; nothing if it cannot be read.
std::optional<std::vector<Row>> readManifest(const std::string &folder);

/// One row of the file of known exceptions.
struct Exception {
  std::string path;
  std::string judge;
  std::string reason;
};
std::optional<std::vector<Exception>> readExceptions(const std::string &path);

std::optional<std::string> readFile(const std::string &path);

/// One program of a file of several, separated by `// -----`. `text` begins with as many empty
/// lines as stand before it in the file, so that line numbers are those of the file.
struct Chunk {
  std::string text;
  size_t index = 0;
};
std::vector<Chunk> splitChunks(std::string_view text);

/// A comment `expected-error @+1 {{text}}`.
struct ExpectedError {
  long line; // May lie before the file: a comment that counted lines which were removed from it.
  std::string text;
};
std::vector<ExpectedError> expectedErrors(std::string_view text);

/// The version in a file name such as `x.1_9_0.mlir`, as 1.9.0.
std::optional<std::string> versionInName(std::string_view path);

} // namespace cupel::conformance
