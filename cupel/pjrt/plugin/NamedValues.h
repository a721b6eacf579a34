// Lists of named values as PJRT hands them out, with the memory they point into. Used for
// attributes of plugins, devices and topologies and for cost analysis.

#pragma once

#include "cupel/pjrt/Structs.h"

#include <deque>
#include <string>
#include <vector>

namespace cupel::pjrt {

class NamedValues {
public:
  NamedValues() = default;
  NamedValues(const NamedValues &) = delete;
  NamedValues &operator=(const NamedValues &) = delete;

  void add(const std::string &name, const std::string &value);
  void add(const std::string &name, int64_t value);
  void add(const std::string &name, std::vector<int64_t> values);
  void addFloat(const std::string &name, float value);

  const PJRT_NamedValue *data() const { return values.data(); }
  size_t size() const { return values.size(); }

private:
  PJRT_NamedValue &append(const std::string &name, PJRT_NamedValue_Type type, size_t size);

  std::vector<PJRT_NamedValue> values;
  std::deque<std::string> strings;
  std::deque<std::vector<int64_t>> lists;
};

} // namespace cupel::pjrt
