// `--fusions FILE` of the verbs that compile: an option of the device by another name.
#pragma once

#include "cupel/support/Error.h"

#include <filesystem>
#include <string>
#include <vector>

namespace cupel::cli {

/// Adds the files to NAME=VALUE options, by their whole paths: workers run in folders of their own.
inline Status addFusions(const std::vector<std::string> &files, std::vector<std::string> &options) {
  std::string all;
  for (const std::string &file : files) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error))
      return Error{ErrorCode::InvalidArgument, "--fusions " + file + ": there is no such file"};
    all += (all.empty() ? "" : ",") + std::filesystem::absolute(file).string();
  }
  if (!all.empty())
    options.push_back("fusion_patterns=" + all);
  return {};
}

} // namespace cupel::cli
