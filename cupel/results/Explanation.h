// What a search for the cause of a failed test found out: the answer, the operations to blame, how
// far off their result is, and what runs just this again. The worker makes it, records carry it as
// the note `explanation`, `cupel explain` shows it. A plain value with a JSON form; fields are only
// ever added.
#pragma once

#include "cupel/support/Error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cupel::results {

struct Explanation {
  /// Passes: there is nothing to explain. OperationAlone: fails with the right inputs and nothing
  /// around it. Neighbours: these operations fail together, and no fewer. TheseValues, TheseShapes:
  /// one operation alone, and only for such values or shapes. InContext: one operation within the
  /// whole program only. Accumulates: every part is right by itself. NotDeterministic: the same
  /// execution gives this and that. WrongGolden: the device agrees with the reference, and both
  /// disagree with what is expected. WholeOnly: no part of it fails as the whole does.
  /// AnyProgram: one that hands its arguments on is as wrong, so that no operation is to blame.
  /// OwnChecks: right by the reference, and the checks that the test was written with fail.
  enum class Answer : uint8_t {
    Unknown,
    Passes,
    OperationAlone,
    Neighbours,
    TheseValues,
    TheseShapes,
    InContext,
    Accumulates,
    NotDeterministic,
    WrongGolden,
    OwnChecks,
    WholeOnly,
    AnyProgram,
  };
  struct Operation {
    std::string name;  ///< `stablehlo.tanh`
    std::string types; ///< `(tensor<4xf32>) -> tensor<4xf32>`
    std::string place; ///< The source line of the model, where locations name one.
    std::string attributes = {}; ///< `dimension = 1 : i64`
    std::string through = {};    ///< The library's line that wrote it for that place, if any.
    std::string layer = {};      ///< `Cnn/Conv_0`, where the program has such names.
    bool operator==(const Operation &) const = default;
  };
  /// How wrong the result is when the program ends behind this place.
  struct Depth {
    uint64_t operations = 0; ///< From the first on.
    std::string place;
    std::optional<double> pcc, relativeL2; ///< Of the program up to here;
    std::optional<double> ownL2;           ///< and of this piece alone, fed with right values.
    bool operator==(const Depth &) const = default;
  };

  Answer answer = Answer::Unknown;
  std::string sentence; ///< All of it in one line.
  std::string test, device;
  std::string outcome, stage; ///< How the test failed: `incorrect`, `crashed`, ... in `compile`, ...
  std::vector<Operation> operations;
  std::string inside; ///< In which loop or branch they stand.
  uint32_t result = 0;              ///< Which result of the operations is wrong.
  std::optional<double> pcc, maxAbsolute, relativeL2;
  std::string worst;   ///< What is wrong with it, with the worst element.
  std::string picture; ///< What it looks like.
  /// How often it fails of how many executions; 0: it was executed once.
  uint32_t failures = 0, executions = 0;
  std::vector<std::string> remarks; ///< What else was found: values, shapes, others of its kind.
  std::vector<Depth> depths;        ///< For Accumulates, and where values are kept.
  std::string pass;                 ///< --bisect-passes: the pass and rewrite that make it wrong.
  std::string reduced;              ///< Folder of the smallest program that fails.
  std::string command;              ///< Runs just this.
  uint64_t probes = 0, known = 0;   ///< Executions on the device, and those that were remembered.
  double seconds = 0;
  bool isRemembered = false; ///< All of this was known before.

  bool operator==(const Explanation &) const = default;
};

std::string_view name(Explanation::Answer answer);

std::string toJson(const Explanation &explanation);
Result<Explanation> explanationFromJson(std::string_view text);

/// For people: the answer first, then what supports it, a line each.
std::string describe(const Explanation &explanation);

} // namespace cupel::results
