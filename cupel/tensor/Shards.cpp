#include "cupel/tensor/Shards.h"

#include "cupel/tensor/Strided.h"

#include <charconv>
#include <cstring>
#include <numeric>

namespace cupel::tensor {

Shards Shards::tiled(std::vector<int64_t> tiles, std::vector<int64_t> devices, int64_t summands) {
  Shards shards{Kind::Tiled, std::move(tiles), std::move(devices), summands};
  return shards.tileCount() == 1 && summands == 1 ? replicated() : shards;
}

int64_t Shards::tileCount() const {
  return std::accumulate(tiles.begin(), tiles.end(), int64_t{1}, std::multiplies<>());
}

int64_t Shards::copies() const {
  return kind == Kind::Tiled ? static_cast<int64_t>(devices.size()) / (tileCount() * summands) : 1;
}

Shape Shards::shardShape(std::span<const int64_t> shape) const {
  Shape sizes(shape.begin(), shape.end());
  if (kind == Kind::Tiled)
    for (size_t i = 0; i < sizes.size() && i < tiles.size(); ++i)
      sizes[i] = (sizes[i] + tiles[i] - 1) / tiles[i];
  return sizes;
}

bool Shards::isEven(std::span<const int64_t> shape) const {
  if (kind == Kind::Tiled)
    for (size_t i = 0; i < shape.size() && i < tiles.size(); ++i)
      if (shape[i] % tiles[i])
        return false;
  return true;
}

int64_t Shards::place(int64_t device) const {
  auto it = std::find(devices.begin(), devices.end(), device);
  return it == devices.end() ? -1 : it - devices.begin();
}

namespace {

/// Where a tile begins and ends in the whole.
struct Window {
  Shape start, limit, sizes; // limit is cut at the edge; sizes are not.
  bool isWhole = true;       // Nothing is cut.
};

Window windowOf(const Shards &shards, std::span<const int64_t> shape, int64_t tile) {
  Window window;
  window.sizes = shards.shardShape(shape);
  window.start.resize(shape.size());
  window.limit.resize(shape.size());
  for (size_t i = shape.size(); i-- > 0;) {
    int64_t index = tile % shards.tiles[i];
    tile /= shards.tiles[i];
    window.start[i] = std::min(index * window.sizes[i], shape[i]);
    window.limit[i] = std::min(window.start[i] + window.sizes[i], shape[i]);
    window.isWhole &= window.limit[i] - window.start[i] == window.sizes[i];
  }
  return window;
}

/// Copies `source` row by row into the block of `target` that begins at `start`.
void copyInto(std::byte *target, std::span<const int64_t> targetShape, const Tensor &source,
              std::span<const int64_t> start) {
  int64_t bytes = info(source.dtype()).bytes;
  int64_t rank = source.rank();
  if (source.size() == 0)
    return;
  if (rank == 0) {
    std::memcpy(target, source.data(), bytes);
    return;
  }
  std::vector<int64_t> steps(rank);
  int64_t step = bytes;
  for (int64_t i = rank; i-- > 0;) {
    steps[i] = step;
    step *= targetShape[i];
  }
  int64_t row = source.dim(rank - 1);
  std::vector<int64_t> index(rank, 0);
  while (true) {
    const std::byte *from = source.data();
    std::byte *to = target;
    for (int64_t i = 0; i < rank; ++i) {
      from += index[i] * source.strides()[i];
      to += (index[i] + start[i]) * steps[i];
    }
    if (source.strides()[rank - 1] == bytes || row == 1) {
      std::memcpy(to, from, row * bytes);
    } else {
      int64_t sizes[] = {row}, apart[] = {source.strides()[rank - 1]};
      copyStrided(to, from, sizes, apart, static_cast<int>(bytes));
    }
    int64_t i = rank - 1;
    while (i-- > 0) {
      if (++index[i] < source.dim(i))
        break;
      index[i] = 0;
    }
    if (i < 0)
      return;
  }
}

} // namespace

Result<Tensor> Shards::piece(const Tensor &whole, int64_t device) const {
  if (kind != Kind::Tiled)
    return whole;
  int64_t at = place(device);
  if (at < 0)
    return Error{"device " + std::to_string(device) + " holds no part of " + str()};
  Window window = windowOf(*this, whole.shape(), at / copies() / summands);
  if (at / copies() % summands)
    return Tensor::zeros(whole.elementType(), window.sizes);
  Shape strides(whole.rank(), 1);
  Tensor part = whole.sliced(window.start, window.limit, strides);
  if (window.isWhole)
    return part;
  Result<Tensor> padded = Tensor::zeros(whole.elementType(), window.sizes);
  if (!padded)
    return padded;
  Shape origin(whole.rank(), 0);
  copyInto(padded->mutableData(), window.sizes, part, origin);
  return padded;
}

Result<Tensor> Shards::assemble(std::span<const Tensor> pieces, std::span<const int64_t> shape,
                                int64_t summand) const {
  auto of = [&](int64_t device) -> const Tensor * {
    return device >= 0 && device < static_cast<int64_t>(pieces.size()) ? &pieces[device] : nullptr;
  };
  if (kind != Kind::Tiled) {
    const Tensor *one = of(kind == Kind::Maximal ? devices[0] : 0);
    if (!one)
      return Error{"the device that holds the value is not there"};
    return *one;
  }
  const Tensor *first = of(devices[0]);
  if (!first)
    return Error{"the sharding names a device that is not there: " + str()};
  Result<Tensor> whole =
      Tensor::uninitialized(first->elementType(), Shape(shape.begin(), shape.end()));
  if (!whole)
    return whole;
  std::byte *target = whole->mutableData();
  Shape strides(shape.size(), 1), origin(shape.size(), 0);
  for (int64_t tile = 0, count = tileCount(); tile < count; ++tile) {
    const Tensor *part = of(devices[(tile * summands + summand) * copies()]);
    if (!part)
      return Error{"the sharding names a device that is not there: " + str()};
    Window window = windowOf(*this, shape, tile);
    if (!std::ranges::equal(part->shape(), window.sizes))
      return Error{"a piece is " + describe(part->elementType(), part->shape()) + " where " +
                   describe(part->elementType(), window.sizes) + " is due"};
    Shape used(shape.size());
    for (size_t i = 0; i < shape.size(); ++i)
      used[i] = window.limit[i] - window.start[i];
    copyInto(target, shape, window.isWhole ? *part : part->sliced(origin, used, strides),
             window.start);
  }
  return whole;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string list(std::span<const int64_t> values) {
  std::string text;
  for (int64_t value : values)
    text += (text.empty() ? "" : ",") + std::to_string(value);
  return text;
}

std::string Shards::str() const {
  switch (kind) {
  case Kind::Replicated:
    return "{replicated}";
  case Kind::Manual:
    return "{manual}";
  case Kind::Maximal:
    return "{maximal device=" + std::to_string(devices[0]) + "}";
  case Kind::Tiled:
    break;
  }
  std::vector<int64_t> dims = tiles;
  if (summands > 1)
    dims.push_back(summands);
  if (copies() > 1)
    dims.push_back(copies());
  if (summands > 1)
    return "{devices=[" + list(dims) + "]" + list(devices) + " last_tile_dims={unreduced" +
           (copies() > 1 ? ", replicated}}" : "}}");
  return "{devices=[" + list(dims) + "]" + list(devices) +
         (copies() > 1 ? " last_tile_dim_replicate}" : "}");
}

namespace {

struct Reader {
  std::string_view rest;
  void space() {
    while (!rest.empty() && rest.front() == ' ')
      rest.remove_prefix(1);
  }
  bool eat(std::string_view word) {
    space();
    if (!rest.starts_with(word))
      return false;
    rest.remove_prefix(word.size());
    return true;
  }
  bool number(int64_t &value) {
    space();
    auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || value < 0)
      return false;
    rest.remove_prefix(end - rest.data());
    return true;
  }
  bool numbers(std::vector<int64_t> &values) {
    do {
      if (!number(values.emplace_back()))
        return false;
    } while (eat(","));
    return true;
  }
};

bool product(std::span<const int64_t> values, int64_t &result) {
  result = 1;
  for (int64_t value : values)
    if (value <= 0 || __builtin_mul_overflow(result, value, &result) || result > (1 << 24))
      return false;
  return true;
}

} // namespace

Result<Shards> Shards::parse(std::string_view text, int64_t rank, int64_t deviceCount) {
  Error malformed{"'" + std::string(text) + "' is no sharding of a tensor of rank " +
                  std::to_string(rank)};
  Reader reader{text};
  if (!reader.eat("{"))
    return malformed;
  if (reader.eat("replicated"))
    return replicated();
  if (reader.eat("manual"))
    return Shards{Kind::Manual, {}, {}};
  if (reader.eat("maximal")) {
    int64_t device;
    if (!reader.eat("device=") || !reader.number(device))
      return malformed;
    return maximal(device);
  }
  std::vector<int64_t> dims, devices;
  int64_t count;
  if (!reader.eat("devices=[") || !reader.numbers(dims) || !reader.eat("]") ||
      !product(dims, count))
    return malformed;
  if (reader.eat("<=[")) {
    std::vector<int64_t> sizes, order;
    int64_t total;
    if (!reader.numbers(sizes) || !reader.eat("]") || !product(sizes, total) || total != count)
      return malformed;
    if (reader.eat("T(")) {
      if (!reader.numbers(order) || !reader.eat(")") || order.size() != sizes.size())
        return malformed;
    } else {
      order.resize(sizes.size());
      std::iota(order.begin(), order.end(), 0);
    }
    std::vector<bool> seen(sizes.size());
    for (int64_t i : order) {
      if (i >= static_cast<int64_t>(sizes.size()) || seen[i])
        return malformed;
      seen[i] = true;
    }
    // The numbers 0, 1, 2, ... in a box of `sizes`, transposed.
    std::vector<int64_t> steps(sizes.size(), 1);
    for (size_t i = sizes.size(); i-- > 1;)
      steps[i - 1] = steps[i] * sizes[i];
    for (int64_t n = 0; n < total; ++n) {
      int64_t rest = n, id = 0;
      for (size_t i = order.size(); i-- > 0;) {
        id += rest % sizes[order[i]] * steps[order[i]];
        rest /= sizes[order[i]];
      }
      devices.push_back(id);
    }
  } else if (!reader.numbers(devices)) {
    return malformed;
  }
  if (static_cast<int64_t>(devices.size()) != count)
    return malformed;
  // What follows the dimensions of the tensor are copies, or axes that are manual.
  bool manual = false;
  int64_t extra = 0, summands = 1;
  if (reader.eat("last_tile_dims={")) {
    do {
      ++extra;
      if (reader.eat("manual"))
        manual = true;
      else if (extra == 1 && reader.eat("unreduced"))
        summands = -1; // Known below.
      else if (!reader.eat("replicated"))
        return malformed;
    } while (reader.eat(","));
    if (!reader.eat("}"))
      return malformed;
  } else if (reader.eat("last_tile_dim_replicate")) {
    extra = 1;
  }
  if (static_cast<int64_t>(dims.size()) - extra != rank)
    return malformed;
  for (int64_t device : devices)
    if (device >= deviceCount)
      return Error{"'" + std::string(text) + "' names device " + std::to_string(device) + " of " +
                   std::to_string(deviceCount)};
  if (summands < 0)
    summands = dims[rank];
  dims.resize(rank);
  if (manual && std::ranges::all_of(dims, [](int64_t n) { return n == 1; }))
    return Shards{Kind::Manual, {}, {}};
  return tiled(std::move(dims), std::move(devices), summands);
}

} // namespace cupel::tensor
