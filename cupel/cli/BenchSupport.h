// What the verbs that measure share: the bar, processors that all contestants are kept on, devices
// and options as they are typed, and being interrupted. Used by `bench` and `tune`.
#pragma once

#include "cupel/results/report/Terminal.h"
#include "cupel/support/Error.h"

#include <csignal>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace cupel::cli {

/// Becomes 1 when somebody presses Ctrl-C.
extern volatile std::sig_atomic_t gInterrupted;
/// From now on; a contestant that died does not take us along either.
void listenForInterrupts();

inline constexpr const char *kCompilerOptionHelp =
    "An option of the devices' compilers, such as optimization_level=1 "
    "(docs/reference/plugin-options.md; of a vendor's plugin, its own); may be repeated";

/// A bar on a terminal, which what is printed takes the place of; elsewhere silence.
class Bar {
public:
  explicit Bar(size_t models) : options(results::TerminalOptions::forStream(stderr)), models(models) {}
  ~Bar() { clear(); }

  void show(const std::string &file, size_t model, const std::string &what, double part) {
    if (!options.live)
      return;
    constexpr int kWidth = 24;
    int done = int(kWidth * (double(model) + part) / double(models));
    std::string line = fmt::format("[{}{}] {}: {}", std::string(done, '#'),
                                   std::string(kWidth - done, '.'),
                                   file.substr(file.find_last_of('/') + 1), what);
    if (line.size() + 1 > options.width)
      line.resize(options.width - 1);
    fmt::print(stderr, "\r\033[K{}", line);
    std::fflush(stderr);
  }
  void clear() {
    if (!options.live)
      return;
    fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
  }

private:
  results::TerminalOptions options;
  size_t models;
};

/// Keeps this process, and those it starts, on so many of the processors it may use.
Status pinTo(uint32_t threads);
uint32_t processors();

/// Whether they can be measured; compiler options become part of their names.
Status chooseDevices(std::vector<std::string> &devices, const std::vector<std::string> &compilerOptions);

} // namespace cupel::cli
