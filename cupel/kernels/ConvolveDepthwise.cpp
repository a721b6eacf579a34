#include "cupel/kernels/ConvolutionAccess.h"
#include "cupel/kernels/Scratch.h"

#include <algorithm>
#include <optional>

namespace cupel::kernels {
namespace {

/// One call of convolveDepthwise. Channels are those of the result, of which several may be made of one of the image: then, and where the image is
/// rounded, a part of it lies in memory as the channels of the result have it. Columns of the kernel that lie in padding are left out; where
/// that is not allowed, or the input is dilated and the kernel too, or has strides, taps are gathered one by one.
struct Work {
  const ConvolutionShape &shape;
  const KernelTable &kernels;
  Spatial output;
  const float *weights;
  const float *zeros; // For padding that has to be multiplied, else null.
  const void *input; // From `firstLine` on, whose pixels are `pitch` apart.
  int64_t firstLine, pitch;
  int64_t ldc;
  const float *bias;    // Or null.
  const Finish *finish; // Or null.
  bool isNarrow = false; // The input is in bf16, else in f32.
  DepthwiseFunction line = nullptr; // For whole lines of at least a vector of channels, or null.

  /// Element `index` behind one of the input.
  const void *behind(const void *element, int64_t index) const {
    if (isNarrow)
      return static_cast<const uint16_t *>(element) + index;
    return static_cast<const float *>(element) + index;
  }
};

const float *from(const float *columns, int64_t first) { return columns ? columns + first : nullptr; }

/// A line of the result.
class Line {
public:
  Line(const Work &work, int64_t index, float *c, ScratchFrame &frame)
      : work(work), shape(work.shape), pixel(pixelOf(work.output, index * work.output[2])),
        c(c), row(index * work.output[2]) {
    int64_t most = shape.kernel[0] * shape.kernel[1];
    starts = frame.take<const void *>(most);
    moved = frame.take<const void *>(most);
    weights = frame.take<const float *>(most);
    movedWeights = frame.take<const float *>(most);
    for (int64_t z = 0; z < shape.kernel[0]; ++z)
      for (int64_t y = 0; y < shape.kernel[1]; ++y) {
        int64_t fromZ = inputPosition(shape, 0, pixel.at[0], z);
        int64_t fromY = inputPosition(shape, 1, pixel.at[1], y);
        if (fromZ < 0 || fromY < 0)
          continue;
        int64_t line = (pixel.image * shape.input[0] + fromZ) * shape.input[1] + fromY;
        starts[lines] = work.behind(work.input, (line - work.firstLine) * shape.input[2] * work.pitch);
        weights[lines++] =
            work.weights + (z * shape.kernel[1] + y) * shape.kernel[2] * shape.outputChannels;
      }
  }

  /// Some channels, of which the first lies at `place` in a pixel of the input.
  void compute(int64_t first, int64_t count, int64_t place) {
    firstChannel = first;
    inputChannel = place;
    channelCount = count;
    if (work.line && count >= work.kernels.width)
      return computeLine();
    // Pixels whose taps are all inside the line are [begin, end).
    int64_t stride = shape.strides[2], low = shape.paddingLow[2], width = work.output[2];
    int64_t covered = (shape.kernel[2] - 1) * shape.kernelDilation[2] + 1;
    int64_t last = shape.input[2] - covered + low;
    int64_t begin = std::clamp<int64_t>((low + stride - 1) / stride, 0, width);
    int64_t end = std::clamp<int64_t>(last < 0 ? 0 : last / stride + 1, begin, width);
    for (int64_t x = 0; x < begin; ++x)
      computePart(x);
    if (begin < end)
      computeSpan(begin, end - begin, 0, shape.kernel[2]);
    for (int64_t x = end; x < width; ++x)
      computePart(x);
  }

  /// Of an image with zeros between the pixels of its lines: pixels of the result that are as far apart meet the same columns of the kernel, and
  /// pixels of the image side by side.
  void computePhases(int64_t first, int64_t count, int64_t place) {
    firstChannel = first;
    inputChannel = place;
    channelCount = count;
    const int64_t step = shape.inputDilation[2], low = shape.paddingLow[2], width = work.output[2], inputs = shape.input[2];
    for (int64_t phase = 0; phase < std::min(step, width); ++phase) {
      const int64_t column = ((low - phase) % step + step) % step, pixels = (width - phase - 1) / step + 1;
      const int64_t taps = column < shape.kernel[2] ? (shape.kernel[2] - column - 1) / step + 1 : 0;
      const int64_t at = (phase - low + column) / step; // Where the first of them lies in the image.
      const int64_t begin = std::clamp<int64_t>(-at, 0, pixels), end = std::clamp<int64_t>(inputs - taps - at + 1, begin, pixels);
      auto part = [&](int64_t i) {
        int64_t from = std::clamp<int64_t>(-(at + i), 0, taps), to = std::clamp<int64_t>(inputs - at - i, from, taps);
        computeApart(phase + i * step, 1, at + i + from, column + from * step, to - from);
      };
      for (int64_t i = 0; i < begin; ++i)
        part(i);
      if (begin < end)
        computeApart(phase + begin * step, end - begin, at + begin, column, taps);
      for (int64_t i = end; i < pixels; ++i)
        part(i);
    }
  }

  /// With the zeros between and around pixels.
  void computeTapByTap(int64_t first, int64_t count, int64_t channelPlace) {
    ScratchFrame frame;
    int64_t channels = shape.outputChannels, taps = shape.kernel[0] * shape.kernel[1] * shape.kernel[2];
    auto **inputs = frame.take<const void *>(taps);
    auto **factors = frame.take<const float *>(taps);
    for (int64_t x = 0; x < work.output[2]; ++x) {
      int64_t used = 0;
      for (int64_t tap = 0; tap < taps; ++tap) {
        Spatial of = pixelOf(shape.kernel, tap).at;
        int64_t place = pixel.image;
        bool isInside = true;
        for (int d = 0; d < 3; ++d) {
          int64_t at = inputPosition(shape, d, d == 2 ? x : pixel.at[d], of[d]);
          isInside = isInside && at >= 0;
          place = place * shape.input[d] + at;
        }
        if (!isInside && !work.zeros)
          continue;
        place -= work.firstLine * shape.input[2];
        inputs[used] = isInside ? work.behind(work.input, place * work.pitch + channelPlace) : work.zeros;
        factors[used++] = work.weights + tap * channels + first;
      }
      // Every tap is a line of its own.
      work.kernels.depthwise[work.isNarrow]({inputs, factors, used, 1, 0, 0, 0, 1, count,
                              c + x * work.ldc + first, work.ldc,
                              from(work.bias, first), work.finish, row + x, first});
    }
  }

private:
  /// With what lies beside it.
  void computeLine() {
    for (int64_t i = 0; i < lines; ++i) {
      moved[i] = work.behind(starts[i], inputChannel);
      movedWeights[i] = weights[i] + firstChannel;
    }
    work.line({moved, movedWeights, lines, shape.kernel[2], shape.outputChannels,
               shape.strides[2] * work.pitch, work.pitch, work.output[2], channelCount,
               c + firstChannel, work.ldc, from(work.bias, firstChannel), work.finish, row,
               firstChannel, -shape.paddingLow[2], shape.input[2]});
  }

  /// A pixel at the edge: the columns of the kernel that are inside.
  void computePart(int64_t x) {
    int64_t first = x * shape.strides[2] - shape.paddingLow[2], step = shape.kernelDilation[2];
    int64_t begin = first >= 0 ? 0 : (-first + step - 1) / step;
    int64_t left = shape.input[2] - first;
    int64_t end = left <= 0 ? 0 : (left + step - 1) / step;
    begin = std::min(begin, shape.kernel[2]);
    computeSpan(x, 1, begin, std::clamp(end, begin, shape.kernel[2]));
  }

  void computeSpan(int64_t x, int64_t pixels, int64_t firstColumn, int64_t endColumn) {
    int64_t channels = shape.outputChannels, step = shape.kernelDilation[2];
    int64_t place = x * shape.strides[2] - shape.paddingLow[2] + firstColumn * step;
    // Without a column there is no place in the input to point to.
    int64_t used = firstColumn < endColumn ? lines : 0;
    for (int64_t i = 0; i < used; ++i) {
      moved[i] = work.behind(starts[i], place * work.pitch + inputChannel);
      movedWeights[i] = weights[i] + firstColumn * channels + firstChannel;
    }
    work.kernels.depthwise[work.isNarrow](
        {moved, movedWeights, used, endColumn - firstColumn, channels,
         shape.strides[2] * work.pitch, step * work.pitch, pixels, channelCount,
         c + x * work.ldc + firstChannel, work.ldc, from(work.bias, firstChannel), work.finish,
         row + x, firstChannel});
  }

  /// Pixels of the result, and columns of the kernel, that are as far apart as those of the image.
  void computeApart(int64_t x, int64_t pixels, int64_t place, int64_t column, int64_t columns) {
    const int64_t channels = shape.outputChannels, step = shape.inputDilation[2], used = columns > 0 ? lines : 0;
    for (int64_t i = 0; i < used; ++i) {
      moved[i] = work.behind(starts[i], place * work.pitch + inputChannel);
      movedWeights[i] = weights[i] + column * channels + firstChannel;
    }
    Finish finish;
    if (work.finish) { // Which counts rows: only these.
      finish = *work.finish;
      if (finish.rows)
        finish.rows += (row + x) * finish.rowStride;
      if (finish.narrowRows)
        finish.narrowRows += (row + x) * finish.rowStride;
      if (finish.narrow)
        finish.narrow += (row + x) * finish.narrowStride;
      finish.rowStride *= step;
      finish.narrowStride *= step;
    }
    work.kernels.depthwise[work.isNarrow](
        {moved, movedWeights, used, columns, step * channels, work.pitch, work.pitch, pixels, channelCount, c + x * work.ldc + firstChannel,
         step * work.ldc, from(work.bias, firstChannel), work.finish ? &finish : nullptr, 0, firstChannel});
  }

  const Work &work;
  const ConvolutionShape &shape;
  Pixel pixel;
  float *c;
  int64_t row; // Of the result: the line's first pixel.
  int64_t firstChannel = 0, inputChannel = 0, channelCount = 0;
  int64_t lines = 0; // Of the kernel that meet the input.
  const void **starts, **moved;
  const float **weights, **movedWeights;
};

constexpr int64_t kMostBandLines = 8;

/// A unit is some lines and some channels.
struct Bands {
  int64_t count, channelParts;
  int64_t block; // Channels that are computed for all lines of a unit before the next ones.
  int64_t channels, width;

  /// On a vector.
  int64_t startOf(int64_t part) const {
    int64_t vectors = (channels + width - 1) / width;
    return std::min(channels, vectors * part / channelParts * width);
  }
};

/// What computes whole lines, if something does: zeros beside them may be multiplied with weights
/// that are finite.
DepthwiseFunction lineFunction(const ConvolutionShape &shape, const KernelTable &kernels,
                               bool isFinite, bool isNarrow) {
  int64_t which = (shape.kernel[2] - 3) / 2, stride = shape.strides[2];
  bool isKnown = shape.kernel[2] >= 3 && shape.kernel[2] % 2 == 1 && which < kDepthwiseColumns &&
                 stride <= kMostDepthwiseStride;
  if (!isFinite || !isKnown || shape.inputDilation != Spatial{1, 1, 1} ||
      shape.kernelDilation[2] != 1)
    return nullptr;
  return kernels.depthwiseLine[isNarrow][which][stride - 1];
}

Bands planBands(const Work &work, bool isCopied, bool hasFunction, int threads) {
  constexpr int64_t kCacheFloats = 4096; // Of the first level, for what is used again.
  int64_t width = work.kernels.width, channels = work.shape.outputChannels;
  int64_t lines = work.shape.rows() / work.output[2];
  Bands bands{(lines + kMostBandLines - 1) / kMostBandLines, 1, 0, channels, width};
  int64_t wanted = threads > 1 ? int64_t{4} * threads : 1;
  constexpr int64_t kFewLines = 6;
  if (threads > 1 &&
      lines >= 3 * threads) { // As many for each thread, all channels of them: pieces of lines
                              // would lie in other threads' caches by turns.
    bands.count = (bands.count + threads - 1) / threads * threads;
    if (lines >= kFewLines * bands.count)
      bands.count *= 2;
  } else if (bands.count < wanted)
    bands.channelParts = std::clamp<int64_t>((wanted + bands.count - 1) / bands.count, 1,
                                             std::max<int64_t>(1, channels / (2 * width)));
  // Along long lines small kernels go through memory in its order, unless a function is to find what they made in the cache. Else it is
  // what lines of the image are used for again that stays there, or what they are once they are copied.
  bool isInOrder = !isCopied && work.line && work.output[2] > kMostShortPixels;
  int64_t kept = std::max<int64_t>(1, isInOrder ? work.output[2] : work.shape.input[2] * work.shape.kernel[1]);
  bands.block = isInOrder && !hasFunction ? std::max<int64_t>(1, channels) : std::max<int64_t>(1, kCacheFloats / kept / width) * width;
  return bands;
}

/// Lines of the input.
struct LineRange {
  int64_t first = 0, end = 0;
};

/// Those that lines [first, end) of the result are made of, and what lies between them.
LineRange inputLinesOf(const ConvolutionShape &shape, const Spatial &output, int64_t first, int64_t end) {
  LineRange found;
  for (int64_t i = first; i < end; ++i) {
    Pixel pixel = pixelOf(output, i * output[2]);
    for (int64_t tap = 0; tap < shape.kernel[0] * shape.kernel[1]; ++tap) {
      int64_t z = inputPosition(shape, 0, pixel.at[0], tap / shape.kernel[1]);
      int64_t y = inputPosition(shape, 1, pixel.at[1], tap % shape.kernel[1]);
      if (z < 0 || y < 0)
        continue;
      int64_t line = (pixel.image * shape.input[0] + z) * shape.input[1] + y;
      found.first = found.end == 0 ? line : std::min(found.first, line);
      found.end = std::max(found.end, line + 1);
    }
  }
  return found;
}

/// Some channels of lines of an image that is rounded on its way, in f32.
void roundLines(const Work &work, const Image &image, LineRange lines, int64_t channel, int64_t count, float *to, int64_t pitch) {
  int64_t channels = work.shape.inputChannels, width = work.shape.input[2];
  int64_t pixels = (lines.end - lines.first) * width, first = lines.first * width * channels + channel;
  if (image.narrow)
    return work.kernels.widenRows(image.narrow + first, channels, pixels, count, to, pitch);
  for (int64_t i = 0; i < pixels; ++i)
    work.kernels.roundFloats(image.wide + first + i * channels, count, to + i * pitch);
}

/// `count` channels of a result from channel `first` of it on, each as it is in `from`, where the channel of the image lies that the first of them is made of.
void repeatChannels(const float *from, int64_t fromPitch, int64_t pixels, int64_t first, int64_t count, int64_t repeats, float *to, int64_t pitch) {
  const int64_t skipped = first % repeats;
  for (int64_t pixel = 0; pixel < pixels; ++pixel, from += fromPitch, to += pitch) {
    if (repeats == 2 && skipped == 0 && count % 2 == 0) { // As most networks have it, without a loop for each.
      for (int64_t i = 0; i < count / 2; ++i)
        to[2 * i] = to[2 * i + 1] = from[i];
      continue;
    }
    const float *next = from;
    for (int64_t i = 0, run = repeats - skipped; i < count; i += run, run = repeats)
      std::fill_n(to + i, std::min(run, count - i), *next++);
  }
}

/// Where a part of an image lies that is not read as it is: lines of it, some channels of the result at a time.
class Copy {
public:
  Copy(const Work &work, const Image &image, LineRange lines, int64_t mostChannels, bool isRounded, ScratchFrame &frame)
      : work(work), image(image), lines(lines), repeats(work.shape.outputChannels / work.shape.inputChannels), pitch(mostChannels),
        isRounded(isRounded), pixels((lines.end - lines.first) * work.shape.input[2]), copy(frame.take<float>(pixels * pitch)) {
    if (isRounded && repeats > 1)
      aside = frame.take<float>(pixels * (pitch / repeats + 2));
  }

  const float *data() const { return copy; }

  void fill(int64_t channel, int64_t count) {
    if (repeats == 1)
      return roundLines(work, image, lines, channel, count, copy, pitch);
    const int64_t first = channel / repeats, inputs = (channel + count - 1) / repeats + 1 - first;
    if (isRounded)
      roundLines(work, image, lines, first, inputs, aside, inputs);
    const int64_t fromPitch = isRounded ? inputs : work.shape.inputChannels;
    const float *from = isRounded ? aside : image.wide + lines.first * work.shape.input[2] * fromPitch + first;
    repeatChannels(from, fromPitch, pixels, channel, count, repeats, copy, pitch);
  }

private:
  const Work &work;
  const Image &image;
  LineRange lines;
  int64_t repeats, pitch;
  bool isRounded;
  int64_t pixels;
  float *copy, *aside = nullptr;
};

} // namespace

void convolveDepthwise(const PackedConvolution &weights, const Image &image, float *c, int64_t ldc,
                       const Epilogue &epilogue, const Pool &pool) {
  const ConvolutionShape &shape = weights.shape();
  ScratchFrame frame;
  Work work{shape, ConvolutionAccess::kernels(weights), shape.output(),
            ConvolutionAccess::data(weights), nullptr, image.wide, 0, shape.inputChannels, ldc, epilogue.bias, epilogue.finish};
  bool isFinite = ConvolutionAccess::isFinite(weights);
  // Numbers that pixels side by side share are widened once for all of them.
  const bool areRepeated = shape.outputChannels != shape.inputChannels;
  work.isNarrow = image.narrow && !areRepeated && lineFunction(shape, work.kernels, isFinite, true);
  work.line = lineFunction(shape, work.kernels, isFinite, work.isNarrow);
  if (work.isNarrow)
    work.input = image.narrow;
  // For others a part that stays in the cache is rounded, or widened, at a time.
  bool isRounded = !work.isNarrow && ConvolutionAccess::roundedChannels(weights) > 0, isCopied = isRounded || areRepeated;
  if (!isFinite) {
    auto *zeros = frame.take<float>(shape.outputChannels);
    std::fill_n(zeros, shape.outputChannels, 0.0f);
    work.zeros = zeros;
  }
  const bool takesUnits = !c && epilogue.takesUnits;
  const bool areApart = shape.inputDilation[2] != 1;
  bool isTapByTap = !isFinite || (areApart && (shape.strides[2] != 1 || shape.kernelDilation[2] != 1));
  Bands bands = planBands(work, isCopied, epilogue.function, pool.threads());
  int64_t width = work.output[2], lines = shape.rows() / width;
  // A channel's tap costs as much as loading it.
  double nanoseconds = convolutionNanoseconds(shape) * 3;
  int64_t units = bands.count * bands.channelParts;
  pool.parallelFor(units, nanoseconds / static_cast<double>(units), [&](int64_t unit) {
    int64_t band = unit / bands.channelParts, part = unit % bands.channelParts;
    int64_t first = lines * band / bands.count, end = lines * (band + 1) / bands.count;
    int64_t firstChannel = bands.startOf(part), endChannel = bands.startOf(part + 1);
    ScratchFrame inner;
    // What nobody keeps lies by itself.
    float *rows = c ? c + first * width * ldc
                    : inner.take<float>((end - first) * width * shape.outputChannels);
    Work mine = work;
    if (!c)
      mine.ldc = shape.outputChannels;
    std::optional<Copy> copy;
    if (isCopied) {
      LineRange needed = inputLinesOf(shape, work.output, first, end);
      mine.firstLine = needed.first;
      mine.pitch = std::min(bands.block, endChannel - firstChannel);
      copy.emplace(work, image, needed, mine.pitch, isRounded, inner);
      mine.input = copy->data();
    }
    // What others made comes from their caches, line by line as it is asked for: all of it is asked
    // for at once.
    if (!isCopied && pool.isAtEdge(unit, units)) {
      LineRange all = inputLinesOf(shape, work.output, first, end);
      int64_t lineFloats = shape.input[2] * shape.inputChannels, size = work.isNarrow ? 2 : 4;
      fetchNear(work.behind(work.input, all.first * lineFloats),
                (all.end - all.first) * lineFloats * size);
    }
    std::optional<Line> line[kMostBandLines];
    for (int64_t i = first; i < end; ++i)
      line[i - first].emplace(mine, i, rows + (i - first) * width * mine.ldc, inner);
    // Rather a vector once more than a part of one.
    auto startOf = [&](int64_t channel) {
      return std::max(firstChannel, std::min(channel, endChannel - work.kernels.width));
    };
    // A few channels of all lines, so that what lines share of the input is still in the cache.
    for (int64_t channel = firstChannel; channel < endChannel; channel += bands.block) {
      int64_t after = std::min(channel + bands.block, endChannel), start = startOf(channel);
      // What is computed once more is finished then.
      int64_t finished = after < endChannel ? startOf(after) : endChannel;
      if (isCopied)
        copy->fill(start, after - start);
      int64_t place = isCopied ? 0 : start;
      for (int64_t i = 0; i < end - first; ++i) {
        if (isTapByTap)
          line[i]->computeTapByTap(start, after - start, place);
        else if (areApart)
          line[i]->computePhases(start, after - start, place);
        else
          line[i]->compute(start, after - start, place);
        // While the line is in the nearest cache.
        if (epilogue.function && !takesUnits)
          epilogue.function(epilogue.operands, rows + i * width * mine.ldc + start, mine.ldc,
                            (first + i) * width, width, start, finished - start);
      }
      if (epilogue.function && takesUnits)
        epilogue.function(epilogue.operands, rows + start, mine.ldc, first * width, (end - first) * width, start, finished - start);
    }
  });
}

} // namespace cupel::kernels
