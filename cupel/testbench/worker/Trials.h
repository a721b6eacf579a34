// Runs what a frontend has made ready, stage by stage (compile, execute, reference, compare), and
// judges it; or saves it as a folder that reproduces the test. Keeps devices open from test to
// test. Used by whatever serves tests in cupel-worker.
#pragma once

#include "cupel/testbench/worker/Explain.h"
#include "cupel/testbench/worker/Prepared.h"
#include "cupel/testbench/worker/RemoteDevice.h"
#include "cupel/testbench/worker/Serve.h"
#include "cupel/testbench/worker/TestNoise.h"

#include "cupel/testbench/worker/OpByOp.h"

#include <functional>
#include <map>

namespace cupel::testbench::worker {

/// What takes less than this is done more than once without asking.
inline constexpr double kCheapSeconds = 2;

/// What a test took beside its arguments, on the device and for judging it.
inline constexpr std::string_view kActivationsNote = "activations";

/// Whose word the expected values are where the reference computed them.
inline constexpr const char *kReferencesWord = "the reference's result";

class Trials {
public:
  /// Does with a test what the request asks for: runs it, or saves it.
  void serve(const Request &request, Progress &progress, Prepared prepared,
             results::TestRecord &record);
  /// Of a model that cannot be made into a program, op by op: the table of what becomes of each of
  /// its operators.
  void serveSurvey(const Request &request, const frontends::ModelSurvey &survey,
                   results::TestRecord &record);
  /// A small program that every device must get right.
  results::TestRecord checkHealth(const Request &request, Progress &progress,
                                  ProgramReader &reader);

private:
  void serveAsAsked(const Request &request, Progress &progress, Prepared &prepared,
                    results::TestRecord &record);
  /// The device of this name, opened when first asked for.
  Result<Device *> device(const std::string &name);
  void run(const Request &request, Progress &progress, Prepared &prepared,
           results::TestRecord &record);
  Result<TensorLists> runOn(Device &device, const Prepared &prepared, Progress *progress);
  /// `lackedTime`: set where nothing was learnt of the noise because time ran out.
  void judge(const Request &request, Progress &progress, Device &device, Prepared &prepared,
             const TensorLists &outputs, results::TestRecord &record, bool *lackedTime = nullptr);
  /// Calls a wrong result not deterministic where the same inputs give a right one the next time.
  void tellNowAndThen(const Request &request, Progress &progress, Device &device,
                      Prepared &prepared, const RunWorkload &run, const TensorLists &first,
                      results::TestRecord &record);
  /// Tries other inputs where results on those that were made up could hide anything.
  void tryTelling(const Request &request, Progress &progress, Device &device, Prepared &prepared,
                  const RunWorkload &run, TensorLists &outputs, results::TestRecord &record);
  /// The same for other inputs than the test's own, and what is expected for them; nothing where
  /// the reference takes too long.
  std::optional<results::TestRecord> judgeOther(const Request &request, Progress &progress,
                                                Device &device, Prepared &prepared,
                                                TensorLists inputs, const TensorLists &outputs,
                                                TensorLists &expected);
  /// Runs a test that has passed again (Looks.h).
  void lookAgain(const Request &request, Progress &progress, Device &device, Prepared &prepared,
                 const RunWorkload &run, const TensorLists &first, double seconds,
                 results::TestRecord &record);
  /// The noise of a test that a device ran; `device` may be null, `prepared` must outlive it.
  Result<TestNoise> noiseOf(const Request &request, const Prepared &prepared, Device *device);
  void saveNoise(const Request &request, Prepared &prepared);
  /// Whether the device gives what the reference does for a piece, by the strict rule. An error
  /// where it does not run.
  Result<TriedPiece> tryPiece(const Request &request, Device &device, Prepared &piece);
  /// Judges a test that is right as a whole by its pieces too, where the device is narrow, the
  /// request says so, or a part of it shows only in outputs that rounding decides; `byThemAlone`: all of
  /// them, and the parts of those that tell nothing. Whether all pieces that this asks for were tried and
  /// are right.
  bool judgeByPieces(const Request &request, Progress &progress, Device &device,
                     const Prepared &prepared, results::TestRecord &record,
                     bool byThemAlone = false);
  /// Tries the parts of a piece, whose ill-conditioned operations are fed right values then; TimedOut where
  /// they take longer than `most` seconds, or than half of what is left.
  Result<TriedPiece> tryParts(const Request &request, Device &device, Device &reference,
                              const Prepared &piece, double most);
  /// Of a test that failed by outputs alone that tell nothing (compare::StrictVerdict::isScattered): it
  /// passes if every piece is right. Whether it does.
  bool judgeScattered(const Request &request, Progress &progress, Device &device,
                      const Prepared &prepared, results::TestRecord &record);
  /// Whether the last judgement called nothing wrong but outputs that tell nothing.
  bool isWrongByScattered(const results::TestRecord &record) const;
  /// Finds the operation to blame for a test that fails, and says so in notes of the record.
  void explain(const Request &request, Progress &progress, const Prepared &prepared,
               results::TestRecord &record);
  /// Shrinks a test that fails, into the folder of the request.
  void reduce(const Request &request, Progress &progress, const Prepared &prepared,
              results::TestRecord &record);
  /// What a search needs of this.
  Explainer::Seams explainSeams(const Request &request, Progress &progress);
  /// Takes a test as far as the request says, where that is not to its end.
  void runToDepth(const Request &request, Progress &progress, Prepared &prepared,
                  results::TestRecord &record);
  void runOpByOp(const Request &request, Progress &progress, Prepared &prepared,
                 results::TestRecord &record);
  /// The table of the test; graphs of one test share it.
  OpByOp &opsOf(const Request &request);
  /// Compiles, and executes, one operation in a process of its own, and says what came of it.
  void attemptOp(const Request &request, double seconds, Prepared &piece, results::OpRecord &op);
  void judgeOp(const Request &request, Prepared &piece,
               const std::vector<tensor::Tensor> &outputs, results::OpRecord &op);
  Result<DeviceProcess *> deviceProcess(const std::string &name);
  /// What the device under test computes in.
  static Result<compare::DevicePrecision> precisionOf(const Request &request);
  void save(const Request &request, Progress &progress, Prepared &prepared,
            results::TestRecord &record);

  std::map<std::string, std::unique_ptr<Device>> devices;
  std::map<std::string, std::unique_ptr<DeviceProcess>> processes;
  /// What a test holds at most, of all its graphs: arguments, what the device's program computes, and tensors that come
  /// and go while it is judged, nearly all of them the reference's.
  struct Held {
    uint64_t request = 0, arguments = 0, judgement = 0;
    std::optional<uint64_t> device = {}; ///< Nothing: it does not say.
  } held;
  std::vector<uint32_t> doubted; ///< Outputs of the last judgement whose small parts are off by themselves.
  std::vector<uint32_t> scattered; ///< Outputs that were wrong in the last judgement and tell nothing.
  /// What the device has compiled of the test that it runs, for whoever executes it once more.
  struct Ready {
    const Prepared *test = nullptr;
    RunWorkload run = {};
  } ready;
  std::unique_ptr<OpByOp> ops; ///< Of the request `opsNumber`.
  uint64_t opsNumber = 0;
};

/// Compiles a test for a device; what comes out heeds the checks of the workload, and may run often.
Result<RunWorkload> makeReady(Device &device, const Prepared &prepared);

/// Records that a test ran and that nothing says whether it is right, and why not.
void leaveUnjudged(results::TestRecord &record, const std::string &why);

/// Records that a test failed, and of what.
void fail(results::TestRecord &record, std::string_view errorClass, const std::string &message);
void fail(results::TestRecord &record, const Error &error);
/// Records what an execution after the first showed.
void failLook(results::TestRecord &record, std::string_view errorClass, const std::string &message);

} // namespace cupel::testbench::worker
