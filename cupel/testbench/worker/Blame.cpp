#include "cupel/testbench/worker/Blame.h"

#include "cupel/testbench/worker/Surroundings.h"

#include "cupel/compiler/analysis/Devices.h"
#include "cupel/ir/stablehlo/Stablehlo.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cupel::testbench::worker {

namespace {

/// More operations than these are not wrong together: an error adds up over them.
constexpr size_t kLargestGroup = 12;
/// Of so many operations nobody tries to leave away each alone.
constexpr size_t kLargestGrain = 64;

class Search {
public:
  Search(const BlameSeams &seams, Blame &blame) : seams(seams), blame(blame) {}

  /// The first piece that fails, with what it should give; nothing where none does.
  Result<std::optional<Prepared>> firstThatFails(Result<Pieces> pieces) {
    if (!pieces)
      return pieces.error();
    count = pieces->size();
    for (size_t i = 1;; ++i) {
      std::optional<Prepared> piece = pieces->next();
      if (!piece)
        return std::optional<Prepared>();
      tell(fmt::format("piece {} of {}", i, pieces->size()));
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
  }

  Result<bool> fails(Prepared &piece) { return note(seams.tryOnDevice(piece)); }

  /// The first of these choices that fails.
  Result<std::optional<size_t>> firstChoice(const Intermediates &from,
                                            const std::vector<std::vector<size_t>> &choices,
                                            compiler::Gives gives) {
    // So many at once as run side by side; those behind the first that fails are wasted.
    constexpr size_t kAtOnce = 8;
    for (size_t begin = 0; begin < choices.size(); begin += kAtOnce) {
      std::vector<Prepared> made;
      std::vector<size_t> numbers;
      for (size_t i = begin; i < std::min(choices.size(), begin + kAtOnce); ++i) {
        Result<Prepared> one = from.select(choices[i], gives);
        // What cannot be made a program of its own, or gives nothing, cannot be wrong.
        if (!one || one->workload.expected.front().empty())
          continue;
        made.push_back(std::move(*one));
        numbers.push_back(i);
      }
      std::vector<Prepared *> programs;
      for (Prepared &one : made)
        programs.push_back(&one);
      if (!seams.tryAll) {
        for (size_t i = 0; i < programs.size(); ++i) {
          Result<bool> failed = fails(*programs[i]);
          if (!failed)
            return failed.error();
          if (*failed)
            return std::optional(numbers[i]);
        }
        continue;
      }
      std::vector<Result<TriedPiece>> tried = seams.tryAll(programs);
      for (size_t i = 0; i < tried.size(); ++i) {
        Result<bool> failed = note(tried[i]);
        if (!failed)
          return failed.error();
        if (*failed)
          return std::optional(numbers[i]);
      }
    }
    return std::optional<size_t>();
  }

  void tell(const std::string &line) const {
    if (seams.tell)
      seams.tell(line);
  }

  size_t count = 0; ///< Of the pieces that were looked at last.

private:
  Result<bool> note(Result<TriedPiece> tried) {
    ++blame.probes;
    if (!tried)
      return tried.error();
    if (tried->passed)
      return false;
    blame.tried = std::move(*tried);
    blame.sentence = blame.tried.sentence;
    return true;
  }

  const BlameSeams &seams;
  Blame &blame;
};

/// Into how many pieces a program is cut, so that what lies between two cuts fits the bound.
uint32_t piecesFor(const Prepared &whole, uint32_t count, uint64_t memoryBytes) {
  if (!memoryBytes)
    return count;
  uint64_t bytes = 0;
  mlir::cast<mlir::ModuleOp>(whole.program().module)->walk([&](mlir::Operation *op) {
    for (mlir::Value value : op->getResults())
      if (auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
          type && type.hasStaticShape() && type.getElementType().isIntOrFloat())
        bytes += uint64_t(type.getNumElements()) *
                 std::max(1u, type.getElementTypeBitWidth() / 8);
  });
  // Operations differ in size: half of the bound for the average.
  return uint32_t(std::max<uint64_t>(count, 2 * bytes / memoryBytes));
}

std::vector<size_t> upTo(size_t size) {
  std::vector<size_t> all(size);
  for (size_t i = 0; i < size; ++i)
    all[i] = i;
  return all;
}

/// Among operations that are wrong together: the one whose result is the first wrong value when all
/// of their results are asked for. Nothing where that makes them right.
Result<std::optional<size_t>> firstWrongAmong(const Intermediates &all,
                                              const std::vector<size_t> &group, Search &search,
                                              Blame &blame) {
  const TriedPiece before = blame.tried;
  Result<Prepared> program = all.select(group, compiler::Gives::Everything);
  if (!program)
    return std::optional<size_t>();
  search.tell("all intermediate values at once");
  Result<bool> failed = search.fails(*program);
  if (!failed)
    return failed.error();
  std::optional<size_t> found;
  if (*failed && !blame.tried.failure) {
    // Results come in the order of operations, those of each process again.
    std::vector<size_t> givers;
    for (const Intermediates::Place &place : all.places())
      if (std::ranges::binary_search(group, place.atom))
        givers.push_back(place.atom);
    if (!givers.empty())
      found = givers[blame.tried.output % givers.size()];
  }
  if (!found) {
    blame.tried = before;
    blame.sentence = before.sentence;
  }
  return found;
}

/// Blames the smallest part of a piece that fails. False where that is no small part.
Result<bool> blameWithin(Prepared piece, const BlameSeams &seams, Search &search, Blame &blame,
                         bool isWhole) {
  const TriedPiece whole = blame.tried;
  Result<Intermediates> all = Intermediates::of(piece, seams.evaluate, seams.memoryBytes);
  if (!all)
    return all.error();
  // Pieces of the whole were right: no operation of it fails alone.
  if (!isWhole) {
    std::vector<std::vector<size_t>> singles;
    for (size_t i = 0; i < all->size(); ++i)
      singles.push_back({i});
    search.tell(fmt::format("{} operations, one by one", singles.size()));
    Result<std::optional<size_t>> single =
        search.firstChoice(*all, singles, compiler::Gives::WhatIsNeeded);
    if (!single)
      return single.error();
    if (*single) {
      Result<Prepared> program = all->select(singles[**single]);
      if (!program)
        return program.error();
      blame.program = std::move(*program);
      blame.operations = all->operations(**single);
      blame.kind =
          blame.operations.size() == 1 ? Blame::Kind::Operation : Blame::Kind::Group;
      return true;
    }
  }
  blame.tried = whole;
  blame.sentence = whole.sentence;
  Result<std::vector<size_t>> group =
      smallestChoice(*all, seams, compiler::Gives::WhatIsNeeded, blame);
  if (!group)
    return group.error();
  Result<Prepared> program = all->select(*group);
  if (!program)
    return program.error();
  blame.program = std::move(*program);
  const TriedPiece smallest = blame.tried;
  if (group->size() > 1 && !smallest.failure) {
    Result<std::optional<size_t>> wrong = firstWrongAmong(*all, *group, search, blame);
    if (!wrong)
      return wrong.error();
    if (*wrong && group->size() > kLargestGroup) {
      blame.operations = all->operations(**wrong);
      blame.kind = Blame::Kind::Context;
      return true;
    }
    if (*wrong)
      blame.firstWrong = all->operations(**wrong).front();
    blame.tried = smallest;
    blame.sentence = smallest.sentence;
  }
  if (group->size() > kLargestGroup && isWhole) {
    blame.program.reset();
    return false;
  }
  for (size_t atom : *group)
    blame.operations.insert(blame.operations.end(), all->operations(atom).begin(),
                            all->operations(atom).end());
  blame.kind = blame.operations.size() == 1 ? Blame::Kind::Operation : Blame::Kind::Group;
  return true;
}

/// A group that is wrong by itself may be right where it stands: a fault may count operations, or
/// look at the whole program. Where the first wrong value of the whole program is the result of
/// another operation, that one is to blame.
Status checkInContext(const Prepared &whole, const BlameSeams &seams, Search &search,
                      Blame &blame) {
  Result<Intermediates> all = Intermediates::of(whole, seams.evaluate, seams.memoryBytes);
  if (!all)
    return {}; // It takes too much: the group is what is known.
  const TriedPiece before = blame.tried;
  Result<std::optional<size_t>> wrong =
      firstWrongAmong(*all, upTo(all->size()), search, blame);
  if (!wrong)
    return wrong.error();
  if (*wrong) {
    const std::vector<BlamedOperation> &found = all->operations(**wrong);
    if (std::ranges::find(blame.operations, found.front()) == blame.operations.end()) {
      Result<Prepared> program = all->select(upTo(all->size()), compiler::Gives::Everything);
      if (!program)
        return program.error();
      blame.kind = Blame::Kind::Context;
      blame.operations = found;
      blame.firstWrong.reset();
      blame.program = std::move(*program);
      return {};
    }
  }
  blame.tried = before;
  blame.sentence = before.sentence;
  return {};
}

/// An operation that is wrong by itself may be right where it stands: a fault may be about arguments
/// of programs. Where the first wrong value of the whole program is that of another one behind it,
/// which is wrong by itself too, that one is to blame.
Status checkAloneInContext(const Prepared &whole, const BlameSeams &seams, Search &search,
                           Blame &blame) {
  Result<Intermediates> all = Intermediates::of(whole, seams.evaluate, seams.memoryBytes);
  if (!all || all->size() < 2)
    return {}; // It takes too much, or is all there is.
  auto isBlamed = [&](size_t atom) { return all->operations(atom) == blame.operations; };
  const TriedPiece before = blame.tried;
  auto restore = [&] {
    blame.tried = before;
    blame.sentence = before.sentence;
  };
  Result<std::optional<size_t>> wrong = firstWrongAmong(*all, upTo(all->size()), search, blame);
  if (!wrong)
    return wrong.error();
  restore();
  if (!*wrong || isBlamed(**wrong))
    return {};
  // Behind the one that is blamed: it stands in front of it nowhere.
  for (size_t atom = **wrong; atom < all->size(); ++atom)
    if (isBlamed(atom))
      return {};
  Result<Prepared> alone = all->select({**wrong});
  if (!alone || alone->workload.expected.front().empty() ||
      all->operations(**wrong).size() != 1)
    return {};
  Result<bool> failed = search.fails(*alone);
  if (!failed)
    return failed.error();
  if (!*failed) {
    restore();
    return {};
  }
  blame.operations = all->operations(**wrong);
  blame.program = std::move(*alone);
  return {};
}

/// What fails where the program says that arguments may be overwritten, or in functions that it calls,
/// and nowhere else.
Result<bool> blameAround(Surrounding around, const Prepared &whole, const BlameSeams &seams,
                         uint32_t count, Blame &blame) {
  auto module = mlir::cast<mlir::ModuleOp>(whole.program().module);
  mlir::func::FuncOp entry = compiler::entryOf(module);
  bool isThere = false;
  if (around == Surrounding::DonatedArguments)
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      isThere |= entry.getArgAttr(i, "tf.aliasing_output") || entry.getArgAttr(i, "jax.buffer_donor");
  else
    entry.walk([&](mlir::func::CallOp) { isThere = true; });
  return isThere ? findBlameIn(around, whole, seams, count, blame) : Result<bool>(false);
}

/// A device may have a kernel of its own for a composite, which is wrong where what it stands for is
/// right: the same search with composites left whole.
Result<bool> blameComposites(const Prepared &whole, const BlameSeams &seams, uint32_t count,
                             Blame &blame) {
  Prepared kept = whole.clone();
  bool isThere = false;
  kept.read->module->walk([&](stablehlo::CompositeOp) { isThere = true; });
  if (!isThere || (*kept.read->module)->hasAttr(compiler::kKeepsCompositesAttr))
    return false;
  (*kept.read->module)
      ->setDiscardableAttr(compiler::kKeepsCompositesAttr,
                           mlir::UnitAttr::get(kept.read->module->getContext()));
  Result<Blame> found = findBlame(kept, seams, count);
  if (!found || !found->program || found->kind == Blame::Kind::Accumulation)
    return false;
  found->probes += blame.probes;
  blame = std::move(*found);
  return true;
}

} // namespace

Result<std::vector<size_t>> smallestChoice(const Intermediates &from, const BlameSeams &seams,
                                           compiler::Gives gives, Blame &blame) {
  Search search(seams, blame);
  std::vector<size_t> chosen = upTo(from.size());
  for (size_t grains = 2; chosen.size() > 1;) {
    grains = std::min(grains, chosen.size());
    search.tell(fmt::format("{} operations, in {} parts", chosen.size(), grains));
    auto boundary = [&](size_t i) { return chosen.begin() + ptrdiff_t(chosen.size() * i / grains); };
    // Each part alone, then all but each.
    std::vector<std::vector<size_t>> choices;
    for (size_t i = 0; i < grains; ++i)
      choices.emplace_back(boundary(i), boundary(i + 1));
    size_t parts = choices.size();
    for (size_t i = 0; grains > 2 && i < grains; ++i) {
      std::vector<size_t> &rest = choices.emplace_back(chosen.begin(), boundary(i));
      rest.insert(rest.end(), boundary(i + 1), chosen.end());
    }
    Result<std::optional<size_t>> found = search.firstChoice(from, choices, gives);
    if (!found)
      return found.error();
    if (*found) {
      chosen = choices[**found];
      grains = **found < parts ? 2 : std::max<size_t>(grains - 1, 2);
      continue;
    }
    if (grains == chosen.size() || grains >= kLargestGrain)
      break;
    grains *= 2;
  }
  return chosen;
}

Result<Blame> findBlame(const Prepared &whole, const BlameSeams &seams, uint32_t count) {
  Blame blame;
  Search search(seams, blame);
  Result<std::optional<Prepared>> piece =
      search.firstThatFails(Pieces::of(whole, piecesFor(whole, count, seams.memoryBytes), kSearched));
  // A group may stand where two pieces meet: cuts at other places, then none.
  if (piece && !*piece && search.count > 2)
    piece = search.firstThatFails(Pieces::of(whole, uint32_t(search.count / 2) | 1, kSearched));
  bool isWhole = piece && !*piece;
  if (isWhole)
    piece = search.firstThatFails(Pieces::of(whole, 1, kSearched));
  if (!piece)
    return piece.error();
  if (!*piece) {
    // As one list of operations it is right: it is something around them.
    if (Result<bool> found = blameComposites(whole, seams, count, blame); !found)
      return found.error();
    else if (*found)
      return blame;
    for (Surrounding around : {Surrounding::DonatedArguments, Surrounding::Call}) {
      Result<bool> found = blameAround(around, whole, seams, count, blame);
      if (!found)
        return found.error();
      if (*found)
        return blame;
    }
    if (Result<bool> opened = lookIntoOpened(whole, seams, count, blame); !opened)
      return opened.error();
    else if (*opened)
      return blame;
    blame.needsCalls = true;
    return blame;
  }
  Result<bool> found = blameWithin(std::move(**piece), seams, search, blame, isWhole);
  if (!found)
    return found.error();
  if (!*found)
    return blame;
  if (blame.kind == Blame::Kind::Group && !blame.tried.failure && !isWhole)
    if (Status checked = checkInContext(whole, seams, search, blame); !checked)
      return checked.error();
  if (blame.kind == Blame::Kind::Group && blame.program && !seams.isPlaced) {
    const Prepared group = blame.program->clone();
    if (Result<bool> opened = lookIntoOpened(group, seams, count, blame); !opened)
      return opened.error();
    else if (*opened)
      return blame;
  }
  if (blame.kind == Blame::Kind::Operation && !blame.tried.failure && !isWhole)
    if (Status checked = checkAloneInContext(whole, seams, search, blame); !checked)
      return checked.error();
  if (blame.kind == Blame::Kind::Operation)
    if (Status looked = lookAtConstants(blame, seams); !looked)
      return looked.error();
  if (blame.kind == Blame::Kind::Operation)
    if (Status looked = lookInside(blame, seams, count); !looked)
      return looked.error();
  return blame;
}

std::string describe(const Blame &blame) {
  auto named = [](const BlamedOperation &one) {
    return fmt::format("{} ({})", one.name, one.place);
  };
  std::string inside = blame.inside.empty() ? "" : " " + blame.inside;
  if (!blame.onlyIn.empty())
    inside += fmt::format(" {}, and not in the open,", blame.onlyIn);
  const char *wrong = blame.tried.failure ? "fails" : "is wrong";
  switch (blame.kind) {
  case Blame::Kind::Operation:
    return fmt::format("{} : {}{} alone {}: {}", named(blame.operations.front()),
                       blame.operations.front().types, inside, wrong, blame.sentence);
  case Blame::Kind::Group: {
    std::vector<std::string> names;
    for (const BlamedOperation &one : blame.operations)
      names.push_back(named(one));
    return fmt::format("{} operations{} {} together, and {} each alone: {}: {}",
                       blame.operations.size(), inside, blame.tried.failure ? "fail" : "are wrong",
                       blame.tried.failure ? "run" : "right", fmt::join(names, ", "),
                       blame.sentence);
  }
  case Blame::Kind::Context:
    return fmt::format("{} : {} {} among many others, and right alone: {}",
                       named(blame.operations.front()), blame.operations.front().types, wrong,
                       blame.sentence);
  case Blame::Kind::Accumulation:
    break;
  }
  return fmt::format("each of {} pieces is right when it is fed right values: the error adds up "
                     "over many operations, or arises where pieces meet",
                     blame.probes);
}

} // namespace cupel::testbench::worker
