// How a tensor is laid over the devices of a program: equal tiles along each dimension, each tile
// on one or more devices. Cuts tensors into pieces and puts pieces together again. Used by whoever
// runs programs for several devices; knows nothing of meshes, their axes or MLIR.

#pragma once

#include "cupel/tensor/Tensor.h"

namespace cupel::tensor {

struct Shards {
  enum class Kind : uint8_t {
    Replicated, // Everybody holds all of it.
    Tiled,
    Maximal, // One device, `devices[0]`, holds it; the others hold a copy that nobody looks at.
    Manual,  // Everybody holds a value of its own.
  };
  Kind kind = Kind::Replicated;
  /// Parts of each dimension. A dimension that the number does not divide is cut into pieces of
  /// the size rounded up, the last ones padded with zeros.
  std::vector<int64_t> tiles;
  /// The devices that hold each tile, tiles row-major; then by summand, the copies together.
  std::vector<int64_t> devices;
  /// Each tile is the sum of so many summands, which different devices hold.
  int64_t summands = 1;

  bool operator==(const Shards &) const = default;

  static Shards replicated() { return {}; }
  static Shards maximal(int64_t device) { return {Kind::Maximal, {}, {device}}; }
  /// Tiles as given; replicated if there is one tile only, of one summand.
  static Shards tiled(std::vector<int64_t> tiles, std::vector<int64_t> devices,
                      int64_t summands = 1);

  int64_t tileCount() const;
  int64_t copies() const;
  /// The sizes of each piece.
  Shape shardShape(std::span<const int64_t> shape) const;
  /// Whether all pieces are of the same size without padding.
  bool isEven(std::span<const int64_t> shape) const;
  /// Where `device` stands in `devices`; -1 if it holds nothing.
  int64_t place(int64_t device) const;

  /// The piece that `device` holds; a view where no padding is needed. Of several summands the
  /// first is the whole and the others are zero.
  Result<Tensor> piece(const Tensor &whole, int64_t device) const;
  /// The whole of it, or of one of its summands, from `pieces[device]`.
  Result<Tensor> assemble(std::span<const Tensor> pieces, std::span<const int64_t> shape,
                          int64_t summand = 0) const;

  /// "{devices=[2,1,4]0,1,2,3,4,5,6,7 last_tile_dim_replicate}", the customary text.
  std::string str() const;
  /// Reads that text, also with iota tiles ("<=[2,4]T(1,0)"); `deviceCount` is what there is.
  static Result<Shards> parse(std::string_view text, int64_t rank, int64_t deviceCount);
};

} // namespace cupel::tensor
