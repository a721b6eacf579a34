#include "cupel/runtime/DeviceName.h"

#include "cupel/runtime/Architecture.h"
#include "cupel/runtime/Options.h"

#include <algorithm>

namespace cupel::runtime {

static bool isArchitecture(std::string_view name) {
  std::vector<std::string> names = architectureNames();
  return std::ranges::find(names, name) != names.end();
}

DeviceName DeviceName::parse(std::string_view name, std::string_view arch) {
  DeviceName made;
  size_t at = std::min(name.find('?'), name.size());
  made.plugin = name.substr(0, at);
  while (at < name.size()) {
    size_t end = std::min(name.find('&', at + 1), name.size());
    made.options.emplace_back(name.substr(at + 1, end - at - 1));
    at = end;
  }
  if (isArchitecture(made.plugin)) {
    arch = {};
    if (made.plugin != "cpu")
      made.options.insert(made.options.begin(), "arch=" + made.plugin);
    made.plugin = "cupel";
  }
  if (made.plugin == "cupel" && made.option("arch").empty() && made.option("num_devices").empty() &&
      isArchitecture(arch) && arch != "cpu")
    made.options.insert(made.options.begin(), "arch=" + std::string(arch));
  return made;
}

std::string_view DeviceName::option(std::string_view name) const {
  for (std::string_view option : options)
    if (option.starts_with(name) && option.substr(name.size()).starts_with('='))
      return option.substr(name.size() + 1);
  return {};
}

bool DeviceName::isPlugin() const { return plugin == "cupel" || plugin.ends_with(".so"); }

Status DeviceName::addCompilerOptions(const std::vector<std::string> &given) {
  if (given.empty())
    return {};
  if (plugin == "reference")
    return Error{"the golden reference takes no options; --device names what does"};
  bool isOurs = plugin == "cupel" || plugin.starts_with("cupel@");
  Options known(OptionScope::Client);
  for (const std::string &option : given) {
    if (size_t at = option.find('='); at == 0 || at == std::string::npos)
      return Error{"'" + option + "' is no option, which are NAME=VALUE"};
    if (option.find('&') != std::string::npos)
      return Error{"'" + option + "': values of options hold no &"};
    if (isOurs)
      if (Status status = known.setText(option); !status)
        return status;
    options.push_back(isOurs ? option : "compile." + option);
  }
  return {};
}

std::string DeviceName::str() const {
  std::string text = plugin;
  for (const std::string &option : options)
    text += (text.size() == plugin.size() ? '?' : '&') + option;
  return text;
}

} // namespace cupel::runtime
