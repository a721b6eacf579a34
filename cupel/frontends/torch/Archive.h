// A `.pt2` archive of torch.export, opened: which programs it holds, and each of them as a Program
// whose weights lie on the mapped file. Used by the importer's callers and `cupel ops`. Executes
// nothing, trusts no offset, and never asks for more memory than the file's own size justifies.
#pragma once

#include "cupel/frontends/torch/Program.h"
#include "cupel/tensor/MappedFile.h"

namespace cupel::frontends::torch_import {

/// The program that nobody named.
inline constexpr std::string_view kDefaultProgram = "model";

/// Names of the programs of a file, sorted; none where it is no archive. Looks at the directory of
/// the archive only.
std::vector<std::string> programsIn(const std::string &path);

/// What files beside a program are named after: the archive, or `NAME.PROGRAM.pt2` for one of
/// several that has a name of its own.
std::string fileOfProgram(const std::string &path, const std::string &program, size_t count);

class Archive {
public:
  static Result<Archive> open(const std::string &path);
  /// The same on bytes that are there already; `path` is what messages say.
  static Result<Archive> parse(const tensor::SharedBytes &file, const std::string &path);

  /// Names of the programs, sorted; `model` if there is one that nobody named.
  const std::vector<std::string> &programs() const { return names; }
  /// An empty name is the only program, or `model`.
  Result<Program> program(const std::string &name = {}) const;

private:
  const tensor::SharedBytes *find(const std::string &record) const;
  Status readWeights(Program &program) const;
  Status readPickledWeights(Program &program, const std::string &record) const;
  Status readConfig(Program &program, const std::string &record, const std::string &folder,
                    uint64_t &budget) const;

  std::string path;
  std::map<std::string, tensor::SharedBytes, std::less<>> records; ///< Without the root folder.
  std::vector<std::string> names;
  uint64_t fileBytes = 0;
  bool legacy = false; ///< torch <= 2.7: one program at the top level.
};

} // namespace cupel::frontends::torch_import
