#include "cupel/runtime/DeclaredPrecision.h"

#include "cupel/runtime/Architecture.h"
#include "cupel/runtime/DeviceName.h"
#include "cupel/runtime/Options.h"

#include <algorithm>

namespace cupel::runtime {

constexpr std::string_view kOption = "precision";

/// Whether our own plugin computes f64 as f64 when it presents an architecture.
static bool hasDoubles(const DeviceName &device) {
  std::string arch(device.option("arch"));
  if (arch.empty() || device.option("number_formats") == "program")
    return true;
  Result<Architecture> found = findArchitecture(arch);
  return !found || std::ranges::find(found->dtypes, tensor::DType::F64) != found->dtypes.end();
}

Result<compare::DevicePrecision> declaredPrecision(const std::string &name,
                                                   const std::string &arch) {
  DeviceName device = DeviceName::parse(name.substr(0, name.find('@')), arch);
  compare::DevicePrecision precision;
  if (device.plugin == "cupel" && !hasDoubles(device))
    precision.doubles = precision.rest;
  if (std::string_view text = device.option(kOption); !text.empty()) {
    if (device.plugin != "cupel")
      return compare::DevicePrecision::parse(text);
    Options options(OptionScope::Client);
    if (Status status = options.set(kOption, std::string(text)); !status)
      return status.error();
    Numerics numerics;
    chooseNumerics(options, numerics);
    if (numerics.narrowsProducts)
      precision.products = *compare::findPrecision("bf16");
    if (numerics.keepsNarrow)
      precision.rest = *compare::findPrecision("bf16");
  }
  if (device.plugin.ends_with(".so") && !arch.empty())
    if (Result<Architecture> found = findArchitecture(arch); found && found->precision)
      return *found->precision;
  return precision;
}

std::string withoutPrecision(const std::string &name) {
  size_t at = name.find('@');
  if (DeviceName::parse(name.substr(0, at)).plugin == "cupel")
    return name; // To ours it says what to compute in.
  std::string_view whole(name), own = whole.substr(0, at);
  std::string kept(own.substr(0, own.find('?')));
  bool isFirst = true;
  for (size_t begin = kept.size(); begin < own.size();) {
    size_t end = std::min(own.find('&', begin + 1), own.size());
    std::string_view option = own.substr(begin + 1, end - begin - 1);
    if (!option.starts_with(std::string(kOption) + "=")) {
      kept += isFirst ? '?' : '&';
      kept += option;
      isFirst = false;
    }
    begin = end;
  }
  return kept + (at == std::string::npos ? "" : name.substr(at));
}

} // namespace cupel::runtime
