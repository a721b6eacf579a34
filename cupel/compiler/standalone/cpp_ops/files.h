// Files of tensors (safetensors: the size of a header, the header in JSON, the bytes), and results.
#pragma once

#include "tensor.h"

#include <cstdio>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ops {

/// Beside the program, above it (where cmake builds below), or where it was started.
inline std::string found_file(const std::string &path) {
  char program[4096];
  ssize_t length = ::readlink("/proc/self/exe", program, sizeof(program) - 1);
  std::string folder(program, length > 0 ? size_t(length) : 0);
  folder = folder.substr(0, folder.rfind('/') + 1);
  if (path.empty() || path[0] != '/')
    for (const std::string &place : {folder, folder + "../"})
      if (::access((place + path).c_str(), F_OK) == 0)
        return place + path;
  return path;
}

class TensorFile {
public:
  /// An empty name: there is no file.
  explicit TensorFile(const std::string &name) : path(name) {
    if (name.empty())
      return;
    path = found_file(name);
    int file = ::open(path.c_str(), O_RDONLY);
    struct stat about;
    if (file < 0 || ::fstat(file, &about) != 0 || about.st_size < 8) {
      if (file >= 0)
        ::close(file);
      throw std::runtime_error(path + ": cannot be read");
    }
    size_t bytes = size_t(about.st_size);
    void *mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    ::close(file);
    if (mapped == MAP_FAILED)
      throw std::runtime_error(path + ": cannot be mapped");
    size = bytes;
    memory = std::shared_ptr<char>(static_cast<char *>(mapped), [bytes](char *p) { ::munmap(p, bytes); });
    uint64_t header;
    std::memcpy(&header, mapped, 8);
    if (header > bytes - 8)
      throw std::runtime_error(path + ": is no file of tensors");
    first = 8 + header;
    parse(std::string(memory.get() + 8, header));
  }
  /// A size of -1 is whatever the file has. Without a file there are ones.
  template <class T> Tensor<T> get(const std::string &name, Dims shape) const {
    if (!memory)
      return full<T>(std::move(shape), convert<T>(1.0));
    auto found = places.find(name);
    if (found == places.end())
      throw std::runtime_error(path + ": has no tensor " + name);
    const Place &place = found->second;
    for (size_t d = 0; d < shape.size() && d < place.shape.size(); ++d)
      if (shape[d] < 0)
        shape[d] = place.shape[d];
    size_t bytes = size_t(count_of(shape)) * sizeof(T);
    if (place.end < place.begin || place.end - place.begin != bytes || place.end > size - first)
      throw std::runtime_error(path + ": the tensor " + name + " has another size");
    char *at = memory.get() + first + place.begin;
    if (reinterpret_cast<uintptr_t>(at) % alignof(T) == 0)
      return Tensor<T>(std::move(shape), std::shared_ptr<T>(memory, reinterpret_cast<T *>(at)), true);
    Tensor<T> made(shape);
    std::memcpy(static_cast<void *>(made.data()), at, bytes);
    return made;
  }

private:
  /// Names, shapes and offsets are all that is looked at: the program knows types.
  void parse(const std::string &text) {
    size_t at = 0;
    auto string_at = [&](size_t begin) {
      std::string result;
      for (at = begin + 1; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\' && at + 1 < text.size()) {
          char c = text[++at];
          if (c == 'u') {
            unsigned code = unsigned(std::strtoul(text.substr(at + 1, 4).c_str(), nullptr, 16));
            at += 4;
            if (code < 0x80)
              result += char(code);
            else if (code < 0x800)
              (result += char(0xc0 | (code >> 6))) += char(0x80 | (code & 63));
            else
              ((result += char(0xe0 | (code >> 12))) += char(0x80 | ((code >> 6) & 63))) += char(0x80 | (code & 63));
          } else
            result += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
        } else
          result += text[at];
      }
      ++at;
      return result;
    };
    int depth = 0;
    std::string key, inner;
    while (at < text.size()) {
      char c = text[at];
      if (c == '"') {
        std::string found = string_at(at);
        if (at < text.size() && text.find_first_not_of(" \t\n\r", at) != std::string::npos &&
            text[text.find_first_not_of(" \t\n\r", at)] == ':')
          (depth == 1 ? key : inner) = found;
        continue;
      }
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      if (c == '[' && depth == 2 && (inner == "data_offsets" || inner == "shape")) {
        Dims numbers;
        char *end = nullptr;
        for (const char *from = text.c_str() + at + 1;; from = end + 1) {
          int64_t number = std::strtoll(from, &end, 10);
          if (end == from)
            break;
          numbers.push_back(number);
          if (*end != ',')
            break;
        }
        Place &place = places[key];
        if (inner == "shape")
          place.shape = numbers;
        else if (numbers.size() == 2) {
          place.begin = size_t(numbers[0]);
          place.end = size_t(numbers[1]);
        }
      }
      ++at;
    }
  }
  struct Place {
    Dims shape;
    size_t begin = 0, end = 0;
  };
  std::string path;
  std::shared_ptr<char> memory;
  size_t first = 0, size = 0;
  std::map<std::string, Place> places;
};

template <class T> inline const char *stored_type() {
  if (std::is_same<T, bool>::value) return "BOOL";
  if (std::is_same<T, int8_t>::value || is_small_int<T>::value) return "I8";
  if (std::is_same<T, int16_t>::value) return "I16";
  if (std::is_same<T, int32_t>::value) return "I32";
  if (std::is_same<T, int64_t>::value) return "I64";
  if (std::is_same<T, uint16_t>::value) return "U16";
  if (std::is_same<T, uint32_t>::value) return "U32";
  if (std::is_same<T, uint64_t>::value) return "U64";
  if (std::is_same<T, f16>::value) return "F16";
  if (std::is_same<T, bf16>::value) return "BF16";
  if (std::is_same<T, float>::value) return "F32";
  if (std::is_same<T, double>::value) return "F64";
  if (std::is_same<T, c64>::value) return "C64";
  if (std::is_same<T, f8E4M3FN>::value) return "F8_E4M3";
  if (std::is_same<T, f8E5M2>::value) return "F8_E5M2";
  if (std::is_same<T, c128>::value) return "F64";
  return "U8";
}

/// What safetensors has no type for is named beside.
template <class T> inline const char *named_type() {
  if (std::is_same<T, i2>::value) return "i2";
  if (std::is_same<T, i4>::value) return "i4";
  if (std::is_same<T, ui2>::value) return "ui2";
  if (std::is_same<T, ui4>::value) return "ui4";
  if (std::is_same<T, f8E4M3>::value) return "f8E4M3";
  if (std::is_same<T, f8E4M3B11FNUZ>::value) return "f8E4M3B11FNUZ";
  if (std::is_same<T, f8E4M3FNUZ>::value) return "f8E4M3FNUZ";
  if (std::is_same<T, f8E5M2FNUZ>::value) return "f8E5M2FNUZ";
  if (std::is_same<T, c128>::value) return "c128";
  return "";
}
inline std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    char code[8];
    if (c == '"' || c == '\\')
      (result += '\\') += c;
    else if (static_cast<unsigned char>(c) < 32) {
      std::snprintf(code, sizeof(code), "\\u%04x", unsigned(c));
      result += code;
    } else
      result += c;
  }
  return result + "\"";
}

/// Collects results, prints them and writes them to a file.
class Results {
public:
  template <class T> void add(const std::string &name, const Tensor<T> &x) {
    std::string shape;
    for (int64_t size : x.shape)
      shape += (shape.empty() ? "" : ",") + std::to_string(size);
    text += name + ": [" + shape + "]";
    for (int64_t i = 0; i < std::min<int64_t>(x.size(), 8); ++i) {
      char number[80];
      if constexpr (is_complex_v<T>)
        std::snprintf(number, sizeof(number), " (%g,%g)", double(x[i].real()), double(x[i].imag()));
      else
        std::snprintf(number, sizeof(number), " %g", double(comparable(x[i])));
      text += number;
    }
    text += x.size() > 8 ? " ...\n" : "\n";
    if (std::is_same<T, c128>::value)
      shape += (shape.empty() ? "" : ",") + std::string("2");
    if (*named_type<T>())
      metadata += (metadata.empty() ? "" : ",") + quoted(name) + ":" + quoted(named_type<T>());
    size_t bytes = size_t(x.size()) * sizeof(T);
    header += (header.empty() ? "" : ",") + quoted(name) + ":{\"dtype\":\"" + stored_type<T>() + "\",\"shape\":[" + shape +
              "],\"data_offsets\":[" + std::to_string(data.size()) + "," + std::to_string(data.size() + bytes) + "]}";
    data.append(reinterpret_cast<const char *>(x.data()), bytes);
  }
  void print() const { std::fputs(text.c_str(), stdout); }
  void save(const std::string &path) const {
    std::string all = "{" + (metadata.empty() ? "" : "\"__metadata__\":{" + metadata + "}" + (header.empty() ? "" : ",")) + header + "}";
    all.append((8 - all.size() % 8) % 8, ' ');
    uint64_t size = all.size();
    std::FILE *file = std::fopen(path.c_str(), "wb");
    bool is_written = file && std::fwrite(&size, 1, 8, file) == 8 && std::fwrite(all.data(), 1, all.size(), file) == all.size() &&
                      std::fwrite(data.data(), 1, data.size(), file) == data.size();
    if ((file && std::fclose(file) != 0) || !is_written)
      throw std::runtime_error(path + ": cannot be written");
  }

private:
  std::string text, metadata, header, data;
};

} // namespace ops
