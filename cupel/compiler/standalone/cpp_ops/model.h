// Everything that main.cpp is written with, and what it is started with.
#pragma once

#include "checks.h"
#include "convolution.h"
#include "files.h"
#include "linear.h"
#include "norms.h"
#include "random.h"

#include <chrono>

namespace ops {

/// What orders effects: nothing.
struct Token {
  Token() {}
};

/// --inputs FILE, --weights FILE, --save FILE, --runs N.
class Arguments {
public:
  Arguments(int argc, char **argv) {
    for (int i = 1; i < argc; i += 2) {
      std::string name = argv[i];
      if ((name != "--inputs" && name != "--weights" && name != "--save" && name != "--runs") || i + 1 == argc)
        throw std::runtime_error("usage: model [--inputs FILE] [--weights FILE] [--save FILE] [--runs N]");
      given[name] = argv[i + 1];
    }
  }
  /// The file of inputs; none, unless one is stored or given.
  std::string inputs(bool is_stored) const { return file("--inputs", is_stored, "tensors/inputs.safetensors"); }
  std::string weights(bool is_stored) const { return file("--weights", is_stored, "tensors/weights.safetensors"); }

  /// Calls the model, once or --runs times, and says what it gave and how long it took.
  template <class F> int run(const F &model) const {
    int runs = given.count("--runs") ? std::max(1, std::atoi(given.at("--runs").c_str())) : 1;
    std::vector<double> times;
    for (int i = 0; i < runs; ++i) {
      Results results;
      auto begin = std::chrono::steady_clock::now();
      model(results);
      times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
      if (i + 1 < runs)
        continue;
      results.print();
      if (given.count("--save"))
        results.save(given.at("--save"));
    }
    if (checks_held() > 0)
      std::printf("%d checks hold\n", checks_held());
    std::printf("%.3f ms", times[0]);
    if (runs > 1) { // The first run packs weights and takes memory.
      std::sort(times.begin() + 1, times.end());
      std::printf(", then %.3f ms (median of %d, best %.3f)", times[1 + size_t(runs - 1) / 2], runs - 1, times[1]);
    }
    std::printf("\n");
    return 0;
  }

private:
  std::string file(const char *option, bool is_stored, const char *stored) const {
    auto found = given.find(option);
    return found != given.end() ? found->second : is_stored ? stored : "";
  }
  std::map<std::string, std::string> given;
};

} // namespace ops
