#include "cupel/kernels/ConvolutionAccess.h"
#include "cupel/kernels/PackedAccess.h"
#include "cupel/kernels/Scratch.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

namespace cupel::kernels {
namespace {

/// One call of convolvePixels.
struct Work {
  const PackedConvolution &weights;
  const ConvolutionShape &shape;
  const KernelTable &kernels;
  PanelCut cut; // Of a group.
  Spatial output;
  int64_t taps, inputs; // Input channels of a group.
  const float *input, *zeros;
  float *c;
  int64_t ldc;
  const Epilogue &epilogue;
  const ByteSides *bytes;
};

/// to[i] for pixels that follow each other on a line of the result: where the channels of a tap lie, whose first one is at column `x` of a line of the
/// input; null for a line that lies outside.
void findAlongLine(const Work &work, const float *line, int64_t x, int64_t count, const float **to) {
  int64_t stride = work.shape.strides[2], size = work.shape.input[2], channels = work.shape.inputChannels;
  // Pixels [begin, end) lie inside.
  int64_t begin = x >= 0 ? 0 : std::min(count, (-x + stride - 1) / stride);
  int64_t end = x >= size ? 0 : std::min(count, (size - x + stride - 1) / stride);
  if (!line || begin >= end)
    begin = end = 0;
  std::fill(to, to + begin, work.zeros);
  for (int64_t i = begin; i < end; ++i)
    to[i] = line + (x + i * stride) * channels;
  std::fill(to + end, to + count, work.zeros);
}

/// rows[tap * count + i]: where the channels of pixel i's tap lie. For inputs that are not dilated.
/// Whether whole lines of the kernel lie outside for some pixels.
bool findRows(const Work &work, int64_t group, int64_t row, int64_t count, const float **rows) {
  bool isAtTheEdge = false;
  const ConvolutionShape &shape = work.shape;
  const Spatial &size = shape.input, &step = shape.kernelDilation;
  const float *input = work.input + group * work.inputs;
  for (int64_t i = 0; i < count;) {
    Pixel pixel = pixelOf(work.output, row + i);
    int64_t many = std::min(count - i, work.output[2] - pixel.at[2]);
    Spatial first;
    for (int d = 0; d < 3; ++d)
      first[d] = pixel.at[d] * shape.strides[d] - shape.paddingLow[d];
    const float **to = rows + i;
    for (int64_t kz = 0, z = first[0]; kz < shape.kernel[0]; ++kz, z += step[0])
      for (int64_t ky = 0, y = first[1]; ky < shape.kernel[1]; ++ky, y += step[1]) {
        bool hasLine = z >= 0 && z < size[0] && y >= 0 && y < size[1];
        const float *line =
            hasLine ? input + ((pixel.image * size[0] + z) * size[1] + y) * size[2] * shape.inputChannels
                    : nullptr;
        isAtTheEdge = isAtTheEdge || !hasLine;
        for (int64_t kx = 0, x = first[2]; kx < shape.kernel[2]; ++kx, x += step[2], to += count)
          findAlongLine(work, line, x, many, to);
      }
    i += many;
  }
  return isAtTheEdge;
}

/// A pixel of the result where the input is dilated: how many whole dilations it lies from the first one, and how far
/// behind them, along each dimension.
struct SpreadPixel {
  int64_t image;
  Spatial whole, place;
};

/// Of pixels that follow each other. Divisions are for the first of each line.
void findSpread(const Work &work, int64_t row, int64_t count, SpreadPixel *pixels) {
  const Spatial &dilation = work.shape.inputDilation;
  Pixel pixel = pixelOf(work.output, row);
  for (int64_t i = 0; i < count; ++i, advance(pixel, work.output)) {
    SpreadPixel &now = pixels[i];
    if (i > 0 && pixel.at[2] > 0) {
      now = pixels[i - 1];
      if (++now.place[2] == dilation[2])
        now.place[2] = 0, ++now.whole[2];
      continue;
    }
    now.image = pixel.image;
    for (int d = 0; d < 3; ++d)
      now.whole[d] = pixel.at[d] / dilation[d], now.place[d] = pixel.at[d] % dilation[d];
  }
}

/// Where the first whole place of a phase meets a tap, in pixels of the input along a dimension; nothing where the
/// tap lies between pixels.
std::optional<int64_t> meetingOf(const ConvolutionShape &shape, int d, int64_t place, int64_t tap) {
  int64_t at = place * shape.strides[d] - shape.paddingLow[d] + tap * shape.kernelDilation[d];
  if (at % shape.inputDilation[d] != 0)
    return std::nullopt;
  return at / shape.inputDilation[d];
}

/// rows[tap * count + i] for pixels of one phase, which all meet the same taps.
void findRowsOf(const Work &work, int64_t group, const Spatial &place, const SpreadPixel *pixels,
                const int64_t *chosen, int64_t count, const int32_t *tapIndices, int64_t taps,
                const float **rows) {
  const ConvolutionShape &shape = work.shape;
  const float *input = work.input + group * work.inputs;
  for (int64_t t = 0; t < taps; ++t) {
    Spatial tap = pixelOf(shape.kernel, tapIndices[t]).at, first = {};
    bool meets = true;
    for (int d = 0; d < 3; ++d) {
      std::optional<int64_t> meeting = meetingOf(shape, d, place[d], tap[d]);
      meets = meets && meeting;
      first[d] = meeting.value_or(0);
    }
    // Pixels that follow each other mostly lie on the same line.
    const SpreadPixel *before = nullptr;
    const float *line = nullptr;
    for (int64_t i = 0; i < count; ++i) {
      const SpreadPixel &pixel = pixels[chosen[i]];
      if (!before || pixel.image != before->image || pixel.whole[0] != before->whole[0] || pixel.whole[1] != before->whole[1]) {
        int64_t z = pixel.whole[0] * shape.strides[0] + first[0], y = pixel.whole[1] * shape.strides[1] + first[1];
        bool hasLine = meets && z >= 0 && z < shape.input[0] && y >= 0 && y < shape.input[1];
        line = hasLine ? input + ((pixel.image * shape.input[0] + z) * shape.input[1] + y) * shape.input[2] * shape.inputChannels : nullptr;
      }
      before = &pixel;
      int64_t x = pixel.whole[2] * shape.strides[2] + first[2];
      rows[t * count + i] = line && x >= 0 && x < shape.input[2] ? line + x * shape.inputChannels : work.zeros;
    }
  }
}

RowsTimesPanels describe(const Work &work, int64_t group, int64_t firstPanel, int64_t endPanel) {
  int64_t depth = work.taps * work.inputs;
  RowsTimesPanels part = {};
  part.depth = work.inputs;
  part.cut = work.cut;
  part.panels = ConvolutionAccess::data(work.weights) + group * work.cut.size(depth);
  part.panelDepth = depth;
  part.firstPanel = firstPanel;
  part.endPanel = endPanel;
  part.panelAfter = -1;
  part.column = group * work.cut.columns;
  part.epilogue = &work.epilogue;
  part.hasIntegers = work.shape.hasIntegers;
  part.hasPairs = work.shape.hasPairs;
  part.bytes = work.bytes;
  return part;
}

void convolveUnit(const Work &work, int64_t group, int64_t row, int64_t endRow, int64_t firstPanel,
                  int64_t endPanel) {
  ScratchFrame frame;
  int64_t count = endRow - row;
  auto *taps = frame.take<int32_t>(work.taps);
  std::iota(taps, taps + work.taps, 0);
  auto **rows = frame.take<const float *>(count * work.taps);
  bool isAtTheEdge = findRows(work, group, row, count, rows);
  RowsTimesPanels part = describe(work, group, firstPanel, endPanel);
  part.rows = rows;
  part.rowCount = count;
  part.taps = work.taps;
  part.tapIndices = taps;
  // What is not there need not be multiplied by weights that cannot make a NaN of zero, and bytes not where they are
  // zero as they are multiplied.
  bool areZeros = work.bytes ? work.bytes->filler == 0 && !work.bytes->isMoved : ConvolutionAccess::isFinite(work.weights);
  bool skips = work.taps > 1 && isAtTheEdge && areZeros;
  part.zeros = skips ? work.zeros : nullptr;
  part.c = work.c ? work.c + row * work.ldc + part.column : nullptr;
  part.ldc = work.ldc;
  part.row = row;
  multiplyRows(work.kernels, part);
}

/// Where rows of some channels of the result go: there, or to a place of their own where nobody keeps them.
struct Block {
  float *at;
  int64_t stride;

  Block(const Work &work, int64_t row, int64_t rows, int64_t column, int64_t columns, ScratchFrame &frame)
      : at(work.c ? work.c + row * work.ldc + column : frame.take<float>(rows * columns)),
        stride(work.c ? work.ldc : columns) {}
};

/// With a dilated input, pixels at the same place between input pixels meet the same taps, and no
/// others: each such phase is computed beside the result and its rows are copied there.
void convolvePhases(const Work &work, int64_t group, int64_t row, int64_t endRow,
                    int64_t firstPanel, int64_t endPanel) {
  const ConvolutionShape &shape = work.shape;
  ScratchFrame frame;
  int64_t count = endRow - row, phases = product(shape.inputDilation);
  auto *pixels = frame.take<SpreadPixel>(count);
  findSpread(work, row, count, pixels);
  auto *places = frame.take<int64_t>(count);
  auto *taps = frame.take<int32_t>(work.taps);
  auto **rows = frame.take<const float *>(count * work.taps);
  auto *result = frame.take<float>(count * work.cut.columns);
  Epilogue biasOnly;
  biasOnly.bias = work.epilogue.bias;
  RowsTimesPanels part = describe(work, group, firstPanel, endPanel);
  part.rows = rows;
  part.tapIndices = taps;
  part.c = result;
  part.ldc = work.cut.columns;
  part.epilogue = &biasOnly;
  int64_t begin = work.cut.columnOf(firstPanel);
  int64_t end = work.cut.columnOf(endPanel - 1) + work.cut.columnsOf(endPanel - 1);
  Block block(work, row, count, part.column + begin, end - begin, frame);
  for (int64_t phase = 0; phase < phases; ++phase) {
    Spatial place = pixelOf(shape.inputDilation, phase).at;
    int64_t found = 0;
    for (int64_t i = 0; i < count; ++i)
      if (pixels[i].place == place)
        places[found++] = i;
    if (found == 0)
      continue;
    int64_t used = 0;
    for (int64_t tap = 0; tap < work.taps; ++tap) {
      Spatial of = pixelOf(shape.kernel, tap).at;
      bool meets = true;
      for (int d = 0; d < 3; ++d)
        meets = meets && meetingOf(shape, d, place[d], of[d]);
      // Zeros between pixels make a NaN of an infinite weight.
      if (meets || !ConvolutionAccess::isFinite(work.weights))
        taps[used++] = static_cast<int32_t>(tap);
    }
    findRowsOf(work, group, place, pixels, places, found, taps, used, rows);
    part.rowCount = found;
    part.taps = used;
    multiplyRows(work.kernels, part);
    for (int64_t i = 0; i < found; ++i)
      std::memcpy(block.at + places[i] * block.stride, result + i * part.ldc + begin,
                  static_cast<size_t>(end - begin) * sizeof(float));
  }
  work.epilogue.complete(work.kernels, false, block.at, block.stride, row, count, part.column + begin,
                         end - begin);
}

/// Vectors of channels [firstBlock, endBlock) of some pixels, where groups are small.
void convolveGroupsUnit(const Work &work, GroupedFunction function, int64_t row, int64_t endRow,
                        int64_t firstBlock, int64_t endBlock) {
  ScratchFrame frame;
  int64_t count = endRow - row, width = work.kernels.width;
  auto **rows = frame.take<const float *>(count * work.taps);
  findRows(work, 0, row, count, rows);
  Block to(work, row, count, firstBlock * width, (endBlock - firstBlock) * width, frame);
  int64_t perBlock = work.taps * (work.inputs / work.shape.groups) * width;
  for (int64_t block = firstBlock; block < endBlock; ++block) {
    int64_t channel = block * width;
    function({rows, count, channel, work.taps,
              ConvolutionAccess::data(work.weights) + block * perBlock, count,
              to.at + (block - firstBlock) * width, to.stride,
              work.epilogue.bias ? work.epilogue.bias + channel : nullptr});
  }
  work.epilogue.complete(work.kernels, false, to.at, to.stride, row, count, firstBlock * width,
                         (endBlock - firstBlock) * width);
}

/// Without padding or strides the pixels of all images are the rows of a matrix.
bool isProduct(const ConvolutionShape &shape) {
  return shape.groups == 1 && product(shape.kernel) == 1 && shape.output() == shape.input &&
         shape.strides == Spatial{1, 1, 1} && shape.paddingLow == Spatial{} &&
         shape.inputDilation == Spatial{1, 1, 1};
}

} // namespace

void convolvePixels(const PackedConvolution &weights, const Image &image, float *c, int64_t ldc,
                    const Epilogue &epilogue, const Pool &pool, const ByteSides *bytes) {
  const ConvolutionShape &shape = weights.shape();
  if (isProduct(shape)) {
    PanelProduct product{shape.rows(),
                         {image.wide, shape.inputChannels},
                         shape.inputChannels,
                         ConvolutionAccess::cut(weights),
                         ConvolutionAccess::data(weights),
                         0,
                         c,
                         ldc,
                         0,
                         &epilogue};
    product.hasIntegers = shape.hasIntegers;
    product.bytes = bytes;
    product.isImage = true;
    if (shape.hasPairs) {
      product.depth = product.a.rowStride = ConvolutionAccess::roundedChannels(weights);
      product.hasPairs = true;
      product.narrow = image.narrow;
      product.isRounded = !image.narrow;
    }
    multiplyPanels(ConvolutionAccess::kernels(weights), &product, 1, pool);
    return;
  }
  ScratchFrame frame;
  const float *input = shape.hasPairs ? roundedImage(weights, image, frame, pool) : image.wide;
  Work work{weights,
            shape,
            ConvolutionAccess::kernels(weights),
            ConvolutionAccess::cut(weights),
            shape.output(),
            product(shape.kernel),
            shape.inputChannels / shape.groups,
            input,
            nullptr,
            c,
            ldc,
            epilogue,
            bytes};
  GroupedFunction grouped = groupedFunction(shape, work.kernels);
  if (grouped)
    work.inputs = shape.inputChannels; // A row holds all groups.
  auto *zeros = frame.take<float>(work.inputs);
  std::memset(zeros, bytes ? bytes->filler : 0, static_cast<size_t>(work.inputs) * sizeof(float));
  work.zeros = zeros;
  bool isDilated = shape.inputDilation != Spatial{1, 1, 1};
  int64_t rows = shape.rows();
  double nanoseconds = convolutionNanoseconds(shape);
  // Pointers to all taps of a unit's pixels are kept.
  constexpr int64_t kMostPointers = int64_t{1} << 20;
  int64_t mostRows =
      std::clamp<int64_t>(kMostPointers / std::max<int64_t>(1, work.taps), 8, 128);
  int64_t groups = grouped ? 1 : shape.groups;
  int64_t panels = grouped ? shape.outputChannels / work.kernels.width : work.cut.count;
  UnitGrid grid = planUnits(rows, mostRows, panels, groups,
                            pool.threadsFor(nanoseconds), nanoseconds);
  grid.rowsFirst = keepsLines(grid, pool.threadsFor(nanoseconds), work.taps * shape.inputChannels / groups, shape.outputChannels);
  int64_t units = grid.count() * groups;
  pool.parallelFor(units, nanoseconds / static_cast<double>(units), [&](int64_t unit) {
    int64_t group = unit % groups, part = unit / groups;
    int64_t panelPart = grid.panelPartOf(part), rowPart = grid.rowPartOf(part);
    int64_t row = rows * rowPart / grid.rowParts, endRow = rows * (rowPart + 1) / grid.rowParts;
    int64_t first = panels * panelPart / grid.panelParts;
    int64_t end = panels * (panelPart + 1) / grid.panelParts;
    if (grouped)
      convolveGroupsUnit(work, grouped, row, endRow, first, end);
    else if (isDilated)
      convolvePhases(work, group, row, endRow, first, end);
    else
      convolveUnit(work, group, row, endRow, first, end);
  });
}

} // namespace cupel::kernels
