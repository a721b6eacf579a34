#include "cupel/testbench/worker/Blame.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/compiler/passes/CutIntoPieces.h"
#include "cupel/reference/Plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>

namespace cupel::testbench::worker {

namespace {

/// More operations than these are not wrong together: an error adds up over them.
constexpr size_t kLargestGroup = 12;

/// The operations of a program that are divided among pieces.
std::vector<BlamedOperation> operationsOf(const Program &program) {
  std::vector<BlamedOperation> operations;
  mlir::func::FuncOp entry = compiler::entryOf(mlir::cast<mlir::ModuleOp>(program.module));
  for (mlir::Operation *op : compiler::countedOperations(entry)) {
    BlamedOperation &one = operations.emplace_back();
    one.name = op->getName().getStringRef().str();
    auto types = [](mlir::TypeRange range) {
      std::vector<std::string> texts;
      for (mlir::Type type : range) {
        std::string text;
        llvm::raw_string_ostream(text) << type;
        texts.push_back(std::move(text));
      }
      return texts;
    };
    std::vector<std::string> results = types(op->getResultTypes());
    std::string given = fmt::format("{}", fmt::join(results, ", "));
    one.types = fmt::format("({}) -> {}", fmt::join(types(op->getOperandTypes()), ", "),
                            results.size() == 1 ? given : "(" + given + ")");
    one.place = reference::describeLocation(op->getLoc());
  }
  return operations;
}

class Search {
public:
  Search(const BlameSeams &seams, Blame &blame) : seams(seams), blame(blame) {}

  /// The first piece that fails, with what it should give; nothing where none does.
  Result<std::optional<Prepared>> firstThatFails(Result<Pieces> pieces) {
    if (!pieces)
      return pieces.error();
    while (std::optional<Prepared> piece = pieces->next()) {
      Result<TensorLists> expected = seams.evaluate(*piece);
      if (!expected)
        return expected.error();
      pieces->setResults(expected->front());
      piece->workload.expected = std::move(*expected);
      Result<bool> failed = fails(*piece);
      if (!failed)
        return failed.error();
      if (*failed)
        return piece;
    }
    return std::optional<Prepared>();
  }

  /// The operations [begin, end) of a program as a test of their own, with what they should give.
  Result<std::optional<Prepared>> window(const Prepared &from, size_t begin, size_t end,
                                         size_t count) {
    std::vector<size_t> ends;
    if (begin)
      ends.push_back(begin);
    ends.push_back(end);
    if (end < count)
      ends.push_back(count);
    Result<Pieces> pieces = Pieces::at(from, ends);
    if (!pieces)
      return pieces.error();
    size_t wanted = begin ? 1 : 0;
    if (pieces->size() <= wanted)
      return std::optional<Prepared>();
    for (size_t i = 0;; ++i) {
      std::optional<Prepared> piece = pieces->next();
      Result<TensorLists> expected = seams.evaluate(*piece);
      if (!expected)
        return expected.error();
      if (i < wanted) {
        pieces->setResults(expected->front());
        continue;
      }
      piece->workload.expected = std::move(*expected);
      return piece;
    }
  }

  Result<bool> fails(Prepared &piece) {
    ++blame.tried;
    Result<TriedPiece> tried = seams.tryOnDevice(piece);
    if (!tried)
      return tried.error();
    if (!tried->passed)
      blame.sentence = tried->sentence;
    return !tried->passed;
  }

  /// Leaves operations away from the front, then from the back, as long as the rest fails.
  Result<Prepared> shrink(Prepared failing) {
    for (bool front : {true, false}) {
      size_t count = operationsOf(failing.program()).size();
      // By halves first: most of a piece has usually nothing to do with it.
      for (size_t step = count / 2; step > 0;) {
        size_t left = operationsOf(failing.program()).size();
        if (left <= step) {
          step /= 2;
          continue;
        }
        Result<std::optional<Prepared>> rest =
            front ? window(failing, step, left, left) : window(failing, 0, left - step, left);
        if (!rest)
          return rest.error();
        Result<bool> failed = *rest ? fails(**rest) : Result<bool>(false);
        if (!failed)
          return failed.error();
        if (*failed)
          failing = std::move(**rest);
        else
          step /= 2;
      }
    }
    return failing;
  }

private:
  const BlameSeams &seams;
  Blame &blame;
};

} // namespace

Result<Blame> findBlame(const Prepared &whole, const BlameSeams &seams, uint32_t count) {
  Blame blame;
  Search search(seams, blame);
  Result<std::optional<Prepared>> piece = search.firstThatFails(Pieces::of(whole, count));
  // A group may stand where two pieces meet.
  bool isWhole = piece && !*piece;
  if (isWhole)
    piece = search.firstThatFails(Pieces::of(whole, 1));
  if (!piece)
    return piece.error();
  if (!*piece)
    return blame;
  std::string pieceSentence = blame.sentence;
  size_t size = operationsOf((*piece)->program()).size();
  Result<std::optional<Prepared>> alone =
      isWhole ? std::optional<Prepared>()
              : search.firstThatFails(Pieces::of(**piece, uint32_t(size)));
  if (!alone)
    return alone.error();
  if (*alone) {
    blame.program = std::move(**alone);
  } else {
    blame.sentence = pieceSentence;
    Result<Prepared> group = search.shrink(std::move(**piece));
    if (!group)
      return group.error();
    if (isWhole && operationsOf(group->program()).size() > kLargestGroup)
      return blame;
    blame.program = std::move(*group);
  }
  blame.operations = operationsOf(blame.program->program());
  blame.kind = blame.operations.size() == 1 ? Blame::Kind::Operation : Blame::Kind::Group;
  return blame;
}

std::string describe(const Blame &blame) {
  auto named = [](const BlamedOperation &one) {
    return fmt::format("{} ({})", one.name, one.place);
  };
  switch (blame.kind) {
  case Blame::Kind::Operation:
    return fmt::format("{} : {} alone is wrong: {}", named(blame.operations.front()),
                       blame.operations.front().types, blame.sentence);
  case Blame::Kind::Group: {
    std::vector<std::string> names;
    for (const BlamedOperation &one : blame.operations)
      names.push_back(named(one));
    return fmt::format("{} operations are wrong together, and right each alone: {}: {}",
                       blame.operations.size(), fmt::join(names, ", "), blame.sentence);
  }
  case Blame::Kind::Accumulation:
    break;
  }
  return fmt::format("each of {} pieces is right when it is fed right values: the error adds up "
                     "over many operations, or arises where pieces meet",
                     blame.tried);
}

} // namespace cupel::testbench::worker
