// The project file `cupel.yaml`: where a project keeps its zoo, programs, op cases, configuration,
// architectures and results, so that no verb needs to be told. Read by every verb that collects or
// stores; it never writes it.
#pragma once

#include "cupel/support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace cupel::testbench::matrix {

inline constexpr std::string_view kProjectFile = "cupel.yaml";

/// All paths are absolute; relative ones in the file count from its folder.
struct Project {
  std::string file;
  std::string folder;
  std::vector<std::string> zoo;           ///< Roots of trees of loaders.
  std::vector<std::string> programs;      ///< Files and folders of programs, ONNX models, archives.
  std::vector<std::string> opCases;       ///< Files and folders of operator cases.
  std::vector<std::string> config;        ///< Files and folders of the test configuration.
  std::vector<std::string> architectures; ///< Folders of architecture descriptors.
  std::optional<std::string> results;     ///< The results store: a folder, or an address.
  std::vector<std::string> frameworks;    ///< Empty: the default.
  std::vector<std::string> markers;       ///< Registered marks; empty: every mark is taken.
  std::string comparison; ///< How results are judged by default: strict (or empty), or pcc.
};

/// The nearest `cupel.yaml` in `folder` or above; empty if there is none.
std::string findProjectFile(const std::string &folder);

/// Reads it. The error names file, line and column and what was expected.
Result<Project> readProject(const std::string &file);

/// The working folder's project, if it has one: what verbs other than list and run begin with.
Result<std::optional<Project>> currentProject();

} // namespace cupel::testbench::matrix
