#include "cupel/tensor/Zip.h"

#include "cupel/support/Files.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <zlib.h>

namespace cupel::tensor {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50,
                   kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr uint64_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56,
                   kLocatorSize = 20;
constexpr uint16_t kStored = 0, kDeflated = 8;
constexpr uint16_t kZip64Extra = 0x0001, kAlignmentExtra = 0xd935;
/// No deflate stream grows more than this: what claims to is refused before memory is asked for.
constexpr uint64_t kMaxExpansion = 1032;

class Bytes {
public:
  explicit Bytes(std::span<const std::byte> bytes) : bytes(bytes) {}
  uint64_t size() const { return bytes.size(); }
  bool has(uint64_t offset, uint64_t count) const {
    return offset <= bytes.size() && count <= bytes.size() - offset;
  }
  /// Little-endian; the caller has checked that it is there.
  uint64_t number(uint64_t offset, int count) const {
    uint64_t value = 0;
    for (int i = count; i-- > 0;)
      value = value << 8 | static_cast<uint8_t>(bytes[offset + i]);
    return value;
  }
  std::string text(uint64_t offset, uint64_t count) const {
    return {reinterpret_cast<const char *>(bytes.data()) + offset, count};
  }

private:
  std::span<const std::byte> bytes;
};

struct Directory {
  uint64_t offset = 0, size = 0, entries = 0;
};

Result<Directory> findDirectory(const Bytes &file) {
  if (file.size() < kEndSize)
    return Error{"is no zip archive: too short"};
  uint64_t lowest = file.size() - std::min(file.size(), kEndSize + 0xffff);
  for (uint64_t at = file.size() - kEndSize + 1; at-- > lowest;) {
    if (file.number(at, 4) != kEnd || at + kEndSize + file.number(at + 20, 2) != file.size())
      continue;
    Directory d{file.number(at + 16, 4), file.number(at + 12, 4), file.number(at + 10, 2)};
    uint64_t limit = at;
    bool volumes = file.number(at + 4, 2) != file.number(at + 6, 2);
    if (at >= kLocatorSize && file.number(at - kLocatorSize, 4) == kEnd64Locator) {
      uint64_t at64 = file.number(at - kLocatorSize + 8, 8);
      if (!file.has(at64, kEnd64Size) || file.number(at64, 4) != kEnd64)
        return Error{"the zip64 directory is not where the archive says"};
      volumes = file.number(at64 + 16, 4) != file.number(at64 + 20, 4);
      d = {file.number(at64 + 48, 8), file.number(at64 + 40, 8), file.number(at64 + 32, 8)};
      limit = at64;
    }
    if (volumes)
      return Error{"is one of several volumes of a zip archive"};
    if (!file.has(d.offset, d.size) || d.offset + d.size > limit)
      return Error{"the directory of the archive lies outside the file"};
    if (d.entries > d.size / kCentralSize)
      return Error{"the directory claims " + std::to_string(d.entries) +
                   " entries, more than it has room for"};
    return d;
  }
  return Error{"is no zip archive, or its end is missing"};
}

struct Record {
  std::string name;
  uint64_t method = 0, flags = 0, crc = 0, packed = 0, unpacked = 0, header = 0;
  uint64_t data = 0; // offset of the contents
};

/// Reads the directory record at `at` and moves on to the next.
Result<Record> readRecord(const Bytes &file, uint64_t &at, uint64_t end) {
  if (end - at < kCentralSize || file.number(at, 4) != kCentral)
    return Error{"a record of the archive's directory is damaged"};
  Record r;
  r.flags = file.number(at + 8, 2);
  r.method = file.number(at + 10, 2);
  r.crc = file.number(at + 16, 4);
  r.packed = file.number(at + 20, 4);
  r.unpacked = file.number(at + 24, 4);
  r.header = file.number(at + 42, 4);
  uint64_t nameSize = file.number(at + 28, 2), extraSize = file.number(at + 30, 2),
           total = kCentralSize + nameSize + extraSize + file.number(at + 32, 2);
  if (total > end - at)
    return Error{"a record of the archive's directory is cut off"};
  r.name = file.text(at + kCentralSize, nameSize);
  uint64_t extra = at + kCentralSize + nameSize, extraEnd = extra + extraSize;
  while (extraEnd - extra >= 4) {
    uint64_t id = file.number(extra, 2), size = file.number(extra + 2, 2);
    extra += 4;
    if (size > extraEnd - extra)
      return Error{"an extra field of the archive's directory is cut off"};
    if (id == kZip64Extra) {
      uint64_t field = extra;
      for (uint64_t *value : {&r.unpacked, &r.packed, &r.header})
        if (*value == 0xffffffff && field + 8 <= extra + size) {
          *value = file.number(field, 8);
          field += 8;
        }
    }
    extra += size;
  }
  at += total;
  return r;
}

Status locate(const Bytes &file, uint64_t directory, Record &r) {
  if (!file.has(r.header, kLocalSize) || file.number(r.header, 4) != kLocal)
    return Error{"the entry does not start where the directory says"};
  r.data = r.header + kLocalSize + file.number(r.header + 26, 2) + file.number(r.header + 28, 2);
  if (r.data > directory || r.packed > directory - r.data)
    return Error{"the entry's contents lie outside the archive"};
  return {};
}

uint32_t checksum(uint32_t crc, const void *data, uint64_t size) {
  return static_cast<uint32_t>(crc32_z(crc, static_cast<const Bytef *>(data), size));
}

Result<SharedBytes> inflateEntry(const SharedBytes &packed, uint64_t size) {
  if (size / kMaxExpansion > packed.bytes.size() + 1)
    return Error{"claims to hold " + std::to_string(size) + " bytes in " +
                 std::to_string(packed.bytes.size())};
  auto *room = static_cast<Bytef *>(std::malloc(size + 1));
  if (!room)
    return Error{ErrorCode::OutOfMemory, "out of memory (" + std::to_string(size) + " bytes)"};
  std::shared_ptr<const void> owner(room, [](const void *p) { std::free(const_cast<void *>(p)); });
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return Error{ErrorCode::OutOfMemory, "out of memory"};
  const auto *in = reinterpret_cast<const Bytef *>(packed.bytes.data());
  uint64_t inLeft = packed.bytes.size(), outLeft = size + 1; // one more, to see what is too long
  stream.next_in = const_cast<Bytef *>(in);
  stream.next_out = room;
  int status = Z_OK;
  while (status == Z_OK) {
    auto inNow = static_cast<uInt>(std::min<uint64_t>(inLeft, 1u << 30));
    auto outNow = static_cast<uInt>(std::min<uint64_t>(outLeft, 1u << 30));
    stream.avail_in = inNow, stream.avail_out = outNow;
    status = inflate(&stream, Z_NO_FLUSH);
    inLeft -= inNow - stream.avail_in;
    outLeft -= outNow - stream.avail_out;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || outLeft != 1)
    return Error{"the compressed contents are damaged"};
  return SharedBytes{{reinterpret_cast<const std::byte *>(room), size}, owner};
}

std::string deflateAll(std::initializer_list<std::string_view> pieces) {
  z_stream stream = {};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out;
  std::vector<Bytef> buffer(1 << 18);
  auto pump = [&](int flush) {
    do {
      stream.next_out = buffer.data();
      stream.avail_out = static_cast<uInt>(buffer.size());
      deflate(&stream, flush);
      out.append(reinterpret_cast<char *>(buffer.data()), buffer.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  };
  for (std::string_view piece : pieces)
    while (!piece.empty()) {
      auto now = static_cast<uInt>(std::min<size_t>(piece.size(), 1u << 30));
      stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(piece.data()));
      stream.avail_in = now;
      pump(Z_NO_FLUSH);
      piece.remove_prefix(now);
    }
  stream.avail_in = 0;
  pump(Z_FINISH);
  deflateEnd(&stream);
  return out;
}

void put(std::string &out, uint64_t value, int count) {
  for (int i = 0; i < count; ++i)
    out += static_cast<char>(value >> (8 * i) & 255);
}

/// The fields that local header and directory record share: from "version needed" to the length of
/// the name. Sizes are always given in the zip64 field beside it.
void putShared(std::string &out, uint16_t method, uint32_t crc, size_t nameSize, size_t extraSize) {
  put(out, 45, 2);
  put(out, 0x0800, 2); // names are UTF-8
  put(out, method, 2);
  put(out, 0, 2);
  put(out, 0x21, 2); // 1980-01-01: the same tensors give the same file
  put(out, crc, 4);
  put(out, 0xffffffff, 4);
  put(out, 0xffffffff, 4);
  put(out, nameSize, 2);
  put(out, extraSize, 2);
}

} // namespace

static Result<std::vector<ZipEntry>> readEntries(const SharedBytes &shared, bool storedOnly,
                                                 uint64_t verifyUpTo) {
  Bytes file(shared.bytes);
  Result<Directory> directory = findDirectory(file);
  if (!directory)
    return directory.error();
  std::vector<Record> records;
  uint64_t at = directory->offset, end = directory->offset + directory->size;
  for (uint64_t i = 0; i < directory->entries; ++i) {
    Result<Record> record = readRecord(file, at, end);
    if (!record)
      return record.error();
    auto wrong = [&](const std::string &what) {
      return Error{"entry '" + printable(record->name) + "': " + what};
    };
    if (record->flags & 1)
      return wrong("is encrypted");
    if (record->method != kStored && record->method != kDeflated)
      return wrong("is compressed by method " + std::to_string(record->method) +
                   "; stored and deflated entries are read");
    if (record->method != kStored && storedOnly)
      return wrong("is compressed; entries of this kind of archive are stored");
    if (record->method == kStored && record->packed != record->unpacked)
      return wrong("is stored with two different sizes");
    if (Status found = locate(file, directory->offset, *record); !found)
      return wrong(found.message());
    records.push_back(std::move(*record));
  }
  std::vector<const Record *> order;
  for (const Record &r : records)
    order.push_back(&r);
  std::sort(order.begin(), order.end(),
            [](const Record *a, const Record *b) { return a->header < b->header; });
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i - 1]->data + order[i - 1]->packed > order[i]->header)
      return Error{"entries '" + printable(order[i - 1]->name) + "' and '" +
                   printable(order[i]->name) + "' overlap"};

  std::vector<ZipEntry> entries;
  for (const Record &r : records) {
    auto wrong = [&](const std::string &what) {
      return Error{"entry '" + printable(r.name) + "': " + what};
    };
    SharedBytes contents = shared.part(r.data, r.packed);
    if (r.method == kDeflated) {
      Result<SharedBytes> inflated = inflateEntry(contents, r.unpacked);
      if (!inflated)
        return wrong(inflated.message());
      contents = *inflated;
    }
    if (contents.bytes.size() <= verifyUpTo &&
        checksum(0, contents.bytes.data(), contents.bytes.size()) != r.crc)
      return wrong("the contents do not match their checksum");
    entries.push_back({r.name, contents});
  }
  return entries;
}

Result<std::vector<ZipEntry>> readZip(const SharedBytes &shared) {
  return readEntries(shared, false, UINT64_MAX);
}

Result<std::vector<ZipEntry>> readStoredZip(const SharedBytes &shared, uint64_t verifyUpTo) {
  return readEntries(shared, true, verifyUpTo);
}

Status writeZip(const std::string &path, const std::vector<ZipSource> &entries, bool compress) {
  std::deque<std::string> kept;
  std::vector<std::string_view> pieces;
  uint64_t offset = 0;
  auto add = [&](std::string_view piece) {
    pieces.push_back(piece);
    offset += piece.size();
  };
  std::string directory;
  for (const ZipSource &entry : entries) {
    if (entry.name.size() > 0xffff)
      return Error{displayName(path) + ": a name of more than 65,535 bytes"};
    uint64_t size = entry.head.size() + entry.body.size();
    uint32_t crc = checksum(checksum(0, entry.head.data(), entry.head.size()), entry.body.data(),
                            entry.body.size());
    const std::string *packed = nullptr;
    if (compress)
      packed = &kept.emplace_back(deflateAll({entry.head, entry.body}));
    uint16_t method = compress ? kDeflated : kStored;
    uint64_t packedSize = packed ? packed->size() : size, start = offset;

    std::string sizes;
    put(sizes, size, 8);
    put(sizes, packedSize, 8);
    // An extra field of zeros moves the contents to a multiple of 64.
    uint64_t before = offset + kLocalSize + entry.name.size() + 4 + sizes.size() + 4 + 2;
    uint64_t padding = compress ? 0 : (64 - before % 64) % 64;
    std::string &local = kept.emplace_back();
    put(local, kLocal, 4);
    putShared(local, method, crc, entry.name.size(), 4 + sizes.size() + 4 + 2 + padding);
    local += entry.name;
    put(local, kZip64Extra, 2);
    put(local, sizes.size(), 2);
    local += sizes;
    put(local, kAlignmentExtra, 2);
    put(local, 2 + padding, 2);
    put(local, 64, 2);
    local.append(padding, '\0');
    add(local);
    if (packed) {
      add(*packed);
    } else {
      add(entry.head);
      add(entry.body);
    }

    put(directory, kCentral, 4);
    put(directory, 45, 2);
    putShared(directory, method, crc, entry.name.size(), 4 + sizes.size() + 8);
    put(directory, 0, 2);          // comment
    put(directory, 0, 2);          // volume
    put(directory, 0, 2);          // attributes
    put(directory, 0, 4);          // attributes
    put(directory, 0xffffffff, 4); // offset: below
    directory += entry.name;
    put(directory, kZip64Extra, 2);
    put(directory, sizes.size() + 8, 2);
    directory += sizes;
    put(directory, start, 8);
  }
  uint64_t directoryAt = offset;
  add(directory);
  std::string tail;
  uint64_t end64At = offset;
  put(tail, kEnd64, 4);
  put(tail, kEnd64Size - 12, 8);
  put(tail, 45, 2);
  put(tail, 45, 2);
  put(tail, 0, 8); // volumes
  put(tail, entries.size(), 8);
  put(tail, entries.size(), 8);
  put(tail, directory.size(), 8);
  put(tail, directoryAt, 8);
  put(tail, kEnd64Locator, 4);
  put(tail, 0, 4);
  put(tail, end64At, 8);
  put(tail, 1, 4);
  put(tail, kEnd, 4);
  put(tail, 0, 4); // volumes
  put(tail, 0xffff, 2);
  put(tail, 0xffff, 2);
  put(tail, 0xffffffff, 4);
  put(tail, 0xffffffff, 4);
  put(tail, 0, 2);
  add(tail);
  return writeOutput(path, pieces);
}

} // namespace cupel::tensor
