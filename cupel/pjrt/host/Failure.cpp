#include "cupel/pjrt/host/Failure.h"

#include "cupel/pjrt/Structs.h"

using namespace cupel::pjrt;

// A plugin's message may have many lines; ours has one.
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

std::string Failure::str() const {
  std::string text = call.empty() ? "" : call + ": ";
  if (kind == Kind::Plugin)
    text += std::string(errorCodeName(code)) + ": ";
  return text + oneLine(message);
}

std::string Failure::errorClass() const {
  switch (kind) {
  case Kind::Load:
    return "plugin_not_loadable";
  case Kind::Missing:
    return "function_missing";
  case Kind::BadAnswer:
    return "bad_answer";
  case Kind::Deadline:
    return "deadline_exceeded";
  case Kind::Host:
    return "host";
  case Kind::Plugin:
    break;
  }
  std::string name(errorCodeName(code));
  for (char &c : name)
    c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  return name;
}
