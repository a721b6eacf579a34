#include "cupel/pjrt/plugin/NamedValues.h"

namespace cupel::pjrt {

PJRT_NamedValue &NamedValues::append(const std::string &name, PJRT_NamedValue_Type type,
                                     size_t size) {
  PJRT_NamedValue value = makeStruct<PJRT_NamedValue>();
  const std::string &kept = strings.emplace_back(name);
  value.name = kept.data();
  value.name_size = kept.size();
  value.type = type;
  value.value_size = size;
  return values.emplace_back(value);
}

void NamedValues::add(const std::string &name, const std::string &value) {
  const std::string &kept = strings.emplace_back(value);
  append(name, PJRT_NamedValue_kString, kept.size()).string_value = kept.data();
}

void NamedValues::add(const std::string &name, int64_t value) {
  append(name, PJRT_NamedValue_kInt64, 1).int64_value = value;
}

void NamedValues::add(const std::string &name, std::vector<int64_t> list) {
  const std::vector<int64_t> &kept = lists.emplace_back(std::move(list));
  append(name, PJRT_NamedValue_kInt64List, kept.size()).int64_array_value = kept.data();
}

void NamedValues::addFloat(const std::string &name, float value) {
  append(name, PJRT_NamedValue_kFloat, 1).float_value = value;
}

} // namespace cupel::pjrt
