// What the planter does with results: an output as bytes that faults change, and the table of
// faults. Used by PlanterPlugin.cpp, which reads outputs from the plugin inside and writes them back.
// A fault whose name begins with `right_` is none: devices may round so.
#pragma once

#include "cupel/pjrt/Structs.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace planter {

/// An output as its bytes, for faults to change.
struct Output {
  PJRT_Buffer_Type type = PJRT_Buffer_Type_F32;
  std::vector<int64_t> dims;
  std::vector<char> bytes;

  size_t elementBytes() const {
    switch (type) {
    case PJRT_Buffer_Type_S16:
    case PJRT_Buffer_Type_U16:
    case PJRT_Buffer_Type_F16:
    case PJRT_Buffer_Type_BF16:
      return 2;
    case PJRT_Buffer_Type_S32:
    case PJRT_Buffer_Type_U32:
    case PJRT_Buffer_Type_F32:
      return 4;
    case PJRT_Buffer_Type_S64:
    case PJRT_Buffer_Type_U64:
    case PJRT_Buffer_Type_F64:
    case PJRT_Buffer_Type_C64:
      return 8;
    case PJRT_Buffer_Type_C128:
      return 16;
    default:
      return 1;
    }
  }
  size_t count() const { return bytes.size() / elementBytes(); }
  bool isReal() const {
    return type == PJRT_Buffer_Type_F32 || type == PJRT_Buffer_Type_F64 ||
           type == PJRT_Buffer_Type_BF16;
  }
  bool isWhole() const { return type == PJRT_Buffer_Type_S32 || type == PJRT_Buffer_Type_U32; }

  double get(size_t i) const {
    const char *at = bytes.data() + i * elementBytes();
    if (type == PJRT_Buffer_Type_F64)
      return std::bit_cast<double>(*reinterpret_cast<const uint64_t *>(at));
    if (type == PJRT_Buffer_Type_F32)
      return std::bit_cast<float>(*reinterpret_cast<const uint32_t *>(at));
    if (type == PJRT_Buffer_Type_BF16)
      return std::bit_cast<float>(uint32_t(*reinterpret_cast<const uint16_t *>(at)) << 16);
    return double(*reinterpret_cast<const int32_t *>(at));
  }
  void set(size_t i, double value) {
    char *at = bytes.data() + i * elementBytes();
    if (type == PJRT_Buffer_Type_F64)
      *reinterpret_cast<double *>(at) = value;
    else if (type == PJRT_Buffer_Type_F32)
      *reinterpret_cast<float *>(at) = float(value);
    else if (type == PJRT_Buffer_Type_BF16)
      *reinterpret_cast<uint16_t *>(at) =
          uint16_t((std::bit_cast<uint32_t>(float(value)) + 0x8000) >> 16);
    else
      *reinterpret_cast<int32_t *>(at) = int32_t(value);
  }
  void change(size_t i, const std::function<double(double)> &how) { set(i, how(get(i))); }
  bool canChange() const { return (isReal() || isWhole()) && count() > 0; }
  double largest() const {
    double most = 0;
    for (size_t i = 0; i < count(); ++i)
      if (std::isfinite(get(i)))
        most = std::max(most, std::abs(get(i)));
    return most > 0 ? most : 1;
  }
  /// The element of the largest magnitude: a fault there is one that matters.
  size_t worst() const {
    size_t found = 0;
    for (size_t i = 0; i < count(); ++i)
      if (std::abs(get(i)) > std::abs(get(found)))
        found = i;
    return found;
  }
  /// The elements of one part along the first dimension.
  std::pair<size_t, size_t> part(size_t number) const {
    size_t rows = dims.empty() ? 1 : size_t(std::max<int64_t>(dims[0], 1)), each = count() / rows;
    return {number % rows * each, (number % rows + 1) * each};
  }
  std::pair<size_t, size_t> lastRow() const {
    size_t row = dims.empty() ? 1 : size_t(std::max<int64_t>(dims.back(), 1));
    return {count() - std::min(row, count()), count()};
  }
};

using Outputs = std::vector<Output>;

/// What an executable did so far.
struct History {
  size_t executions = 0;
  std::vector<Outputs> first, last; ///< By device.
};

/// Changes the outputs of one device. `first` and `last` are what the executable gave, rightly, in
/// its first execution and in the one before this; null where there was none. `others` is what the
/// device before this one gave in the same execution.
struct Planted {
  Outputs &outputs;
  const Outputs *first, *last, *others;
  const History &history;
};
using Fault = void (*)(Planted &);

/// Null where there is none of that name.
Fault findFault(const std::string &name);

/// Whether a sceptic would see the difference.
bool isObservable(const Output &right, const Output &planted);

} // namespace planter
