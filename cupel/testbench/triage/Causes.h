// What made a test fail, as far as its record tells: the operation that was found guilty, else the
// reasons of the table, else the shape of its message. `cupel triage` groups failures by these.
// Reads records and nothing else; two records with the same cause have an equal Cause.
#pragma once

#include "cupel/results/Record.h"

#include <compare>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::testbench::triage {

struct Cause {
  enum class Kind : uint8_t {
    Operation, ///< One operation, or several that are wrong only together: `a + b`.
    Reason,    ///< Of the table of reasons.
    Message,   ///< What messages that no reason fits have in common.
  };
  Kind kind = Kind::Reason;
  std::string name;
  auto operator<=>(const Cause &) const = default;
};

/// `operation`, `reason`, `message`.
std::string_view name(Cause::Kind kind);

/// All that must be mended before a test with this record passes; none where it did not fail. A
/// guilty operation explains all reasons. Several reasons that fit are several causes: nobody knows
/// that one of them alone is to blame.
std::vector<Cause> causesOf(const results::TestRecord &record);

/// A message without what differs from test to test: numbers, addresses, paths, names in quotes,
/// shapes. Two messages of one shape say the same thing.
std::string messageShape(std::string_view message);

/// A guilty operation as notes write it: `NAME {ATTRIBUTES} : (TYPES) -> TYPES`.
struct GuiltyForm {
  std::string name, attributes, types;
  auto operator<=>(const GuiltyForm &) const = default;
};
std::vector<GuiltyForm> guiltyFormsOf(const results::TestRecord &record);

/// What is known of the guilty operations: `type`, `rank`, `shapes` and attributes, by name. Where
/// there are several operations, each name begins with that of its operation.
using Properties = std::map<std::string, std::string>;
Properties propertiesOf(const results::TestRecord &record);

/// Those that all of them have, with the same value.
Properties sharedProperties(std::span<const Properties *const> all);

} // namespace cupel::testbench::triage
