#include "cupel/tensor/Npy.h"

#include "cupel/support/Files.h"
#include "cupel/tensor/ConvertElement.h"

#include <bit>
#include <cctype>
#include <cstring>

static_assert(std::endian::native == std::endian::little, "files are little-endian");

namespace cupel::tensor {
namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicSize = 6;
constexpr size_t kMaxHeader = size_t{1} << 20; // NumPy's own limit is 10,000
constexpr size_t kMaxRank = 64;                // NumPy's limit

/// What the header's dictionary says.
struct Header {
  std::string descr;
  bool fortranOrder = false;
  Shape shape;
  std::optional<DType> comment; // the type named behind the dictionary
};

/// Reads the one Python dictionary that .npy headers consist of, and nothing else of Python.
class HeaderParser {
public:
  explicit HeaderParser(std::string_view text) : text(text) {}

  Result<Header> parse() {
    Header header;
    bool seen[3] = {};
    if (!take('{'))
      return wrong("it does not start with {");
    while (!take('}')) {
      std::optional<std::string> key = string();
      if (!key || !take(':'))
        return wrong("expected a key in quotes and a colon");
      int which = *key == "descr" ? 0 : *key == "fortran_order" ? 1 : *key == "shape" ? 2 : -1;
      if (which < 0 || seen[which])
        return wrong("the key '" + printable(*key) + "' is unknown or repeated");
      seen[which] = true;
      std::string problem = which == 0   ? readDescr(header)
                            : which == 1 ? readOrder(header)
                                         : readShape(header);
      if (!problem.empty())
        return wrong(problem);
      if (!take(',') && peek() != '}')
        return wrong("expected a comma or }");
    }
    if (!seen[0] || !seen[1] || !seen[2])
      return wrong("it lacks one of descr, fortran_order and shape");
    if (take('#'))
      header.comment = parseDType(word());
    else if (peek() != '\0')
      return wrong("something follows the dictionary");
    return header;
  }

private:
  Error wrong(const std::string &what) const {
    return {"the header is no NumPy array header: " + what + " (near byte " +
            std::to_string(position) + ")"};
  }
  void skipSpace() {
    while (position < text.size() &&
           (text[position] == ' ' || text[position] == '\t' || text[position] == '\n'))
      ++position;
  }
  char peek() {
    skipSpace();
    return position < text.size() ? text[position] : '\0';
  }
  bool take(char c) {
    if (position >= text.size() || peek() != c || position >= text.size())
      return false;
    ++position;
    return true;
  }
  std::string word() {
    skipSpace();
    size_t start = position;
    while (position < text.size() && (std::isalnum(static_cast<unsigned char>(text[position]))))
      ++position;
    return std::string(text.substr(start, position - start));
  }
  std::optional<std::string> string() {
    char quote = peek();
    if (quote != '\'' && quote != '"')
      return std::nullopt;
    size_t end = text.find(quote, position + 1);
    if (end == std::string_view::npos)
      return std::nullopt;
    std::string value(text.substr(position + 1, end - position - 1));
    position = end + 1;
    return value;
  }

  std::string readDescr(Header &header) {
    if (peek() == '[')
      return "structured arrays (several fields an element) are not tensors";
    std::optional<std::string> value = string();
    if (!value)
      return "descr is not a type in quotes";
    header.descr = printable(*value);
    return "";
  }
  std::string readOrder(Header &header) {
    std::string value = word();
    header.fortranOrder = value == "True";
    return value == "True" || value == "False" ? "" : "fortran_order is neither True nor False";
  }
  std::string readShape(Header &header) {
    if (!take('('))
      return "the shape is not in parentheses";
    while (!take(')')) {
      peek();
      int64_t size = 0;
      size_t digits = 0;
      for (; position < text.size() && std::isdigit(static_cast<unsigned char>(text[position]));
           ++position, ++digits)
        if (__builtin_mul_overflow(size, int64_t{10}, &size) ||
            __builtin_add_overflow(size, int64_t{text[position] - '0'}, &size))
          return "a size of the shape is beyond 64 bits";
      if (digits == 0)
        return "a size of the shape is not a number";
      if (position < text.size() && text[position] == 'L') // Python 2 wrote 3L
        ++position;
      header.shape.push_back(size);
      if (header.shape.size() > kMaxRank)
        return "the shape has more than " + std::to_string(kMaxRank) + " dimensions";
      if (!take(',') && peek() != ')')
        return "expected a comma or ) in the shape";
    }
    return "";
  }

  std::string_view text;
  size_t position = 0;
};

/// A type as NumPy spells it, without the byte order.
struct NamedType {
  const char *descr;
  DType type;
};
constexpr NamedType kTypes[] = {
    {"b1", DType::I1},  {"i1", DType::I8},    {"i2", DType::I16},    {"i4", DType::I32},
    {"i8", DType::I64}, {"u1", DType::U8},    {"u2", DType::U16},    {"u4", DType::U32},
    {"u8", DType::U64}, {"f2", DType::F16},   {"f4", DType::F32},    {"f8", DType::F64},
    {"c8", DType::C64}, {"c16", DType::C128}, {"f1", DType::F8E5M2}, // as ml_dtypes registers it;
                                                                     // NumPy itself cannot read it
                                                                     // back
};

bool isSmallInteger(DType type) { return isInteger(type) && info(type).bits < 8; }

/// What an array's elements are, or why this cannot be said.
Result<DType> resolveType(const Header &header, std::optional<DType> expected) {
  std::string_view name = header.descr;
  if (!name.empty() && std::string_view("<>|=").find(name[0]) != std::string_view::npos)
    name.remove_prefix(1);
  std::optional<DType> wanted = header.comment ? header.comment : expected;
  for (const NamedType &known : kTypes)
    if (name == known.descr) {
      bool bytes = known.type == DType::I8 || known.type == DType::U8;
      if (bytes && wanted && isSmallInteger(*wanted) && info(*wanted).kind == info(known.type).kind)
        return *wanted;
      return known.type;
    }
  if (name == "V1" || name == "V2") {
    if (wanted && info(*wanted).bytes == name[1] - '0' && *wanted != DType::I1)
      return *wanted;
    if (name == "V2" && !wanted)
      return DType::BF16;
    if (wanted)
      return Error{"the elements are raw bytes (" + header.descr + "), not " +
                   std::string(info(*wanted).name)};
    return Error{"the elements are raw bytes (" + header.descr +
                 ") as ml_dtypes writes every 8-bit float and small integer; say which type is "
                 "expected, or save as safetensors"};
  }
  if (name.starts_with("O"))
    return Error{"the array holds Python objects; these are never loaded"};
  return Error{"elements of type '" + header.descr + "' have no tensor type"};
}

/// Floats of which some bytes are none: the upper bits must be zero.
bool isSmallFloat(DType type) { return isFloat(type) && info(type).bits < 8; }

/// Sub-byte integers as NumPy or ml_dtypes left them, in the form we keep. False if one is too
/// large: ml_dtypes keeps the upper bits zero or the sign, nothing else.
bool normalizeSmall(DType type, std::byte *data, int64_t count) {
  bool fits = true;
  if (isSmallFloat(type))
    return std::all_of(data, data + count, [&](std::byte b) {
      return static_cast<unsigned>(b) >> info(type).bits == 0;
    });
  dispatch(type, [&]<DType t>() {
    if constexpr (isInteger(t) && info(t).bits < 8)
      for (int64_t i = 0; i < count; ++i) {
        auto raw = static_cast<uint8_t>(data[i]);
        auto value = static_cast<uint8_t>(wrap<t>(raw));
        fits &= value == raw || (raw >> info(t).bits) == 0;
        data[i] = static_cast<std::byte>(value);
      }
  });
  return fits;
}

void swapBytes(DType type, std::byte *data, int64_t count) {
  int size = info(type).bytes / (isComplex(type) ? 2 : 1);
  int64_t parts = count * (isComplex(type) ? 2 : 1);
  for (int64_t i = 0; i < parts; ++i)
    std::reverse(data + i * size, data + (i + 1) * size);
}

bool hasOtherThanZeroAndOne(const std::byte *data, int64_t count) {
  unsigned seen = 0;
  for (int64_t i = 0; i < count; ++i)
    seen |= static_cast<unsigned>(data[i]);
  return seen > 1;
}

/// How a type is written: its NumPy spelling, and whether that loses the type.
std::pair<std::string, bool> descrOf(DType type) {
  if (isSmallInteger(type))
    return {info(type).kind == Kind::Signed ? "|i1" : "|u1", true};
  if (isNarrowFloat(type) && type != DType::F16)
    return {info(type).bytes == 2 ? "<V2" : "|V1", true};
  for (const NamedType &known : kTypes)
    if (known.type == type)
      return {(info(type).bytes == 1 ? "|" : "<") + std::string(known.descr), false};
  return {"", true};
}

} // namespace

Result<Tensor> parseNpy(const SharedBytes &file, const std::string &name,
                        std::optional<DType> expected) {
  auto wrong = [&](const std::string &what) { return Error{name + ": " + what}; };
  const auto *bytes = reinterpret_cast<const unsigned char *>(file.bytes.data());
  size_t size = file.bytes.size();
  if (size < kMagicSize + 4 || std::memcmp(bytes, kMagic, kMagicSize) != 0)
    return wrong("is no .npy file (it does not start with \\x93NUMPY)");
  int version = bytes[6];
  if (version < 1 || version > 3)
    return wrong("is a .npy file of version " + std::to_string(version) + "; 1, 2 and 3 are known");
  size_t lengthBytes = version == 1 ? 2 : 4, headerAt = kMagicSize + 2 + lengthBytes;
  if (size < headerAt)
    return wrong("is cut off inside its header");
  size_t length = 0;
  for (size_t i = lengthBytes; i-- > 0;)
    length = length << 8 | bytes[kMagicSize + 2 + i];
  if (length > kMaxHeader)
    return wrong("claims a header of " + std::to_string(length) + " bytes, at most " +
                 std::to_string(kMaxHeader) + " are read");
  if (length > size - headerAt)
    return wrong("is cut off inside its header (" + std::to_string(length) + " bytes claimed, " +
                 std::to_string(size - headerAt) + " there)");
  std::string_view text(reinterpret_cast<const char *>(bytes + headerAt), length);
  Result<Header> header = HeaderParser(text).parse();
  if (!header)
    return wrong(header.message());
  Result<DType> type = resolveType(*header, expected);
  if (!type)
    return wrong(type.message());

  std::optional<int64_t> needed = byteCount(*type, header->shape);
  size_t dataAt = headerAt + length;
  if (!needed || static_cast<size_t>(*needed) > size - dataAt)
    return wrong("is cut off or its header lies: " + describe(*type, header->shape) + " needs " +
                 (needed ? std::to_string(*needed) : "more than 2^63") + " bytes, " +
                 std::to_string(size - dataAt) + " are there");
  SharedBytes data = file.part(dataAt, static_cast<size_t>(*needed));
  Shape shape = header->shape;
  if (header->fortranOrder)
    std::reverse(shape.begin(), shape.end());

  int64_t count = *elementCount(shape);
  bool isSwapped = header->descr.starts_with(">") && info(*type).bytes > 1;
  bool isBoolean = *type == DType::I1;
  bool mustCopy = isSwapped || isSmallInteger(*type) || isSmallFloat(*type) ||
                  !Tensor::isAligned(*type, data.bytes.data()) ||
                  (isBoolean && hasOtherThanZeroAndOne(data.bytes.data(), count));
  Result<Tensor> result = mustCopy ? Tensor::uninitialized(*type, shape)
                                   : Tensor::borrow(*type, shape, data.bytes, data.owner);
  if (!result)
    return wrong(result.message());
  if (mustCopy) {
    std::byte *target = result->mutableData();
    if (*needed > 0)
      std::memcpy(target, data.bytes.data(), static_cast<size_t>(*needed));
    if (isSwapped)
      swapBytes(*type, target, count);
    if (isBoolean) // NumPy takes every byte but 0 for True
      for (int64_t i = 0; i < count; ++i)
        target[i] = target[i] == std::byte{0} ? std::byte{0} : std::byte{1};
    if ((isSmallInteger(*type) || isSmallFloat(*type)) && !normalizeSmall(*type, target, count))
      return wrong("holds a value that does not fit " + std::string(info(*type).name));
  }
  if (!header->fortranOrder)
    return result;
  std::vector<int64_t> turned(shape.size());
  for (size_t i = 0; i < turned.size(); ++i)
    turned[i] = static_cast<int64_t>(turned.size() - 1 - i);
  return result->transposed(turned);
}

Result<Tensor> readNpy(const std::string &path, std::optional<DType> expected) {
  Result<SharedBytes> file = mapFile(path);
  if (!file)
    return file.error();
  return parseNpy(*file, displayName(path), expected);
}

std::string npyHeader(const Tensor &tensor) {
  auto [descr, losesType] = descrOf(tensor.dtype());
  std::string text = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (";
  for (int64_t i = 0; i < tensor.rank(); ++i)
    text += (i > 0 ? " " : "") + std::to_string(tensor.dim(i)) + ",";
  if (tensor.rank() > 1)
    text.pop_back();
  text += "), }";
  if (losesType)
    text += " # " + std::string(info(tensor.dtype()).name);
  // The data start at a multiple of 64; the header ends in a line feed.
  size_t prefix = kMagicSize + 4, total = (prefix + text.size() + 1 + 63) / 64 * 64;
  text.resize(total - prefix - 1, ' ');
  text += '\n';
  std::string out(kMagic, kMagicSize);
  out += {'\1', '\0', static_cast<char>(text.size() & 255), static_cast<char>(text.size() >> 8)};
  return out + text;
}

Status writeNpy(const std::string &path, const Tensor &tensor) {
  Result<Tensor> flat = tensor.contiguous();
  if (!flat)
    return flat.error().within(displayName(path));
  if (tensor.rank() > static_cast<int64_t>(kMaxRank))
    return Error{displayName(path) + ": NumPy arrays have at most " + std::to_string(kMaxRank) +
                 " dimensions, not " + std::to_string(tensor.rank())};
  std::string header = npyHeader(*flat);
  std::string_view pieces[] = {
      header,
      {reinterpret_cast<const char *>(flat->data()), static_cast<size_t>(flat->byteSize())}};
  return writeOutput(path, pieces);
}

} // namespace cupel::tensor
