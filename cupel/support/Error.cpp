#include "cupel/support/Error.h"

#include <cstdio>
#include <iterator>

namespace cupel {

static constexpr ErrorCodeInfo kCodes[] = {
#define CUPEL_ERROR(code, name, canonical, kind, meaning)                                          \
  {ErrorCode::code, name, CanonicalCode::canonical, #canonical, ErrorKind::kind, meaning},
#include "cupel/support/ErrorCodes.def"
#undef CUPEL_ERROR
};

// errorCodeOf counts on it.
static consteval bool beginsWithCanonicalCodes() {
  for (int number = 1; number <= int(CanonicalCode::UNAUTHENTICATED); ++number)
    if (int(kCodes[number - 1].canonical) != number)
      return false;
  return true;
}
static_assert(beginsWithCanonicalCodes());

std::span<const ErrorCodeInfo> errorCodes() { return kCodes; }

const ErrorCodeInfo &info(ErrorCode code) { return kCodes[size_t(code)]; }

std::string_view name(ErrorKind kind) {
  static constexpr std::string_view kNames[] = {"invalid", "never",    "not yet", "limit",
                                                "device",  "internal", "stopped"};
  return kNames[size_t(kind)];
}

ErrorCode errorCodeOf(int canonical) {
  return canonical >= 1 && canonical <= int(CanonicalCode::UNAUTHENTICATED)
             ? ErrorCode(canonical - 1)
             : ErrorCode::Unknown;
}

ErrorCode parseErrorCode(std::string_view name) {
  for (const ErrorCodeInfo &row : kCodes)
    if (row.name == name)
      return row.code;
  return ErrorCode::Unknown;
}

int reportError(std::string_view verb, std::string_view message, ExitCode code) {
  std::string line = "cupel";
  if (!verb.empty())
    line.append(" ").append(verb);
  line.append(": error: ").append(message).append("\n");
  std::fwrite(line.data(), 1, line.size(), stderr);
  return code;
}

} // namespace cupel
