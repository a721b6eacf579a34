#include "cupel/compiler/standalone/Source.h"
#include "cupel/compiler/standalone/Standalone.h"
#include "cupel/support/Files.h"
#include "cupel/tensor/Safetensors.h"

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace cupel::compiler::standalone {

namespace fs = std::filesystem;

namespace {

/// Whether a folder may be replaced: it is empty, or its manifest says who made it.
bool isOurs(const fs::path &path) {
  std::error_code error;
  if (fs::is_empty(path, error))
    return true;
  std::ifstream manifest(path / "manifest.json");
  std::string text((std::istreambuf_iterator<char>(manifest)), std::istreambuf_iterator<char>());
  return text.find("\"generator\": \"cupel codegen\"") != std::string::npos;
}

Status writeInto(const fs::path &place, const GeneratedFolder &folder) {
  std::error_code error;
  for (const GeneratedFile &file : folder.files) {
    fs::path path = place / file.path;
    fs::create_directories(path.parent_path(), error);
    if (error)
      return Error{path.parent_path().string() + ": " + error.message()};
    if (Status status = writeOutput(path.string(), file.bytes); !status)
      return status;
    if (file.isExecutable)
      fs::permissions(path, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                      fs::perm_options::add, error);
    if (error)
      return Error{path.string() + ": " + error.message()};
  }
  for (const GeneratedTensors &file : folder.tensors) {
    fs::path path = place / file.path;
    fs::create_directories(path.parent_path(), error);
    if (error)
      return Error{path.parent_path().string() + ": " + error.message()};
    tensor::Safetensors contents;
    contents.tensors = storable(file.tensors, contents.metadata);
    if (Status status = tensor::writeSafetensors(path.string(), contents); !status)
      return status;
  }
  return {};
}

} // namespace

Status writeFolder(const std::string &name, const GeneratedFolder &folder) {
  std::error_code error;
  fs::path path = fs::absolute(name, error).lexically_normal();
  if (!path.has_filename())
    path = path.parent_path();
  bool exists = fs::exists(path, error);
  if (error)
    return Error{name + ": " + error.message()};
  if (exists && !fs::is_directory(path, error))
    return Error{name + ": is there and no folder"};
  if (exists && !isOurs(path))
    return Error{name + ": is there, not empty, and was not generated; name another folder"};
  fs::create_directories(path.parent_path(), error);
  if (error)
    return Error{path.parent_path().string() + ": " + error.message()};
  std::string suffix = "." + std::to_string(::getpid());
  fs::path fresh = path.string() + ".new" + suffix, old = path.string() + ".old" + suffix;
  fs::create_directory(fresh, error);
  if (error)
    return Error{name + ": no folder can be made there: " + error.message()};
  if (Status status = writeInto(fresh, folder); !status) {
    std::error_code ignored;
    fs::remove_all(fresh, ignored);
    return status;
  }
  if (exists)
    fs::rename(path, old, error);
  if (!error)
    fs::rename(fresh, path, error);
  std::error_code ignored;
  if (error) {
    fs::remove_all(fresh, ignored);
    return Error{name + ": " + error.message()};
  }
  fs::remove_all(old, ignored);
  return {};
}

} // namespace cupel::compiler::standalone
