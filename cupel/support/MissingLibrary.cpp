#include "cupel/support/MissingLibrary.h"

#include <array>
#include <utility>

namespace cupel {

std::string missingPackage(std::string_view message) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kPackages = {{
      {"libMLIR.so", "libmlir-19"},
      {"libLLVM.so", "libllvm19"},
      {"liblapacke.so", "liblapacke"},
      {"liblapack.so", "liblapack3"},
      {"libblas.so", "libblas3"},
      {"libsqlite3.so", "libsqlite3-0"},
      {"libxlsxwriter.so", "libxlsxwriter4"},
  }};
  constexpr std::string_view kSaid = "cannot open shared object file";
  size_t said = message.find(kSaid);
  if (said == std::string_view::npos)
    return "";
  for (const auto &[library, package] : kPackages)
    if (message.substr(0, said).find(library) != std::string_view::npos)
      return "; on Debian 12: apt-get install " + std::string(package);
  return "";
}

} // namespace cupel
