#include "cupel/support/Files.h"
#include "cupel/tensor/Npy.h"
#include "cupel/tensor/Zip.h"

#include <set>

namespace cupel::tensor {

Result<NamedTensors> parseNpz(const SharedBytes &file, const std::string &name) {
  Result<std::vector<ZipEntry>> entries = readZip(file);
  if (!entries)
    return entries.error().within(name);
  NamedTensors tensors;
  std::set<std::string> seen;
  for (const ZipEntry &entry : *entries) {
    if (!entry.name.ends_with(".npy"))
      return Error{name + ": holds '" + printable(entry.name) + "', which is no .npy array"};
    std::string key = entry.name.substr(0, entry.name.size() - 4);
    if (!seen.insert(key).second)
      return Error{name + ": holds two arrays named '" + printable(key) + "'"};
    Result<Tensor> tensor = parseNpy(entry.contents, name + ": " + printable(entry.name));
    if (!tensor)
      return tensor.error();
    tensors.emplace_back(std::move(key), std::move(*tensor));
  }
  return tensors;
}

Result<NamedTensors> readNpz(const std::string &path) {
  Result<SharedBytes> file = mapFile(path);
  if (!file)
    return file.error();
  return parseNpz(*file, displayName(path));
}

Status writeNpz(const std::string &path, const NamedTensors &tensors, bool compress) {
  std::vector<Tensor> flat; // keeps copies alive until they are written
  std::vector<ZipSource> sources;
  std::set<std::string> seen;
  for (const auto &[name, tensor] : tensors) {
    if (!seen.insert(name).second)
      return Error{displayName(path) + ": two tensors are named '" + printable(name) + "'"};
    Result<Tensor> one = tensor.contiguous();
    if (!one)
      return one.error().within(displayName(path));
    sources.push_back(
        {name + ".npy",
         npyHeader(*one),
         {reinterpret_cast<const char *>(one->data()), static_cast<size_t>(one->byteSize())}});
    flat.push_back(std::move(*one));
  }
  return writeZip(path, sources, compress);
}

} // namespace cupel::tensor
