// A plugin: the shared library, its table of functions and the way every call to it goes. Loading
// checks what can be checked; the library is never unloaded (its threads and static objects live
// on). Works with tables from 0.57 on, shorter or longer than ours.
#pragma once

#include "cupel/pjrt/host/NamedValues.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cupel::pjrt {

/// Arguments of one call: zeroed, with room behind them for fields that a newer plugin may know.
template <typename Args> struct Arguments {
  Args args;
  char later[256];

  explicit Arguments(bool isNewer) {
    std::memset(static_cast<void *>(this), 0, sizeof(*this));
    args.struct_size = isNewer ? sizeof(*this) : structSize<Args>;
  }
  Args *operator->() { return &args; }
};

/// One extension of a plugin's list.
struct Extension {
  int type = 0;
  size_t structSize = 0;
  std::string name; ///< Empty where we do not know the number.
};

class Plugin : public std::enable_shared_from_this<Plugin> {
public:
  /// Opens the library and takes its table. The same path opened twice gives one plugin.
  static Result<std::shared_ptr<Plugin>> open(const std::string &path);
  /// Lets the plugin set itself up and reads its attributes; the second time it does nothing.
  Status initialize();
  /// Opens and initialises.
  static Result<std::shared_ptr<Plugin>> load(const std::string &path);

  const std::string &path() const { return file; }
  int majorVersion() const { return major; }
  int minorVersion() const { return minor; }
  size_t tableSize() const { return table->struct_size; }
  const PJRT_Api *api() const { return table; }
  const std::vector<Extension> &extensions() const { return extensionList; }
  const std::vector<NamedValue> &attributes() const { return attributeList; }

  /// "1.13.7" split up, from the attribute; nothing where the plugin does not say.
  std::optional<std::vector<int64_t>> stablehloVersion() const;

  /// The functions that the host calls, in the order of the table.
  static std::span<const std::string_view> usedFunctions();
  /// Those of them that the table lacks.
  std::vector<std::string> missingFunctions() const;

  /// Arguments for a call, of the size this plugin can be given.
  template <typename Args> Arguments<Args> arguments() const {
    return Arguments<Args>(minor > PJRT_API_MINOR);
  }

  template <typename Args> using Function = PJRT_Error *(*PJRT_Api::*)(Args *);

  template <typename Args> bool has(Function<Args> function) const {
    return findFunction(table, function) != nullptr;
  }
  template <typename Args> std::string_view nameOf(Function<Args> function) const {
    return entries()[(endOf(table, function) - sizeof(void *) - kFirstEntry) / sizeof(void *)].name;
  }

  /// Calls a function of the table. An error becomes a failure that names the call.
  template <typename Args> Status call(Function<Args> function, Arguments<Args> &args) const {
    auto *pointer = findFunction(table, function);
    if (!pointer)
      return missing(nameOf(function));
    PJRT_Error *error = pointer(&args.args);
    if (error)
      return takeError(error, nameOf(function));
    return {};
  }

  /// Turns a plugin's error into one of ours and frees it.
  Error takeError(PJRT_Error *error, std::string_view call) const;

  /// An answer that breaks the rules.
  static Error badAnswer(std::string_view call, std::string_view message) {
    return callError(ErrorCode::BadAnswer, call, message);
  }
  Error missing(std::string_view call) const;

  /// Once a deadline passed inside a call or a wait, nothing of the plugin is touched again: its
  /// objects are left to the end of the process.
  void giveUp() { isBad = true; }
  bool isGivenUp() const { return isBad; }

  /// What the plugin did wrong without making a result useless, such as a callback that came twice.
  void complain(std::string text);
  std::vector<std::string> complaints() const;

private:
  static constexpr size_t kFirstEntry = 40;

  Plugin() = default;
  Status readTable();

  std::string file;
  const PJRT_Api *table = nullptr;
  int major = 0, minor = 0;
  std::vector<Extension> extensionList;
  std::vector<NamedValue> attributeList;
  std::atomic<bool> isBad = false;
  std::mutex initializing;
  bool isInitialized = false;
  mutable std::mutex mutex;
  std::vector<std::string> complaintList;
};

} // namespace cupel::pjrt
