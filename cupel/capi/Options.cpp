// The table of options, for those who are not C++.

#include "cupel/runtime/Options.h"

#include "cupel/capi/Api.h"

#include <cstring>
#include <nlohmann/json.hpp>

using namespace cupel::runtime;

char *cupel_options(void) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const OptionInfo &option : optionTable()) {
    nlohmann::ordered_json scopes = nlohmann::ordered_json::array();
    for (auto [scope, word] : {std::pair(OptionScope::Client, "client"), std::pair(OptionScope::Program, "program"),
                               std::pair(OptionScope::Codegen, "codegen")})
      if (option.isFor(scope))
        scopes.push_back(word);
    all.push_back({{"name", option.name},
                   {"type", option.typeName()},
                   {"scopes", scopes},
                   {"default", option.defaultText},
                   {"help", option.help},
                   {"choices", optionWords(option.choices)},
                   {"aliases", optionWords(option.aliases)}});
  }
  return strdup(all.dump().c_str());
}
