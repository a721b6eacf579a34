// Executions of a test beyond the first: with other inputs, and again with the first ones, in the
// same executable. They show what one execution cannot: results that are those of the run before,
// buffers that two executions share, results that differ from run to run. Used by Trials once the
// first execution has been judged. It knows devices and judges only through what it is given:
// executions are compared with what is expected and with each other.
#pragma once

#include "cupel/testbench/worker/Device.h"

#include <optional>

namespace cupel::testbench::worker {

/// Error classes of what looks find; the reasons that ship know them.
inline constexpr std::string_view kStaleResult = "stale_result";
inline constexpr std::string_view kNotDeterministic = "not_deterministic";

/// What came of a judgement.
struct LookVerdict {
  bool passed = true;
  std::string errorClass = {}, message = {}; ///< Of one that did not pass.
  std::optional<TensorLists> expected = {}; ///< What it was judged by, where that is known.
  /// Of one that passes by configured comparators alone: what the strict rule says, of which output.
  std::string strictly = {};
  uint32_t output = 0;
};

struct LookSeams {
  /// Runs the same executable again.
  std::function<Result<TensorLists>(TensorLists inputs)> execute;
  /// Whether these outputs are right for the first inputs.
  std::function<LookVerdict(const TensorLists &outputs)> judge;
  /// Whether they are right for other inputs; nothing where nobody can say so in a short time.
  std::function<std::optional<LookVerdict>(TensorLists inputs, const TensorLists &outputs)>
      judgeOther;
  /// Whether it is known before that nobody can: what nobody will judge is not made for a judge.
  bool isOtherTooLong = false;
  /// Whether two executions with the same inputs may differ as these do. Unset: nobody can say.
  std::function<LookVerdict(const TensorLists &now, const TensorLists &before)> judgeRepeat;
  /// What is expected for the first inputs, and the coarsest step that the device computes in: what
  /// should have changed by more than a few of them and is the same bit by bit was not computed.
  const TensorLists *expected = nullptr;
  double step = 0;
  /// How much an output of a device moves by rounding, by root mean square; asked only before a few
  /// elements are called stale, which may be the same by chance. Unset: nobody can say.
  std::function<double(size_t device, size_t output)> noiseOf;
  /// Inputs that are not the first ones, of the same shapes; nothing where there are none. Asked again
  /// it gives the same again: the device is given what was made for it, and the judge gets his own.
  std::function<std::optional<TensorLists>(uint32_t look)> otherInputs;
};

/// A judgement by noise that has only so many seconds, after one of the same program that had all it
/// wanted and took so long: with the reference as it is and moved, and on the device.
struct Hurry {
  double seconds, plain, moved, execute;
  double share; ///< Of what is left after the plain evaluation, for the moved one.
  /// Whether no noise will be measured, neither with the reference nor with the device itself.
  bool isInVain() const;
};

struct LookOptions {
  /// Executions in all: those that --repeat asks for. Nothing: three where one takes less than
  /// `cheapSeconds`, and more of them as long as they cost nothing.
  std::optional<uint32_t> executions;
  double cheapSeconds = 2;
};

struct Looks {
  uint32_t executions = 1; ///< How often it ran, with the first time.
  LookVerdict verdict;     ///< Of the first that was wrong.
  std::string note;        ///< What else was seen; empty where nothing was.
  /// What the strict rule says of the first that passed by configured comparators alone, and of
  /// which output; empty where there was none.
  std::string strictly;
  uint32_t strictOutput = 0;
};

/// Runs the test again. `first` is what it gave for `inputs` in `seconds`, and was judged already.
Looks lookAgain(const LookSeams &seams, const TensorLists &inputs, const TensorLists &first,
                double seconds, const LookOptions &options);

/// Whether both hold the same bytes, NaN or not.
bool areSame(const TensorLists &a, const TensorLists &b);
/// Where they do not: "12 of 64 elements of output 0, the first at [0,3]".
std::string describeDifference(const TensorLists &outputs, const TensorLists &before);

/// Why these results could hide anything: all of them NaN throughout or one value throughout;
/// empty where they tell something.
std::string describeVacuous(const TensorLists &results);

/// Why no result of a device could be called wrong by these, whoever chose the inputs: none of them
/// holds a number; empty where one does.
std::string describeNumberless(const TensorLists &expected);

/// Whether every element of these is zero, as that of memory that nobody wrote often is; false where
/// there are none.
bool areZeroThroughout(const TensorLists &expected);

} // namespace cupel::testbench::worker
