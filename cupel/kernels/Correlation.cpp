#include "cupel/kernels/Correlation.h"

#include "cupel/kernels/Isa.h"
#include "cupel/kernels/Panels.h"
#include "cupel/kernels/Scratch.h"

#include <algorithm>
#include <cstring>

namespace cupel::kernels {
namespace {

/// Steps of the depth that all tiles of a unit take before the next ones: a panel of the window and what a tile
/// reads of the image stay in the first-level cache.
constexpr int64_t kChunkSteps = 128;
/// A core's multiply-adds in a nanosecond, cautiously.
constexpr double kSpeed = 30;

/// One call of `correlate`. Rows of the result at one line of places are cut into blocks whose rows lie side by
/// side in the image: all of them where places follow each other, else those of one place.
struct Work {
  const CorrelationShape &shape;
  const KernelTable &kernels;
  const float *image, *window;
  float *c;
  CorrelationShape::Sizes output;
  PanelCut cut;
  int64_t blocks, blockRows, blockPixels;

  Work(const CorrelationShape &shape, const KernelTable &kernels, const float *image,
       const float *window, float *c)
      : shape(shape), kernels(kernels), image(image), window(window), c(c), output(shape.output()),
        cut(cutIntoPanels(kernels, shape.columns)) {
    bool isDense = shape.strides[1] == 1;
    blocks = isDense ? 1 : output[1];
    blockPixels = isDense ? output[1] : 1;
    blockRows = blockPixels * shape.rows;
  }

  bool isRagged() const { return shape.columns % kernels.width != 0; }
};

/// Which part of the result a unit makes: some rows of a block, some panels.
struct Part {
  int64_t line, block;
  int64_t row, endRow;
  int64_t firstPanel, endPanel;
};

/// Pixels of a line of the window that follow each other.
struct Segment {
  int64_t image, line, begin, steps;
};

class Unit {
public:
  Unit(const Work &work, const Part &part)
      : work(work), shape(work.shape), part(part),
        columns((work.cut.columnOf(part.endPanel - 1) + work.cut.widthOf(part.endPanel - 1)) -
                work.cut.columnOf(part.firstPanel)) {}

  void run() {
    ScratchFrame frame;
    int64_t segmentsOfLine = (shape.window[1] + kChunkSteps - 1) / kChunkSteps;
    int64_t all = shape.images * shape.window[0] * segmentsOfLine;
    int64_t longest = (shape.window[1] + segmentsOfLine - 1) / segmentsOfLine;
    int64_t most = std::clamp<int64_t>(kChunkSteps / std::max<int64_t>(1, longest), 1, std::max<int64_t>(1, all));
    int64_t paddedPixels = (longest - 1) * shape.dilations[1] + work.blockPixels;
    auto **left = frame.take<const float *>(most), **right = frame.take<const float *>(most);
    auto *steps = frame.take<int64_t>(most);
    auto *padded = frame.take<float>(most * paddedPixels * shape.rows);
    auto *widened = work.isRagged() ? frame.take<float>(most * longest * columns) : nullptr;
    int64_t lastPanel = work.cut.count - 1;
    int64_t count = part.endRow - part.row, lastWidth = work.cut.widthOf(lastPanel);
    bool hasAside = work.isRagged() && part.endPanel == work.cut.count;
    auto *aside = hasAside ? frame.take<float>(count * lastWidth) : nullptr;
    float *c = work.c + ((part.line * work.blocks + part.block) * work.blockRows + part.row) * shape.columns;
    // Nothing to add makes zeros as well.
    for (int64_t first = 0; first == 0 || first < all; first += most) {
      int64_t used = std::min(most, all - first);
      for (int64_t i = 0; i < used; ++i) {
        int64_t line = (first + i) / segmentsOfLine, which = (first + i) % segmentsOfLine;
        int64_t begin = shape.window[1] * which / segmentsOfLine;
        Segment segment{line / shape.window[0], line % shape.window[0], begin,
                        shape.window[1] * (which + 1) / segmentsOfLine - begin};
        left[i] = findLeft(segment, padded + i * paddedPixels * shape.rows) + part.row;
        right[i] = findRight(segment, widened ? widened + i * longest * columns : nullptr);
        steps[i] = segment.steps;
      }
      OuterTile tile = {left, right, steps, used, 0, 0, shape.dilations[1] * shape.rows,
                        widened ? columns : shape.columns, nullptr, 0, first > 0};
      for (int64_t panel = part.firstPanel; panel < part.endPanel; ++panel) {
        bool isAside = hasAside && panel == lastPanel;
        tile.rightOffset = work.cut.columnOf(panel) - work.cut.columnOf(part.firstPanel);
        multiplyPanel(tile, work.cut.vectorsOf(panel), isAside ? aside : c + work.cut.columnOf(panel),
                      isAside ? lastWidth : shape.columns);
      }
    }
    if (hasAside)
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(c + i * shape.columns + work.cut.columnOf(lastPanel), aside + i * lastWidth,
                    static_cast<size_t>(work.cut.columnsOf(lastPanel)) * sizeof(float));
  }

private:
  void multiplyPanel(OuterTile &tile, int64_t vectors, float *c, int64_t ldc) const {
    int64_t count = part.endRow - part.row, most = work.kernels.tileRows[vectors - 1];
    int64_t tiles = (count + most - 1) / most;
    tile.ldc = ldc;
    for (int64_t i = 0; i < tiles; ++i) {
      int64_t begin = count * i / tiles, end = count * (i + 1) / tiles;
      tile.leftOffset = begin;
      tile.c = c + begin * ldc;
      work.kernels.outer[vectors - 1][end - begin - 1](tile);
    }
  }

  /// Where row 0 of the block lies for the segment's first pixel: in the image, or in `room` with what is
  /// outside as zeros.
  const float *findLeft(const Segment &segment, float *room) const {
    int64_t y = part.line * shape.strides[0] + segment.line * shape.dilations[0] - shape.paddingLow[0];
    int64_t first = part.block * shape.strides[1] + segment.begin * shape.dilations[1] - shape.paddingLow[1];
    int64_t pixels = (segment.steps - 1) * shape.dilations[1] + work.blockPixels;
    bool hasLine = y >= 0 && y < shape.input[0];
    const float *line = work.image + (segment.image * shape.input[0] + (hasLine ? y : 0)) *
                                         shape.input[1] * shape.rows;
    if (hasLine && first >= 0 && first + pixels <= shape.input[1])
      return line + first * shape.rows;
    int64_t begin = hasLine ? std::clamp<int64_t>(-first, 0, pixels) : pixels;
    int64_t end = hasLine ? std::clamp<int64_t>(shape.input[1] - first, begin, pixels) : pixels;
    std::fill_n(room, begin * shape.rows, 0.0f);
    if (begin < end)
      std::memcpy(room + begin * shape.rows, line + (first + begin) * shape.rows,
                  static_cast<size_t>((end - begin) * shape.rows) * sizeof(float));
    std::fill_n(room + end * shape.rows, (pixels - end) * shape.rows, 0.0f);
    return room;
  }

  /// The unit's columns of the segment's pixels: in the window, or in `room` with zeros behind the last one.
  const float *findRight(const Segment &segment, float *room) const {
    int64_t pixel = (segment.image * shape.window[0] + segment.line) * shape.window[1] + segment.begin;
    int64_t column = work.cut.columnOf(part.firstPanel);
    const float *from = work.window + pixel * shape.columns + column;
    if (!room)
      return from;
    int64_t there = std::min(columns, shape.columns - column);
    for (int64_t i = 0; i < segment.steps; ++i) {
      std::memcpy(room + i * columns, from + i * shape.columns, static_cast<size_t>(there) * sizeof(float));
      std::fill(room + i * columns + there, room + (i + 1) * columns, 0.0f);
    }
    return room;
  }

  const Work &work;
  const CorrelationShape &shape;
  Part part;
  int64_t columns; // Of the unit, whole vectors.
};

/// Into how many parts rows of a block and panels are cut, so that threads have about the same to do.
struct Parts {
  int64_t rows = 1, panels = 1;
};

Parts planParts(const Work &work, int threads) {
  constexpr int64_t kFewestRows = 8;
  Parts parts;
  int64_t given = work.output[0] * work.blocks;
  auto isEven = [&] {
    int64_t units = given * parts.rows * parts.panels, rounds = (units + threads - 1) / threads;
    return units >= int64_t{2} * threads && rounds * threads * 10 <= units * 11;
  };
  int64_t most = std::max<int64_t>(1, (work.blockRows + kFewestRows - 1) / kFewestRows);
  while (threads > 1 && !isEven() && parts.rows < most)
    ++parts.rows;
  while (threads > 1 && !isEven() && parts.panels < work.cut.count)
    ++parts.panels;
  return parts;
}

} // namespace

CorrelationShape::Sizes CorrelationShape::output() const {
  Sizes sizes;
  for (size_t d = 0; d < 2; ++d) {
    int64_t padded = input[d] + paddingLow[d] + paddingHigh[d];
    int64_t covered = window[d] == 0 ? 0 : (window[d] - 1) * dilations[d] + 1;
    sizes[d] = padded < covered || padded < 0 ? 0 : (padded - covered) / strides[d] + 1;
  }
  return sizes;
}

void correlate(const CorrelationShape &shape, const float *image, const float *window, float *c,
               const Pool &pool) {
  Work work(shape, currentKernels(), image, window, c);
  int64_t elements = work.output[0] * work.output[1] * shape.rows * shape.columns;
  if (elements == 0)
    return;
  double nanoseconds = static_cast<double>(elements) *
                       static_cast<double>(shape.images * shape.window[0] * shape.window[1]) / kSpeed;
  Parts parts = planParts(work, pool.threadsFor(nanoseconds));
  int64_t units = work.output[0] * work.blocks * parts.rows * parts.panels;
  pool.parallelFor(units, nanoseconds / static_cast<double>(units), [&](int64_t unit) {
    int64_t panel = unit % parts.panels, row = unit / parts.panels % parts.rows;
    int64_t place = unit / parts.panels / parts.rows;
    Unit(work, {place / work.blocks, place % work.blocks, work.blockRows * row / parts.rows,
                work.blockRows * (row + 1) / parts.rows, work.cut.count * panel / parts.panels,
                work.cut.count * (panel + 1) / parts.panels})
        .run();
  });
}

} // namespace cupel::kernels
