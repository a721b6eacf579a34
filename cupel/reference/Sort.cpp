#include "cupel/reference/Sort.h"

#include "cupel/reference/DataMovement.h"
#include "cupel/reference/Parallel.h"
#include "cupel/reference/StridedCopy.h"
#include "cupel/tensor/Float.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>

namespace cupel::reference {

using tensor::DType;
using tensor::info;
using tensor::Kind;
using tensor::Shape;
using tensor::Storage;
using tensor::Tensor;

namespace {

using Index = uint32_t; // a position within one row

// --- Known comparators: keys become unsigned integers in the wanted order, then a radix sort. ---

/// What a comparator means for keys; nothing if it is not one of ours.
struct KeyOrder {
  bool descending;
  bool total; // -0 before +0 and NaNs by sign, otherwise zeros are equal and NaNs last
};

std::optional<KeyOrder> keyOrder(std::optional<KnownFunction> known) {
  if (!known)
    return std::nullopt;
  switch (*known) {
  case KnownFunction::Less:
  case KnownFunction::LessEqual:
    return KeyOrder{false, false};
  case KnownFunction::Greater:
  case KnownFunction::GreaterEqual:
    return KeyOrder{true, false};
  case KnownFunction::LessTotal:
    return KeyOrder{false, true};
  case KnownFunction::GreaterTotal:
    return KeyOrder{true, true};
  default:
    return std::nullopt;
  }
}

template <typename Bits> Bits orderedFloat(Bits bits, Bits infinity, bool total) {
  constexpr Bits sign = Bits{1} << (sizeof(Bits) * 8 - 1);
  if (!total) {
    Bits magnitude = bits & static_cast<Bits>(~sign);
    if (magnitude == 0 || magnitude > infinity)
      bits = magnitude;
  }
  return bits & sign ? static_cast<Bits>(~bits) : static_cast<Bits>(bits | sign);
}

/// The key of one element as an unsigned integer that sorts ascending.
template <DType type> auto keyOf(Storage<type> value, KeyOrder order) {
  constexpr Kind kind = info(type).kind;
  auto finish = [&](auto key) { return order.descending ? static_cast<decltype(key)>(~key) : key; };
  if constexpr (kind == Kind::Float) {
    if constexpr (type == DType::F64)
      return finish(
          orderedFloat(std::bit_cast<uint64_t>(value), uint64_t{0x7ff0000000000000}, order.total));
    else
      return finish(orderedFloat(std::bit_cast<uint32_t>(tensor::toFloat<type>(value)),
                                 uint32_t{0x7f800000}, order.total));
  } else {
    using U = std::make_unsigned_t<Storage<type>>;
    constexpr U sign = U{1} << (sizeof(U) * 8 - 1);
    auto bits = static_cast<U>(value);
    return finish(static_cast<U>(kind == Kind::Signed ? bits ^ sign : bits));
  }
}

template <typename Key> struct Entry {
  Key key;
  Index index;
};

template <typename Key> void insertionSort(Entry<Key> *entries, size_t n) {
  for (size_t i = 1; i < n; ++i) {
    Entry<Key> entry = entries[i];
    size_t k = i;
    for (; k > 0 && entry.key < entries[k - 1].key; --k)
      entries[k] = entries[k - 1];
    entries[k] = entry;
  }
}

template <typename Key> struct Digits {
  static constexpr int bits = sizeof(Key) == 1 || sizeof(Key) == 2 ? 8 : 11;
  static constexpr int count = (sizeof(Key) * 8 + bits - 1) / bits;
  static constexpr size_t buckets = size_t{1} << bits;
  static size_t of(Key key, int digit) {
    return (static_cast<uint64_t>(key) >> (digit * bits)) & (buckets - 1);
  }
};

/// Digits below `digits` of `n` entries, which lie in `entries` and end up there or in `other`:
/// true if there. Digits in which all keys agree are skipped.
template <typename Key>
bool radixPasses(Entry<Key> *entries, Entry<Key> *other, size_t n, int digits) {
  using D = Digits<Key>;
  std::vector<Index> counts(static_cast<size_t>(digits) * D::buckets, 0);
  for (size_t i = 0; i < n; ++i)
    for (int d = 0; d < digits; ++d)
      ++counts[d * D::buckets + D::of(entries[i].key, d)];
  bool home = true;
  for (int d = 0; d < digits && !isStopped(); ++d) {
    Index *count = counts.data() + d * D::buckets;
    if (count[D::of(entries[0].key, d)] == n)
      continue;
    Index sum = 0;
    for (size_t b = 0; b < D::buckets; ++b) {
      Index here = count[b];
      count[b] = sum;
      sum += here;
    }
    for (size_t i = 0; i < n; ++i)
      other[count[D::of(entries[i].key, d)]++] = entries[i];
    std::swap(entries, other);
    home = !home;
  }
  return home;
}

/// One long row on several threads: spread by the highest digit in which keys differ much, then
/// bucket by bucket. A stable order is unique, so it is that of radixSort. False if nearly all keys
/// fall into one bucket; nothing has changed then.
template <typename Key>
bool radixSortParallel(std::vector<Entry<Key>> &entries, std::vector<Entry<Key>> &other) {
  using D = Digits<Key>;
  constexpr int64_t block = 1 << 16;
  constexpr int top = D::count - 1;
  auto n = static_cast<int64_t>(entries.size());
  int64_t blocks = (n + block - 1) / block;
  other.resize(entries.size());
  std::vector<Index> counts(static_cast<size_t>(blocks) * D::buckets);
  forEach(blocks, 1.0 * block, [&](int64_t b) {
    Index *count = counts.data() + static_cast<size_t>(b) * D::buckets;
    for (int64_t i = b * block, end = std::min(n, i + block); i < end; ++i)
      ++count[D::of(entries[i].key, top)];
  });
  if (isStopped())
    return true;
  // Where the entries of each block with each digit begin, and where the buckets do.
  std::vector<int64_t> begins(D::buckets + 1);
  Index sum = 0;
  int64_t largest = 0;
  for (size_t bucket = 0; bucket < D::buckets; ++bucket) {
    begins[bucket] = sum;
    for (int64_t b = 0; b < blocks; ++b) {
      Index &count = counts[static_cast<size_t>(b) * D::buckets + bucket];
      Index here = count;
      count = sum;
      sum += here;
    }
    largest = std::max(largest, int64_t{sum} - begins[bucket]);
  }
  begins[D::buckets] = n;
  if (largest > n / 3)
    return false;
  forEach(blocks, 2.0 * block, [&](int64_t b) {
    Index *place = counts.data() + static_cast<size_t>(b) * D::buckets;
    for (int64_t i = b * block, end = std::min(n, i + block); i < end; ++i)
      other[place[D::of(entries[i].key, top)]++] = entries[i];
  });
  if (isStopped())
    return true;
  forBlocks(static_cast<int64_t>(D::buckets),
            10.0 * static_cast<double>(n) / static_cast<double>(D::buckets),
            [&](int64_t begin, int64_t end) {
              for (int64_t bucket = begin; bucket < end; ++bucket) {
                int64_t from = begins[bucket], count = begins[bucket + 1] - from;
                if (count < 64) {
                  insertionSort(other.data() + from, static_cast<size_t>(count));
                  std::copy_n(other.data() + from, count, entries.data() + from);
                } else if (radixPasses(other.data() + from, entries.data() + from,
                                       static_cast<size_t>(count), top)) {
                  std::copy_n(other.data() + from, count, entries.data() + from);
                }
              }
            });
  return true;
}

/// Stable, least significant digit first.
template <typename Key>
void radixSort(std::vector<Entry<Key>> &entries, std::vector<Entry<Key>> &other) {
  size_t n = entries.size();
  if (n < 64)
    return insertionSort(entries.data(), n);
  if (n > (1 << 18) && workThreads() > 1 && radixSortParallel(entries, other))
    return;
  other.resize(n);
  if (!radixPasses(entries.data(), other.data(), n, Digits<Key>::count))
    std::swap(entries, other);
}

/// Orders each row by keys; false if the type has none.
bool sortByKeys(const Tensor &keys, KeyOrder order, int64_t rows, int64_t length,
                std::vector<Index> &permutation) {
  return tensor::dispatch(keys.dtype(), [&]<DType type>() {
    if constexpr (tensor::isComplex(type)) {
      return false;
    } else {
      using Key = decltype(keyOf<type>(Storage<type>{}, order));
      const auto *data = keys.dataAs<Storage<type>>();
      auto sortRows = [&](int64_t begin, int64_t end) {
        std::vector<Entry<Key>> entries(static_cast<size_t>(length)), other;
        for (int64_t r = begin; r < end; ++r) {
          forBlocks(length, 1, [&](int64_t from, int64_t to) {
            for (int64_t i = from; i < to; ++i)
              entries[i] = {keyOf<type>(data[r * length + i], order), static_cast<Index>(i)};
          });
          radixSort(entries, other);
          forBlocks(length, 1, [&](int64_t from, int64_t to) {
            for (int64_t i = from; i < to; ++i)
              permutation[r * length + i] = entries[i].index;
          });
        }
      };
      // Few long rows one by one, with all threads on each; many side by side.
      if (rows < 8 && length > (1 << 18))
        sortRows(0, rows);
      else
        forBlocks(rows, 20.0 * static_cast<double>(length), sortRows);
      return true;
    }
  });
}

// --- Any comparator: merge sort in which many merges advance side by side, one lane each. ---

class LaneSort {
public:
  LaneSort(std::span<const Tensor> inputs, const ElementFunction &comparator, int64_t rows,
           int64_t length, std::vector<Index> &permutation)
      : inputs(inputs), comparator(comparator), rows(rows), length(length), current(permutation) {}

  /// The permutation must be the identity in each row.
  Status run() {
    other.resize(current.size());
    for (int64_t width = 1; width < length; width *= 2) {
      makeTasks(width);
      if (Status status = splitTasks(); !status)
        return status;
      if (Status status = mergeTasks(); !status)
        return status;
      std::swap(current, other);
    }
    return {};
  }

private:
  static constexpr int64_t kLanes = 512;

  /// Merge runs a and b (positions in the whole permutation), both within one row, to `out`.
  struct Task {
    int64_t a, aEnd, b, bEnd, out, base;
  };

  void makeTasks(int64_t width) {
    tasks.clear();
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t at = 0; at < length; at += 2 * width) {
        int64_t base = r * length, middle = std::min(at + width, length);
        int64_t end = std::min(at + 2 * width, length);
        tasks.push_back({base + at, base + middle, base + middle, base + end, base + at, base});
      }
  }

  /// Questions to the comparator, up to kLanes at a time.
  struct Comparison {
    std::span<const Tensor> inputs;
    const ElementFunction &comparator;
    std::vector<int64_t> bytes;
    std::vector<std::vector<std::byte>> lanes; // (lhs, rhs) of each operand
    std::vector<const void *> arguments;
    std::vector<uint8_t> verdict;

    Comparison(std::span<const Tensor> inputs, const ElementFunction &comparator)
        : inputs(inputs), comparator(comparator), verdict(kLanes) {
      for (const Tensor &input : inputs) {
        bytes.push_back(info(input.dtype()).bytes);
        for (int side = 0; side < 2; ++side)
          lanes.emplace_back(static_cast<size_t>(bytes.back() * kLanes));
      }
      for (auto &lane : lanes)
        arguments.push_back(lane.data());
    }

    /// Asks for each k < count whether element b[k] must come before element a[k], which was
    /// first: so equal elements stay in order.
    Status ask(int64_t count, const int64_t *b, const int64_t *a) {
      for (size_t i = 0; i < inputs.size(); ++i)
        dispatchBytes(bytes[i], [&](auto type) {
          constexpr int64_t size = sizeof(type);
          const std::byte *data = inputs[i].data();
          std::byte *left = lanes[2 * i].data(), *right = lanes[2 * i + 1].data();
          for (int64_t k = 0; k < count; ++k) {
            std::memcpy(left + k * size, data + b[k] * size, size);
            std::memcpy(right + k * size, data + a[k] * size, size);
          }
        });
      void *result = verdict.data();
      return comparator.run(arguments, std::span<void *const>(&result, 1), count);
    }
  };

  /// The element (its number in the input) at a position of the permutation.
  int64_t elementAt(int64_t position, int64_t base) const { return base + current[position]; }

  /// Few long merges are cut into pieces of equal output by binary search for where each piece
  /// starts in both runs, all searches side by side.
  Status splitTasks() {
    auto total = rows * length;
    int64_t piece = std::max<int64_t>(total / (2 * kLanes), 64);
    std::vector<Task> pieces;
    struct Search {
      size_t task;
      int64_t diagonal, low, high; // how many of run a come before the cut
    };
    std::vector<Search> searches;
    for (size_t t = 0; t < tasks.size(); ++t) {
      const Task &task = tasks[t];
      int64_t sizeA = task.aEnd - task.a, sizeB = task.bEnd - task.b;
      if (sizeB == 0)
        continue;
      for (int64_t d = piece; d < sizeA + sizeB; d += piece)
        searches.push_back({t, d, std::max<int64_t>(0, d - sizeB), std::min(d, sizeA)});
    }
    if (searches.empty())
      return {};
    Comparison comparison(inputs, comparator);
    int64_t as[kLanes], bs[kLanes];
    size_t open[kLanes];
    for (size_t first = 0; first < searches.size(); first += kLanes) {
      size_t last = std::min(first + static_cast<size_t>(kLanes), searches.size());
      while (true) {
        int64_t count = 0;
        for (size_t s = first; s < last; ++s) {
          const Search &search = searches[s];
          if (search.low >= search.high)
            continue;
          // Does a[middle] lie before the cut, i.e. not after b[diagonal - middle - 1]?
          int64_t middle = (search.low + search.high) / 2;
          const Task &task = tasks[search.task];
          as[count] = elementAt(task.a + middle, task.base);
          bs[count] = elementAt(task.b + search.diagonal - middle - 1, task.base);
          open[count++] = s;
        }
        if (count == 0)
          break;
        if (Status status = comparison.ask(count, bs, as); !status)
          return status;
        for (int64_t k = 0; k < count; ++k) {
          Search &search = searches[open[k]];
          int64_t middle = (search.low + search.high) / 2;
          if (comparison.verdict[k])
            search.high = middle;
          else
            search.low = middle + 1;
        }
      }
    }
    size_t s = 0;
    for (size_t t = 0; t < tasks.size(); ++t) {
      Task rest = tasks[t];
      int64_t done = 0, fromA = 0;
      for (; s < searches.size() && searches[s].task == t; ++s) {
        // A comparator that contradicts itself may cut anywhere: keep the pieces whole.
        int64_t steps = searches[s].diagonal - done;
        int64_t cut = std::clamp(searches[s].low, fromA, fromA + steps);
        Task part = rest;
        part.aEnd = rest.a + (cut - fromA);
        part.bEnd = rest.b + (steps - (cut - fromA));
        pieces.push_back(part);
        rest.a = part.aEnd;
        rest.b = part.bEnd;
        rest.out += steps;
        done += steps;
        fromA = cut;
      }
      pieces.push_back(rest);
    }
    tasks = std::move(pieces);
    return {};
  }

  /// Tasks do not depend on one another: groups of them side by side.
  Status mergeTasks() {
    size_t groups = comparator.isParallel() ? std::clamp<size_t>(tasks.size() / 128, 1, 64) : 1;
    std::vector<Status> outcomes(groups);
    double each = 40.0 * static_cast<double>(rows * length) / static_cast<double>(groups);
    forEach(static_cast<int64_t>(groups), each, [&](int64_t g) {
      auto group = static_cast<size_t>(g);
      outcomes[group] =
          mergeSome(tasks.size() * group / groups, tasks.size() * (group + 1) / groups);
    });
    for (const Status &status : outcomes)
      if (!status)
        return status;
    return isStopped() ? Status(stoppedError()) : Status();
  }

  Status mergeSome(size_t next, size_t end) {
    Comparison comparison(inputs, comparator);
    Task active[kLanes];
    int64_t as[kLanes], bs[kLanes];
    int64_t count = 0;
    // Copies what is left of a task if one run is used up.
    auto finished = [&](Task &task) {
      if (task.a < task.aEnd && task.b < task.bEnd)
        return false;
      Index *out = other.data() + task.out;
      out = std::copy(current.begin() + task.a, current.begin() + task.aEnd, out);
      std::copy(current.begin() + task.b, current.begin() + task.bEnd, out);
      return true;
    };
    while (true) {
      while (count < kLanes && next < end) {
        Task task = tasks[next++];
        if (!finished(task))
          active[count++] = task;
      }
      if (count == 0)
        return {};
      for (int64_t k = 0; k < count; ++k) {
        as[k] = elementAt(active[k].a, active[k].base);
        bs[k] = elementAt(active[k].b, active[k].base);
      }
      if (Status status = comparison.ask(count, bs, as); !status)
        return status;
      int64_t kept = 0;
      for (int64_t k = 0; k < count; ++k) {
        Task task = active[k];
        bool takeB = comparison.verdict[k] != 0;
        other[task.out++] = current[takeB ? task.b : task.a];
        task.a += !takeB;
        task.b += takeB;
        if (!finished(task))
          active[kept++] = task;
      }
      count = kept;
    }
  }

  std::span<const Tensor> inputs;
  const ElementFunction &comparator;
  int64_t rows, length;
  std::vector<Index> &current;
  std::vector<Index> other;
  std::vector<Task> tasks;
};

/// The elements of a row (of `length`) in the order that `places` says; every row alike.
Result<Tensor> rearranged(const Tensor &rows, const std::vector<Index> &places) {
  Result<Tensor> moved =
      Tensor::uninitialized(rows.elementType(), Shape(rows.shape().begin(), rows.shape().end()));
  if (!moved)
    return moved.error();
  const int64_t bytes = info(rows.dtype()).bytes, length = int64_t(places.size());
  std::byte *to = moved->mutableData();
  for (int64_t begin = 0; begin < rows.size(); begin += length)
    for (int64_t i = 0; i < length; ++i, to += bytes)
      std::memcpy(to, rows.data() + (begin + places[size_t(i)]) * bytes, size_t(bytes));
  return moved;
}

} // namespace

Result<std::vector<Tensor>> sort(std::span<const Tensor> inputs, int64_t dimension,
                                 const ElementFunction &comparator, std::optional<uint64_t> ties) {
  if (inputs.empty() || comparator.argumentTypes().size() != 2 * inputs.size() ||
      comparator.resultTypes().size() != 1 || comparator.resultTypes()[0].storage != DType::I1)
    return Error{"sort: the comparator does not take two elements of each operand and return i1"};
  int64_t rank = inputs[0].rank();
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!std::ranges::equal(inputs[i].shape(), inputs[0].shape()) ||
        comparator.argumentTypes()[2 * i].storage != inputs[i].dtype() ||
        comparator.argumentTypes()[2 * i + 1].storage != inputs[i].dtype())
      return Error{"sort: operand " + std::to_string(i) + ", " +
                   tensor::describe(inputs[i].elementType(), inputs[i].shape()) +
                   ", does not go with the first operand or the comparator"};
  if (dimension < -rank || dimension >= rank)
    return Error{"sort: dimension " + std::to_string(dimension) + " is no dimension of " +
                 tensor::describe(inputs[0].elementType(), inputs[0].shape())};
  if (dimension < 0)
    dimension += rank;
  int64_t length = inputs[0].dim(dimension);
  if (length > std::numeric_limits<Index>::max())
    return Error{"sort: more than 2^32 elements along one dimension"};

  // Rows to be sorted lie last.
  std::vector<int64_t> permutation(static_cast<size_t>(rank));
  std::iota(permutation.begin(), permutation.end(), int64_t{0});
  std::rotate(permutation.begin() + dimension, permutation.begin() + dimension + 1,
              permutation.end());
  std::vector<int64_t> back(static_cast<size_t>(rank));
  for (int64_t d = 0; d < rank; ++d)
    back[permutation[d]] = d;
  std::vector<Tensor> rowsLast, results;
  for (const Tensor &input : inputs) {
    Result<Tensor> rows = input.transposed(permutation).contiguous();
    if (!rows)
      return rows.error();
    rowsLast.push_back(std::move(*rows));
  }
  if (inputs[0].size() == 0 || length == 1)
    return std::vector<Tensor>(inputs.begin(), inputs.end());
  int64_t rows = inputs[0].size() / length;
  if (ties) {
    // Equal ones then keep an order that means nothing.
    std::vector<Index> places(static_cast<size_t>(length));
    std::iota(places.begin(), places.end(), Index{0});
    std::ranges::shuffle(places, std::mt19937_64(*ties));
    for (Tensor &row : rowsLast) {
      Result<Tensor> moved = rearranged(row, places);
      if (!moved)
        return moved.error();
      row = std::move(*moved);
    }
  }
  // Keys with positions, twice, and the order.
  if (Status status = reserveScratch(inputs[0].size() * int64_t{sizeof(Index)} +
                                     length * 2 * int64_t{sizeof(Entry<uint64_t>)});
      !status)
    return status.error();
  std::vector<Index> order(static_cast<size_t>(inputs[0].size()));
  for (int64_t r = 0; r < rows; ++r)
    std::iota(order.begin() + r * length, order.begin() + (r + 1) * length, Index{0});

  std::optional<KeyOrder> known = keyOrder(comparator.known());
  if (!known || !sortByKeys(rowsLast[0], *known, rows, length, order))
    if (Status status = LaneSort(rowsLast, comparator, rows, length, order).run(); !status)
      return status.error();
  if (isStopped())
    return stoppedError();

  for (const Tensor &input : rowsLast) {
    Result<Tensor> sorted = Tensor::uninitialized(
        input.elementType(), Shape(input.shape().begin(), input.shape().end()));
    if (!sorted)
      return sorted.error();
    int64_t bytes = info(input.dtype()).bytes;
    std::byte *to = sorted->mutableData();
    const std::byte *from = input.data();
    dispatchBytes(bytes, [&](auto type) {
      constexpr int64_t size = sizeof(type);
      forBlocks(rows * length, 2, [&](int64_t begin, int64_t end) {
        while (begin < end) {
          int64_t r = begin / length, stop = std::min(end, (r + 1) * length);
          const std::byte *fromRow = from + r * length * size;
          for (; begin < stop; ++begin)
            std::memcpy(to + begin * size, fromRow + int64_t{order[begin]} * size, size);
        }
      });
    });
    if (dimension == rank - 1) {
      results.push_back(std::move(*sorted));
      continue;
    }
    Result<Tensor> placed = transpose(*sorted, back);
    if (!placed)
      return placed.error();
    results.push_back(std::move(*placed));
  }
  return results;
}

} // namespace cupel::reference
