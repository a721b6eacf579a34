#include "cupel/pjrt/host/PluginErrors.h"

using namespace cupel;

static std::string oneLine(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '\n' || c == '\r') {
      if (!result.empty() && !result.ends_with(" | "))
        result += " | ";
    } else {
      result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  while (result.ends_with(' ') || result.ends_with('|'))
    result.pop_back();
  return result;
}

static bool isOfPlugin(ErrorCode code) { return code <= ErrorCode::Unauthenticated; }

static std::string prefixOf(std::string_view call) {
  return call.empty() ? std::string() : std::string(call) + ": ";
}

Error pjrt::callError(ErrorCode code, std::string_view call, std::string_view message) {
  std::string text = prefixOf(call);
  if (isOfPlugin(code))
    text.append(info(code).canonicalName).append(": ");
  return Error(code, text + oneLine(message), {.call = std::string(call)});
}

Error pjrt::errorOf(const Error &error, std::string_view call) {
  std::string rest = error.message.substr(prefixOf(error.place.call).size());
  return Error(error.code, prefixOf(call) + rest, {.call = std::string(call)});
}

bool pjrt::isPluginsOwn(const Error &error) { return isOfPlugin(error.code); }

std::string pjrt::errorClass(const Error &error) {
  std::string name(isOfPlugin(error.code) ? info(error.code).canonicalName
                                          : info(error.code).name);
  for (char &c : name)
    c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  return name;
}
