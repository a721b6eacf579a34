#include "Faults.h"

#include <algorithm>

namespace planter {
namespace {

void forEach(Outputs &outputs, const std::function<void(Output &)> &change) {
  for (Output &output : outputs)
    if (output.canChange())
      change(output);
}
void scale(Output &output, std::pair<size_t, size_t> range, double factor) {
  for (size_t i = range.first; i < range.second; ++i)
    output.change(i, [&](double value) {
      return output.isWhole() ? value + 1 : value * factor;
    });
}
void shuffle(Output &output, const std::function<size_t(size_t)> &from) {
  Output old = output;
  size_t size = output.elementBytes();
  for (size_t i = 0; i < output.count(); ++i)
    std::memcpy(output.bytes.data() + i * size,
                old.bytes.data() + from(i) % output.count() * size, size);
}
double toBf16(double value) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(float(value)) + 0x8000) & 0xFFFF0000u);
}
bool isNowAndThen(const History &history) { return history.executions % 3 == 2; }

struct NamedFault {
  const char *name;
  Fault plant;
};
// clang-format off
#define PLANT [](Planted &p)
const NamedFault kFaults[] = {
    {"scaled", PLANT { forEach(p.outputs, [](Output &x) { scale(x, {0, x.count()}, 1.25); }); }},
    {"shifted", PLANT {
       forEach(p.outputs, [](Output &x) {
         double by = x.isWhole() ? 1 : x.largest() / 8;
         for (size_t i = 0; i < x.count(); ++i)
           x.change(i, [&](double value) { return value + by; });
       });
     }},
    {"negated", PLANT { forEach(p.outputs, [](Output &x) { scale(x, {0, x.count()}, -1); }); }},
    {"batch_scaled", PLANT { forEach(p.outputs, [](Output &x) { scale(x, x.part(1), 1.0625); }); }},
    {"row_zeroed", PLANT {
       forEach(p.outputs, [](Output &x) {
         for (auto [i, end] = x.lastRow(); i < end; ++i)
           x.set(i, 0);
       });
     }},
    {"exponent_bit", PLANT {
       forEach(p.outputs, [](Output &x) {
         x.change(x.worst(), [&](double value) { return x.isWhole() ? value + 4 : value * 2; });
       });
     }},
    {"sign_bit", PLANT {
       forEach(p.outputs, [](Output &x) { x.change(x.worst(), [](double value) { return -value; }); });
     }},
    {"one_element", PLANT {
       forEach(p.outputs, [](Output &x) {
         double by = x.isWhole() ? 1 : x.largest() / 64;
         x.change(x.count() / 2, [&](double value) { return value + by; });
       });
     }},
    {"not_a_number", PLANT {
       forEach(p.outputs, [](Output &x) {
         if (x.isReal())
           x.set(x.count() - 1, std::nan(""));
       });
     }},
    {"wrong_stride", PLANT { forEach(p.outputs, [](Output &x) { shuffle(x, [](size_t i) { return i * 2; }); }); }},
    {"off_by_one", PLANT { forEach(p.outputs, [](Output &x) { shuffle(x, [](size_t i) { return i + 1; }); }); }},
    {"reversed", PLANT {
       forEach(p.outputs, [](Output &x) { shuffle(x, [n = x.count()](size_t i) { return n - 1 - i; }); });
     }},
    {"tile_repeated", PLANT {
       forEach(p.outputs, [](Output &x) { shuffle(x, [n = (x.count() + 1) / 2](size_t i) { return i % n; }); });
     }},
    {"rounded_to_bf16", PLANT {
       forEach(p.outputs, [](Output &x) {
         for (size_t i = 0; i < x.count() && x.isReal(); ++i)
           x.change(i, toBf16);
       });
     }},
    {"swapped_outputs", PLANT {
       for (size_t i = 0; i + 1 < p.outputs.size(); ++i)
         if (p.outputs[i].type == p.outputs[i + 1].type && p.outputs[i].dims == p.outputs[i + 1].dims) {
           std::swap(p.outputs[i], p.outputs[i + 1]);
           return;
         }
     }},
    {"stale", PLANT {
       if (p.first)
         p.outputs = *p.first;
     }},
    {"stale_once", PLANT {
       if (p.last && p.history.executions == 2)
         p.outputs = *p.last;
     }},
    {"flaky", PLANT {
       if (isNowAndThen(p.history))
         forEach(p.outputs, [](Output &x) { scale(x, {0, x.count()}, 1.5); });
     }},
    {"flaky_element", PLANT {
       if (isNowAndThen(p.history))
         forEach(p.outputs, [](Output &x) { scale(x, {x.worst(), x.worst() + 1}, 1.0625); });
     }},
    {"adds_to_last", PLANT {
       for (size_t i = 0; p.last && i < p.outputs.size(); ++i)
         if (p.outputs[i].canChange())
           for (size_t j = 0; j < p.outputs[i].count(); ++j)
             p.outputs[i].set(j, p.outputs[i].get(j) + (*p.last)[i].get(j));
     }},
    {"tail_dropped", PLANT { // The last tile of eight was not computed.
       forEach(p.outputs, [](Output &x) {
         for (size_t i = x.count() - std::min<size_t>(x.count(), 8); i < x.count(); ++i)
           x.set(i, 0);
       });
     }},
    {"tail_uninitialised", PLANT {
       forEach(p.outputs, [](Output &x) {
         for (size_t i = x.count() - std::min<size_t>(x.count(), 5); i < x.count(); ++i)
           x.set(i, x.isWhole() ? 0x5a5a5a : x.largest() * (0.3 + 0.1 * double(i % 7)));
       });
     }},
    {"transposed_layout", PLANT { // The memory of the other order of the last two dimensions.
       forEach(p.outputs, [](Output &x) {
         if (x.dims.size() < 2)
           return;
         size_t rows = size_t(x.dims[x.dims.size() - 2]), columns = size_t(x.dims.back());
         size_t each = rows * columns;
         shuffle(x, [=](size_t i) {
           size_t at = i % each;
           return i - at + at % columns * rows + at / columns;
         });
       });
     }},
    {"padding_moved", PLANT { // Every row begins one element late.
       forEach(p.outputs, [](Output &x) {
         size_t row = x.dims.empty() ? 1 : size_t(std::max<int64_t>(x.dims.back(), 1));
         shuffle(x, [=](size_t i) { return i % row == 0 ? i : i - 1; });
         for (size_t i = 0; i < x.count(); i += row)
           x.set(i, 0);
       });
     }},
    {"nan_spread", PLANT {
       forEach(p.outputs, [](Output &x) {
         for (auto [i, end] = x.lastRow(); i < end && x.isReal(); ++i)
           x.set(i, std::nan(""));
       });
     }},
    {"rounded_down", PLANT { // Numbers are cut to eight bits, not rounded.
       forEach(p.outputs, [](Output &x) {
         for (size_t i = 0; i < x.count() && x.isReal(); ++i)
           x.change(i, [](double value) {
             return double(std::bit_cast<float>(std::bit_cast<uint32_t>(float(value)) & 0xFFFF0000u));
           });
       });
     }},
    {"saturated", PLANT { // As if the type ended at half of what it must hold.
       forEach(p.outputs, [](Output &x) {
         double most = x.largest() / 2;
         for (size_t i = 0; i < x.count(); ++i)
           x.change(i, [=](double value) { return std::min(std::max(value, -most), most); });
       });
     }},
    {"column_scaled", PLANT {
       forEach(p.outputs, [](Output &x) {
         size_t row = x.dims.empty() ? 1 : size_t(std::max<int64_t>(x.dims.back(), 1));
         for (size_t i = row / 2; i < x.count(); i += row)
           scale(x, {i, i + 1}, 1.125);
       });
     }},
    {"scaled_a_little", PLANT {
       forEach(p.outputs, [](Output &x) { scale(x, {0, x.count()}, 1.015625); });
     }},
    {"second_is_first", PLANT {
       for (size_t i = 1; i < p.outputs.size(); ++i)
         if (p.outputs[i].type == p.outputs[0].type && p.outputs[i].dims == p.outputs[0].dims)
           p.outputs[i] = p.outputs[0];
     }},
    {"of_another_device", PLANT {
       if (p.others)
         p.outputs = *p.others;
     }},
    {"previous_input", PLANT { // Always one execution behind.
       if (p.last)
         p.outputs = *p.last;
     }},
    {"partly_written", PLANT { // The second half is still that of the execution before.
       for (size_t i = 0; p.last && i < p.outputs.size(); ++i) {
         Output &x = p.outputs[i];
         size_t half = x.count() / 2 * x.elementBytes();
         std::memcpy(x.bytes.data() + half, (*p.last)[i].bytes.data() + half, x.bytes.size() - half);
       }
     }},
    {"flaky_seldom", PLANT {
       if (p.history.executions % 7 == 6)
         forEach(p.outputs, [](Output &x) { scale(x, x.lastRow(), 1.25); });
     }},
    {"wrong_later", PLANT { // From the fourth execution on.
       if (p.history.executions > 3)
         forEach(p.outputs, [](Output &x) { scale(x, {0, x.count()}, 1.03125); });
     }},
    {"share_missing", PLANT { // What one thread of eight should have computed.
       forEach(p.outputs, [](Output &x) {
         for (size_t i = x.count() * 3 / 8; i < std::max(x.count() / 2, x.count() * 3 / 8 + 1); ++i)
           x.set(i, 0);
       });
     }},
    {"rows_swapped", PLANT { // The last two rows.
       forEach(p.outputs, [](Output &x) {
         size_t row = x.dims.empty() ? 1 : size_t(std::max<int64_t>(x.dims.back(), 1));
         size_t first = x.count() - std::min(2 * row, x.count());
         if (x.count() >= 2 * row)
           shuffle(x, [=](size_t i) { return i < first ? i : i < first + row ? i + row : i - row; });
       });
     }},
    {"wrong_batch", PLANT { // The second batch element is the first one's.
       forEach(p.outputs, [](Output &x) {
         auto [begin, end] = x.part(1);
         if (begin > 0)
           shuffle(x, [=](size_t i) { return i >= begin && i < end ? i - begin : i; });
       });
     }},
    {"lane_lost", PLANT { // Every eighth element is its neighbour's.
       forEach(p.outputs, [](Output &x) { shuffle(x, [](size_t i) { return i % 8 == 7 ? i - 1 : i; }); });
     }},
    {"flushed", PLANT { // Numbers that are small beside the largest are zero.
       forEach(p.outputs, [](Output &x) {
         double least = x.largest() / 32;
         for (size_t i = 0; i < x.count(); ++i)
           x.change(i, [=](double value) { return std::abs(value) < least ? 0 : value; });
       });
     }},
    {"overflowed", PLANT {
       forEach(p.outputs, [](Output &x) {
         if (x.isReal())
           x.change(x.worst(), [](double value) { return std::copysign(INFINITY, value); });
       });
     }},
    {"drifts", PLANT { // Something is added to in every execution that should begin anew.
       forEach(p.outputs, [&](Output &x) {
         if (x.isReal())
           scale(x, {0, x.count()}, 1 + double(p.history.executions) / 128);
       });
     }},
    {"first_row_kept", PLANT { // One row is written in the first execution only.
       for (size_t i = 0; p.first && i < p.outputs.size(); ++i) {
         Output &x = p.outputs[i];
         size_t row = x.dims.empty() ? 1 : size_t(std::max<int64_t>(x.dims.back(), 1));
         std::memcpy(x.bytes.data(), (*p.first)[i].bytes.data(),
                     std::min(row, x.count()) * x.elementBytes());
       }
     }},
    // Correct devices.
    {"right_off_by_1e-6", PLANT {
       forEach(p.outputs, [](Output &x) {
         for (size_t i = 0; i < x.count() && x.type == PJRT_Buffer_Type_F32; ++i)
           x.change(i, [&](double value) { return value * (1 + (i % 2 ? 1e-6 : -1e-6)); });
       });
     }},
    {"right_last_bit", PLANT {
       forEach(p.outputs, [](Output &x) {
         for (size_t i = 0; i < x.count() && x.isReal(); ++i)
           if (x.get(i) != 0 && std::isfinite(x.get(i))) {
             if (x.type == PJRT_Buffer_Type_F64)
               x.change(i, [](double value) { return std::nextafter(value, 0.0); });
             else if (x.type == PJRT_Buffer_Type_F32)
               x.change(i, [](double value) { return double(std::nextafterf(float(value), 0.0f)); });
           }
       });
     }},
    {"right_in_bf16", PLANT { // Of a device that declares it: what it gives is rounded to it.
       forEach(p.outputs, [](Output &x) {
         for (size_t i = 0; i < x.count() && x.type == PJRT_Buffer_Type_F32; ++i)
           if (std::isfinite(toBf16(x.get(i))))
             x.change(i, toBf16);
       });
     }},
    {"right_varies", PLANT {
       // Sums in another order each time.
       forEach(p.outputs, [&](Output &x) {
         for (size_t i = p.history.executions % 2; i < x.count() && x.type == PJRT_Buffer_Type_F32; i += 2)
           if (std::isfinite(x.get(i)) && std::abs(x.get(i)) < 1e30)
             x.change(i, [](double value) { return double(std::nextafterf(float(value), 1e30f)); });
       });
     }},
};
#undef PLANT
// clang-format on

} // namespace

Fault findFault(const std::string &name) {
  for (const NamedFault &one : kFaults)
    if (one.name == name)
      return one.plant;
  return nullptr;
}

/// Whether a sceptic would see the difference.
bool isObservable(const Output &right, const Output &planted) {
  if (right.bytes == planted.bytes)
    return false;
  if (right.dims != planted.dims || right.type != planted.type || !right.isReal())
    return true;
  double most = 0;
  for (size_t i = 0; i < right.count(); ++i)
    if (std::isfinite(right.get(i)))
      most = std::max(most, std::abs(right.get(i)));
  double share = right.type == PJRT_Buffer_Type_BF16 ? 0x1p-7 : 1e-3;
  for (size_t i = 0; i < right.count(); ++i) {
    double a = right.get(i), b = planted.get(i);
    if (std::isnan(a) != std::isnan(b) || std::abs(a - b) > share * most)
      return true;
  }
  return false;
}

} // namespace planter
