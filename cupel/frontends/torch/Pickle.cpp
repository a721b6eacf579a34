#include "cupel/frontends/torch/Pickle.h"

#include "cupel/frontends/torch/Weights.h"
#include "cupel/tensor/Zip.h"

#include <bit>
#include <cstring>
#include <optional>

namespace cupel::frontends::torch_import {

using tensor::DType;
using tensor::SharedBytes;
using tensor::Tensor;
using Kind = PickleValue::Kind;

namespace {

constexpr uint64_t kVerifiedBytes = 1 << 20;
/// Values nest as deep as a model's inputs do; what nests deeper is hostile.
constexpr int kMaxDepth = 64;

struct NamedType {
  std::string_view dtype, storage; ///< As Python names them.
  DType type;
  bool hasHalfParts = false;
};
constexpr NamedType kTypes[] = {
    {"float32", "FloatStorage", DType::F32},
    {"float64", "DoubleStorage", DType::F64},
    {"float16", "HalfStorage", DType::F16},
    {"bfloat16", "BFloat16Storage", DType::BF16},
    {"int64", "LongStorage", DType::I64},
    {"int32", "IntStorage", DType::I32},
    {"int16", "ShortStorage", DType::I16},
    {"int8", "CharStorage", DType::I8},
    {"uint8", "ByteStorage", DType::U8},
    {"bool", "BoolStorage", DType::I1},
    {"complex32", "ComplexHalfStorage", DType::C64, true},
    {"complex64", "ComplexFloatStorage", DType::C64},
    {"complex128", "ComplexDoubleStorage", DType::C128},
    {"uint16", "", DType::U16},
    {"uint32", "", DType::U32},
    {"uint64", "", DType::U64},
    {"float8_e4m3fn", "", DType::F8E4M3FN},
    {"float8_e5m2", "", DType::F8E5M2},
    {"float8_e4m3fnuz", "", DType::F8E4M3FNUZ},
    {"float8_e5m2fnuz", "", DType::F8E5M2FNUZ},
    {"float8_e8m0fnu", "", DType::F8E8M0FNU},
};

/// The classes and functions that a file of tensors needs.
bool isAllowed(std::string_view name) {
  for (std::string_view allowed :
       {"torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor_v3",
        "torch._utils._rebuild_parameter", "collections.OrderedDict", "torch.Size", "torch.device",
        "torch.storage.UntypedStorage", "torch.UntypedStorage", "torch.serialization._get_layout"})
    if (name == allowed)
      return true;
  return false;
}

} // namespace

/// A stack machine that knows the opcodes of protocol 2 (and those of later ones that mean the
/// same), builds values and calls nothing.
class Unpickler {
public:
  using Storages = std::map<std::string, SharedBytes, std::less<>>;
  Unpickler(std::span<const std::byte> bytes, const Storages &storages, uint64_t fileBytes,
            Pickle &result)
      : bytes(bytes), storages(storages), result(result), budget(copyBudget(fileBytes)) {}

  Status run() {
    while (true) {
      uint8_t op = 0;
      if (!take(op))
        return Error{"ends before the pickle does"};
      if (op == '.')
        break;
      if (Status status = step(op); !status)
        return Error{status.message() + " (at byte " + std::to_string(at - 1) + ")"};
    }
    if (stack.size() != 1 || stack[0] == kMark)
      return Error{"the pickle leaves no single value"};
    result.top = stack[0];
    return {};
  }

private:
  static constexpr uint32_t kMark = UINT32_MAX;
  static constexpr size_t kMaxValues = 50'000'000;

  template <typename T> bool take(T &value) {
    if (bytes.size() - at < sizeof(T))
      return false;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    at += sizeof(T);
    return true;
  }
  std::optional<std::string> text(uint64_t size) {
    if (bytes.size() - at < size)
      return std::nullopt;
    std::string value(reinterpret_cast<const char *>(bytes.data()) + at, size);
    at += size;
    return value;
  }
  std::optional<std::string> line() {
    for (size_t end = at; end < bytes.size(); ++end)
      if (bytes[end] == std::byte{'\n'}) {
        std::string value(reinterpret_cast<const char *>(bytes.data()) + at, end - at);
        at = end + 1;
        return value;
      }
    return std::nullopt;
  }
  PickleValue &make(Kind kind) {
    stack.push_back(static_cast<uint32_t>(result.values.size()));
    PickleValue &value = result.values.emplace_back();
    value.kind = kind;
    return value;
  }
  std::optional<uint32_t> pop() {
    if (stack.empty() || stack.back() == kMark)
      return std::nullopt;
    uint32_t value = stack.back();
    stack.pop_back();
    return value;
  }
  PickleValue *peek() {
    return stack.empty() || stack.back() == kMark ? nullptr : &result.values[stack.back()];
  }
  /// Everything above the last mark.
  std::optional<std::vector<uint32_t>> popToMark() {
    size_t mark = stack.size();
    while (mark > 0 && stack[mark - 1] != kMark)
      --mark;
    if (mark == 0)
      return std::nullopt;
    std::vector<uint32_t> values(stack.begin() + static_cast<ptrdiff_t>(mark), stack.end());
    stack.resize(mark - 1);
    return values;
  }
  static Error damaged() { return Error{"the pickle is damaged"}; }
  static Error cutOff() { return Error{"the pickle is cut off"}; }

  Status integer(int64_t value) {
    make(Kind::Integer).integer = value;
    return {};
  }
  Status string(uint64_t size) {
    std::optional<std::string> value = text(size);
    if (!value)
      return cutOff();
    make(Kind::Text).text = std::move(*value);
    return {};
  }
  Status tuple(size_t count) {
    std::vector<uint32_t> items(count);
    for (size_t i = count; i-- > 0;) {
      std::optional<uint32_t> item = pop();
      if (!item)
        return damaged();
      items[i] = *item;
    }
    PickleValue &made = make(Kind::List);
    made.items = std::move(items);
    made.isTuple = true;
    return {};
  }
  Status memoize(uint64_t key) {
    if (stack.empty() || stack.back() == kMark)
      return damaged();
    memo[key] = stack.back();
    return {};
  }
  Status recall(uint64_t key) {
    auto found = memo.find(key);
    if (found == memo.end())
      return damaged();
    stack.push_back(found->second);
    return {};
  }
  Status global(const std::string &module, const std::string &name) {
    std::string full = module + "." + name;
    for (const NamedType &type : kTypes) {
      if (module == "torch" && name == type.dtype) {
        PickleValue &made = make(Kind::Type);
        made.type = type.type;
        made.hasHalfParts = type.hasHalfParts;
        return {};
      }
      if ((module == "torch" || module == "torch.storage") && !type.storage.empty() &&
          name == type.storage) {
        PickleValue &made = make(Kind::Global);
        made.text = "torch.Storage";
        made.type = type.type;
        made.hasHalfParts = type.hasHalfParts;
        return {};
      }
    }
    if (!isAllowed(full))
      return Error{"names '" + tensor::printable(full) +
                   "', which is none of the classes and functions that tensors need: refused, "
                   "nothing was executed"};
    PickleValue &made = make(Kind::Global);
    made.text = full.ends_with("UntypedStorage") ? "torch.Storage" : full;
    made.isUntyped = full.ends_with("UntypedStorage");
    return {};
  }

  Status step(uint8_t op);
  Status persistent();
  Status reduce();
  Status rebuildTensor(const PickleValue &arguments, bool typed);

  std::span<const std::byte> bytes;
  const Storages &storages;
  Pickle &result;
  size_t at = 0;
  std::vector<uint32_t> stack;
  std::map<uint64_t, uint32_t> memo;
  uint64_t budget;
};

Status Unpickler::step(uint8_t op) {
  if (result.values.size() > kMaxValues || stack.size() > kMaxValues)
    return Error{"the pickle holds too many values"};
  uint8_t byte = 0;
  uint16_t half = 0;
  uint32_t word = 0;
  uint64_t wide = 0;
  switch (op) {
  case 0x80: // PROTO
    if (!take(byte))
      return cutOff();
    return byte <= 5 ? Status() : Error{"is a pickle of an unknown protocol"};
  case 0x95: // FRAME
    return take(wide) ? Status() : cutOff();
  case '}':
    make(Kind::Dict);
    return {};
  case ']':
    make(Kind::List);
    return {};
  case ')':
    make(Kind::List).isTuple = true;
    return {};
  case '(':
    stack.push_back(kMark);
    return {};
  case 'N':
    make(Kind::None);
    return {};
  case 0x88:
  case 0x89:
    make(Kind::Bool).integer = op == 0x88;
    return {};
  case 'K':
    return take(byte) ? integer(byte) : cutOff();
  case 'M':
    return take(half) ? integer(half) : cutOff();
  case 'J':
    return take(word) ? integer(static_cast<int32_t>(word)) : cutOff();
  case 0x8a:   // LONG1
  case 0x8b: { // LONG4
    if (op == 0x8a ? !take(byte) : !take(word))
      return cutOff();
    std::optional<std::string> digits = text(op == 0x8a ? byte : word);
    if (!digits)
      return cutOff();
    if (digits->size() > 8)
      return Error{"holds an integer of more than 64 bits"};
    uint64_t value = !digits->empty() && (digits->back() & 0x80) ? ~uint64_t{0} : 0;
    for (size_t i = digits->size(); i-- > 0;)
      value = value << 8 | static_cast<uint8_t>((*digits)[i]);
    return integer(static_cast<int64_t>(value));
  }
  case 'G': {
    if (!take(wide))
      return cutOff();
    make(Kind::Real).real = std::bit_cast<double>(__builtin_bswap64(wide));
    return {};
  }
  case 'X': // BINUNICODE
  case 'T': // BINSTRING
  case 'B': // BINBYTES
    return take(word) ? string(word) : cutOff();
  case 0x8c: // SHORT_BINUNICODE
  case 'U':  // SHORT_BINSTRING
  case 'C':  // SHORT_BINBYTES
    return take(byte) ? string(byte) : cutOff();
  case 0x8d: // BINUNICODE8
    return take(wide) ? string(wide) : cutOff();
  case 't': {
    std::optional<std::vector<uint32_t>> items = popToMark();
    if (!items)
      return damaged();
    PickleValue &made = make(Kind::List);
    made.items = std::move(*items);
    made.isTuple = true;
    return {};
  }
  case 0x85:
  case 0x86:
  case 0x87:
    return tuple(op - 0x84);
  case 'q':
    return take(byte) ? memoize(byte) : cutOff();
  case 'r':
    return take(word) ? memoize(word) : cutOff();
  case 0x94: // MEMOIZE
    return memoize(memo.size());
  case 'h':
    return take(byte) ? recall(byte) : cutOff();
  case 'j':
    return take(word) ? recall(word) : cutOff();
  case '0':
    return pop() ? Status() : damaged();
  case '1':
    return popToMark() ? Status() : damaged();
  case '2': {
    if (!peek())
      return damaged();
    stack.push_back(stack.back());
    return {};
  }
  case 'a':
  case 'e': {
    std::vector<uint32_t> items;
    if (op == 'a') {
      std::optional<uint32_t> item = pop();
      if (!item)
        return damaged();
      items.push_back(*item);
    } else {
      std::optional<std::vector<uint32_t>> all = popToMark();
      if (!all)
        return damaged();
      items = std::move(*all);
    }
    PickleValue *list = peek();
    if (!list || list->kind != Kind::List || list->isTuple)
      return damaged();
    list->items.insert(list->items.end(), items.begin(), items.end());
    return {};
  }
  case 's':
  case 'u': {
    std::vector<uint32_t> items;
    if (op == 's') {
      std::optional<uint32_t> value = pop(), key = pop();
      if (!value || !key)
        return damaged();
      items = {*key, *value};
    } else {
      std::optional<std::vector<uint32_t>> all = popToMark();
      if (!all || all->size() % 2)
        return damaged();
      items = std::move(*all);
    }
    PickleValue *dict = peek();
    if (!dict || dict->kind != Kind::Dict)
      return damaged();
    dict->items.insert(dict->items.end(), items.begin(), items.end());
    return {};
  }
  case 'c': {
    std::optional<std::string> module = line(), name = line();
    return module && name ? global(*module, *name) : cutOff();
  }
  case 0x93: { // STACK_GLOBAL
    std::optional<uint32_t> name = pop(), module = pop();
    if (!name || !module || result.values[*name].kind != Kind::Text ||
        result.values[*module].kind != Kind::Text)
      return damaged();
    return global(result.values[*module].text, result.values[*name].text);
  }
  case 'R':
    return reduce();
  case 'b': // BUILD: attributes of an OrderedDict (_metadata) are not needed.
    if (!pop() || !peek())
      return damaged();
    return peek()->kind == Kind::Dict || peek()->kind == Kind::Tensor
               ? Status()
               : Error{"sets attributes of an object: refused"};
  case 'Q':
    return persistent();
  default:
    return Error{"uses the opcode " + std::to_string(op) +
                 ", which files of tensors do not: refused"};
  }
}

Status Unpickler::persistent() {
  // ("storage", class, key, device, number of elements)
  std::optional<uint32_t> id = pop();
  if (!id)
    return damaged();
  const PickleValue &value = result.values[*id];
  if (value.kind != Kind::List || value.items.size() != 5)
    return Error{"refers to something outside of the pickle that is no storage: refused"};
  const PickleValue &what = result.values[value.items[0]], &type = result.values[value.items[1]],
                    &key = result.values[value.items[2]];
  if (what.kind != Kind::Text || what.text != "storage" || type.kind != Kind::Global ||
      type.text != "torch.Storage" || key.kind != Kind::Text)
    return Error{"refers to something outside of the pickle that is no storage: refused"};
  if (!storages.count(key.text))
    return Error{"lies in storage '" + tensor::printable(key.text) + "', which is not in the file"};
  DType element = type.type;
  bool isUntyped = type.isUntyped, hasHalfParts = type.hasHalfParts;
  std::string name = key.text;
  PickleValue &made = make(Kind::Storage);
  made.type = element;
  made.isUntyped = isUntyped;
  made.hasHalfParts = hasHalfParts;
  made.text = std::move(name);
  return {};
}

Status Unpickler::reduce() {
  std::optional<uint32_t> argumentsId = pop(), calleeId = pop();
  if (!argumentsId || !calleeId)
    return damaged();
  const PickleValue &arguments = result.values[*argumentsId], &callee = result.values[*calleeId];
  if (callee.kind != Kind::Global || arguments.kind != Kind::List)
    return Error{"calls something that is no function: refused"};
  if (callee.text == "torch._utils._rebuild_tensor_v2")
    return rebuildTensor(arguments, false);
  if (callee.text == "torch._utils._rebuild_tensor_v3")
    return rebuildTensor(arguments, true);
  if (callee.text == "torch._utils._rebuild_parameter") {
    if (arguments.items.empty() || result.values[arguments.items[0]].kind != Kind::Tensor)
      return damaged();
    stack.push_back(arguments.items[0]);
    return {};
  }
  if (callee.text == "collections.OrderedDict") {
    // Empty, or a list of pairs.
    std::vector<uint32_t> items;
    if (!arguments.items.empty()) {
      const PickleValue &pairs = result.values[arguments.items[0]];
      if (pairs.kind != Kind::List)
        return damaged();
      for (uint32_t pair : pairs.items) {
        if (result.values[pair].kind != Kind::List || result.values[pair].items.size() != 2)
          return damaged();
        items.push_back(result.values[pair].items[0]);
        items.push_back(result.values[pair].items[1]);
      }
    }
    make(Kind::Dict).items = std::move(items);
    return {};
  }
  if (callee.text == "torch.Size") {
    if (arguments.items.size() != 1 || result.values[arguments.items[0]].kind != Kind::List)
      return damaged();
    stack.push_back(arguments.items[0]);
    return {};
  }
  if (callee.text == "torch.device" || callee.text == "torch.serialization._get_layout") {
    make(Kind::Text).text = "device";
    return {};
  }
  return Error{"calls '" + tensor::printable(callee.text) + "': refused"};
}

Status Unpickler::rebuildTensor(const PickleValue &arguments, bool typed) {
  // storage, offset, size, stride, requires_grad, hooks[, dtype]
  if (arguments.items.size() < (typed ? 7u : 4u))
    return damaged();
  auto argument = [&](size_t i) -> const PickleValue & {
    return result.values[arguments.items[i]];
  };
  auto numbers = [&](const PickleValue &list) -> std::optional<tensor::Shape> {
    tensor::Shape values;
    if (list.kind != Kind::List)
      return std::nullopt;
    for (uint32_t item : list.items) {
      if (result.values[item].kind != Kind::Integer)
        return std::nullopt;
      values.push_back(result.values[item].integer);
    }
    return values;
  };
  const PickleValue &storage = argument(0);
  std::optional<tensor::Shape> sizes = numbers(argument(2)), strides = numbers(argument(3));
  if (storage.kind != Kind::Storage || argument(1).kind != Kind::Integer || !sizes || !strides)
    return Error{"rebuilds a tensor from something else than a storage and sizes"};
  DType type = storage.type;
  bool hasHalfParts = storage.hasHalfParts;
  if (typed) {
    if (argument(6).kind != Kind::Type)
      return Error{"rebuilds a tensor of an unknown type"};
    type = argument(6).type;
    hasHalfParts = argument(6).hasHalfParts;
  } else if (storage.isUntyped) {
    return Error{"rebuilds a tensor of an unknown type"};
  }
  auto bytes = storages.find(storage.text);
  int64_t offset = argument(1).integer;
  Result<Tensor> made =
      hasHalfParts ? complexHalfOnStorage(*sizes, *strides, offset, bytes->second, budget)
                   : tensorOnStorage(type, *sizes, *strides, offset, bytes->second, budget);
  if (!made)
    return Error{"a tensor " + made.message()};
  make(Kind::Tensor).tensor = std::move(*made);
  return {};
}

Result<Pickle> Pickle::read(const SharedBytes &file, const std::string &where) {
  Result<std::vector<tensor::ZipEntry>> entries = tensor::readStoredZip(file, kVerifiedBytes);
  if (!entries)
    return entries.error().within(where);
  const SharedBytes *code = nullptr;
  std::string root;
  for (const tensor::ZipEntry &entry : *entries)
    if (entry.name == "data.pkl" || entry.name.ends_with("/data.pkl")) {
      code = &entry.contents;
      root = entry.name.substr(0, entry.name.size() - 8);
      break;
    }
  if (!code)
    return Error{where + ": is no file of torch.save: it has no data.pkl"};
  Unpickler::Storages storages;
  for (const tensor::ZipEntry &entry : *entries) {
    if (entry.name.starts_with(root + "data/"))
      storages.emplace(entry.name.substr(root.size() + 5), entry.contents);
    std::string_view text(reinterpret_cast<const char *>(entry.contents.bytes.data()),
                          entry.contents.bytes.size());
    if (entry.name == root + "byteorder" && !text.starts_with("little"))
      return Error{where + ": was written with another byte order than little"};
  }
  Pickle pickle;
  pickle.where = where;
  if (Status status = Unpickler(code->bytes, storages, file.bytes.size(), pickle).run(); !status)
    return status.error().within(where);
  return pickle;
}

Result<std::map<std::string, Tensor>> Pickle::namedTensors() const {
  std::map<std::string, Tensor> tensors;
  if (root().kind != Kind::Dict)
    return Error{where + ": is no dictionary of tensors"};
  for (size_t i = 0; i + 1 < root().items.size(); i += 2) {
    const PickleValue &key = at(root().items[i]), &value = at(root().items[i + 1]);
    if (key.kind == Kind::Text && value.kind == Kind::Tensor)
      tensors.insert_or_assign(key.text, value.tensor);
  }
  return tensors;
}

Result<std::vector<Tensor>> Pickle::allTensors() const {
  std::vector<Tensor> tensors;
  // Shared values could make a small file a huge walk.
  size_t visits = 0;
  auto walk = [&](auto &self, uint32_t number, int depth) -> bool {
    const PickleValue &value = at(number);
    if (depth > kMaxDepth || ++visits > 1'000'000)
      return false;
    if (value.kind == Kind::Tensor)
      tensors.push_back(value.tensor);
    bool isDict = value.kind == Kind::Dict;
    if (value.kind == Kind::List || isDict)
      for (size_t i = isDict ? 1 : 0; i < value.items.size(); i += isDict ? 2 : 1)
        if (!self(self, value.items[i], depth + 1))
          return false;
    return true;
  };
  if (!walk(walk, top, 0))
    return Error{where + ": holds itself, or nests too deeply"};
  return tensors;
}

} // namespace cupel::frontends::torch_import
