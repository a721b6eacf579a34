// Files of torch.save, read without running anything: numbers, strings, containers and tensors, and
// not one thing more. A pickle that names any other class or function is refused by that name,
// whether or not it would be called. Used for the sample inputs of archives, for weights of old
// ones, and for tensors stored beside operator cases.
#pragma once

#include "cupel/tensor/MappedFile.h"
#include "cupel/tensor/Tensor.h"

#include <cstdint>
#include <deque>
#include <map>

namespace cupel::frontends::torch_import {

/// A value in a pickle. Values refer to each other by number and may do so in circles.
struct PickleValue {
  enum class Kind : uint8_t {
    None,
    Bool,
    Integer,
    Real,
    Text,
    List, ///< Also tuples and torch.Size.
    Dict, ///< Also OrderedDict; `items` holds keys and values in turn.
    Tensor,
    Type,    ///< An element type (torch.float32).
    Storage, ///< What tensors lie in.
    Global,  ///< A class or function, by name.
  } kind = Kind::None;
  int64_t integer = 0;
  double real = 0;
  std::string text;            ///< Also a storage's key and a global's name.
  std::vector<uint32_t> items; ///< Of lists and dicts.
  tensor::Tensor tensor;
  tensor::DType type = tensor::DType::F32; ///< Of Type and Storage.
  bool hasHalfParts = false;               ///< The type is complex32 (Program.h).
  bool isUntyped = false;                  ///< A storage of bytes.
  bool isTuple = false;
};

class Pickle {
public:
  /// `file` is a zip as torch.save writes it; `where` is what messages call it.
  static Result<Pickle> read(const tensor::SharedBytes &file, const std::string &where);

  const PickleValue &root() const { return values[top]; }
  const PickleValue &at(uint32_t number) const { return values[number]; }

  /// The tensors of a dictionary by their names; other values are left out.
  Result<std::map<std::string, tensor::Tensor>> namedTensors() const;
  /// All tensors in the order a depth-first walk meets them; a circle is an error.
  Result<std::vector<tensor::Tensor>> allTensors() const;

private:
  friend class Unpickler;
  std::deque<PickleValue> values;
  uint32_t top = 0;
  std::string where;
};

} // namespace cupel::frontends::torch_import
