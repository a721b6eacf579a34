// How people name a device: `reference`, our own plugin as `cupel` or by an architecture that it
// presents (`n300`), anybody's by the path of its .so file, each with options for its client behind
// a question mark. Used wherever `--device` is read; opens nothing.

#pragma once

#include "cupel/support/Error.h"

#include <string>
#include <string_view>
#include <vector>

namespace cupel::runtime {

struct DeviceName {
  std::string plugin;               // `reference`, `cupel` or a path.
  std::vector<std::string> options; // NAME=VALUE.

  /// An architecture's name stands for our own plugin (`n300` is `cupel?arch=n300`, `cpu` is
  /// `cupel`). `arch`, if it is an architecture that is built in, is what our own plugin presents
  /// unless its options choose devices.
  static DeviceName parse(std::string_view name, std::string_view arch = {});

  /// The value of an option; empty if it is not there.
  std::string_view option(std::string_view name) const;
  /// Whether it is our own plugin or ends in .so.
  bool isPlugin() const;

  /// Options (NAME=VALUE) for the device's compiler: our own plugin's clients take them, checked by
  /// the table; of others they become `compile.NAME=VALUE`, which go to the plugin with every program.
  Status addCompilerOptions(const std::vector<std::string> &given);

  std::string str() const;
};

} // namespace cupel::runtime
