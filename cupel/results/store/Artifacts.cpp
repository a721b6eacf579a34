// Artifacts: files by the hash of their contents, beside the database.

#include "cupel/results/store/StoreImpl.h"
#include "cupel/support/Files.h"
#include "cupel/support/Sha256.h"

#include <filesystem>

namespace cupel::results {

namespace fs = std::filesystem;

std::string Store::artifactPath(std::string_view sha256) const {
  return impl->place.folder + "/artifacts/" + std::string(sha256.substr(0, 2)) + "/" +
         std::string(sha256);
}

Result<ArtifactRecord> Store::keepArtifact(std::string name, std::string_view bytes) {
  ArtifactRecord artifact{std::move(name), sha256(bytes), bytes.size()};
  std::string path = artifactPath(artifact.sha256);
  std::error_code error;
  // Whole or absent: a file of that name and size has these contents.
  if (fs::file_size(path, error) == bytes.size() && !error)
    return artifact;
  fs::create_directories(fs::path(path).parent_path(), error);
  if (error)
    return Error{path + ": cannot make its folder: " + error.message()};
  if (Status status = writeOutput(path, bytes); !status)
    return status.error();
  return artifact;
}

Result<ArtifactRecord> Store::keepArtifactFile(std::string name, const std::string &path) {
  Result<FileContents> contents = readInput(path);
  if (!contents)
    return contents.error();
  return keepArtifact(std::move(name), contents->bytes());
}

} // namespace cupel::results
