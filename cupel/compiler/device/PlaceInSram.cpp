// The plan of a device's SRAM: pieces of the arena, chosen by how often they are touched for the time
// that they are needed, each as low as it fits beside those that are needed at the same time.

#include "cupel/compiler/device/Passes.h"
#include "cupel/compiler/rewrites/Rewrites.h"
#include "cupel/compiler/tensor/TensorIr.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace cupel::dev {

#define GEN_PASS_DEF_PLACEINSRAM
#include "cupel/compiler/device/Passes.h.inc"

static int64_t bytesIn(Value buffer) {
  return byteSizeOf(cast<BufferType>(buffer.getType()).getTensor()).value_or(0);
}

bool isInSram(ProgramOp program, Value buffer) {
  auto place = rootOf(buffer).getDefiningOp<PlaceOp>();
  return place && int64_t(place.getOffset()) < int64_t(program.getSram().value_or(0));
}

SramPlan sramPlanOf(ProgramOp program) {
  SramPlan plan;
  plan.bytes = int64_t(program.getSram().value_or(0));
  for (auto place : program.getBody().getOps<PlaceOp>())
    if (isInSram(program, place.getBuffer())) {
      ++plan.buffers;
    } else {
      ++plan.spilled;
      plan.spilledBytes += bytesIn(place.getBuffer());
    }
  return plan;
}

namespace {

/// Buffers that are written one over the other, which lie in one place.
struct Piece {
  SmallVector<PlaceOp, 2> places;
  int64_t first = 0, last = 0; // Launches.
  int64_t bytes = 0;
  int64_t touched = 0; // How often it is read or written.
  int64_t offset = 0;
  size_t number = 0; // In the order of the program: plans are the same wherever they are made.

  bool meets(const Piece &other) const { return first <= other.last && other.first <= last; }
  double density() const { return double(touched) / double(last - first + 1); }
};

class Planner {
public:
  explicit Planner(ProgramOp program) : program(program) {}

  /// The bytes of SRAM that were taken.
  int64_t run(int64_t capacity) {
    findPieces();
    llvm::sort(pieces, [](const Piece &a, const Piece &b) {
      return std::make_tuple(-a.density(), a.bytes, a.number) < std::make_tuple(-b.density(), b.bytes, b.number);
    });
    SmallVector<Piece *> fast, slow;
    for (Piece &piece : pieces) {
      piece.offset = lowest(piece, fast);
      bool fits = piece.offset + piece.bytes <= capacity &&
                  compiler::mayRewrite(piece.places.front(), "place-in-sram");
      (fits ? fast : slow).push_back(&piece);
    }
    int64_t sram = 0, dram = 0;
    for (Piece *piece : fast)
      sram = std::max(sram, piece->offset + piece->bytes);
    llvm::sort(slow, [](Piece *a, Piece *b) {
      return std::pair(-a->bytes, a->number) < std::pair(-b->bytes, b->number);
    });
    SmallVector<Piece *> behind;
    for (Piece *piece : slow) {
      piece->offset = lowest(*piece, behind);
      behind.push_back(piece);
      dram = std::max(dram, piece->offset + piece->bytes);
    }
    for (Piece *piece : slow)
      piece->offset += sram;
    for (Piece &piece : pieces)
      for (PlaceOp place : piece.places)
        place.setOffset(piece.offset);
    program.setArena(sram + dram);
    program.setSram(sram);
    return sram;
  }

private:
  void findPieces() {
    llvm::MapVector<Operation *, Piece> single;
    for (auto place : program.getBody().getOps<PlaceOp>()) {
      int64_t bytes = bytesIn(place.getBuffer());
      single[place].bytes = std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
    }
    llvm::EquivalenceClasses<Operation *> shared;
    int64_t time = 0;
    for (auto launch : program.getBody().getOps<LaunchOp>()) {
      ++time;
      for (Value buffer : launch.getReads())
        if (Operation *place = placeOf(buffer)) {
          single[place].last = time;
          ++single[place].touched;
        }
      for (Value buffer : launch.getWrites())
        if (Operation *place = placeOf(buffer)) {
          Piece &piece = single[place];
          piece.first = piece.last = time;
          ++piece.touched;
        }
    }
    for (auto &[place, piece] : single)
      shared.insert(place);
    time = 0;
    for (auto launch : program.getBody().getOps<LaunchOp>()) {
      ++time;
      for (Value written : launch.getWrites())
        for (Value read : launch.getReads()) {
          Operation *to = placeOf(written), *from = placeOf(read);
          if (to && from && single[from].last == time &&
              cast<PlaceOp>(to).getOffset() == cast<PlaceOp>(from).getOffset())
            shared.unionSets(to, from);
        }
    }
    llvm::MapVector<Operation *, Piece> joined;
    for (auto &[place, piece] : single) {
      auto [entry, isNew] = joined.insert({shared.getLeaderValue(place), piece});
      Piece &whole = entry->second;
      if (!isNew) {
        whole.first = std::min(whole.first, piece.first);
        whole.last = std::max(whole.last, piece.last);
        whole.bytes = std::max(whole.bytes, piece.bytes);
        whole.touched += piece.touched;
      }
      whole.places.push_back(cast<PlaceOp>(place));
    }
    for (auto &[place, piece] : joined) {
      piece.number = pieces.size();
      pieces.push_back(std::move(piece));
    }
  }

  static Operation *placeOf(Value buffer) { return rootOf(buffer).getDefiningOp<PlaceOp>(); }

  /// The lowest place beside those that are needed at the same time.
  static int64_t lowest(const Piece &piece, ArrayRef<Piece *> placed) {
    SmallVector<std::pair<int64_t, int64_t>> taken;
    for (const Piece *other : placed)
      if (piece.meets(*other))
        taken.push_back({other->offset, other->offset + other->bytes});
    llvm::sort(taken);
    int64_t offset = 0;
    for (auto [begin, end] : taken) {
      if (begin - offset >= piece.bytes)
        break;
      offset = std::max(offset, end);
    }
    return offset;
  }

  ProgramOp program;
  SmallVector<Piece> pieces;
};

class PlaceInSram : public impl::PlaceInSramBase<PlaceInSram> {
public:
  using PlaceInSramBase::PlaceInSramBase;

  void runOnOperation() override {
    if (auto main = getOperation().lookupSymbol<ProgramOp>("main"))
      visit(main);
    // Whoever runs others has been visited before them.
    for (ProgramOp program : llvm::reverse(order)) {
      int64_t room = rooms.try_emplace(program, bytes).first->second;
      int64_t left = room - Planner(program).run(room);
      for (ProgramOp step : stepsOf(program)) {
        auto [entry, isNew] = rooms.try_emplace(step, left);
        entry->second = std::min(entry->second, left);
      }
    }
  }

private:
  SmallVector<ProgramOp> stepsOf(ProgramOp program) {
    SmallVector<ProgramOp> steps;
    auto add = [&](FlatSymbolRefAttr name) {
      if (auto step = getOperation().lookupSymbol<ProgramOp>(name.getAttr()))
        steps.push_back(step);
    };
    for (auto launch : program.getBody().getOps<LaunchOp>()) {
      Operation &op = workOf(launch);
      if (auto loop = dyn_cast<tir::WhileOp>(op)) {
        add(loop.getConditionAttr());
        add(loop.getBodyAttr());
      } else if (auto branches = dyn_cast<tir::CaseOp>(op)) {
        for (auto branch : branches.getBranches().getAsRange<FlatSymbolRefAttr>())
          add(branch);
      }
    }
    return steps;
  }

  /// Those that a program runs come before it.
  void visit(ProgramOp program) {
    if (!seen.insert(program).second)
      return;
    for (ProgramOp step : stepsOf(program))
      visit(step);
    order.push_back(program);
  }

  SmallVector<ProgramOp> order;
  llvm::DenseSet<Operation *> seen;
  llvm::DenseMap<Operation *, int64_t> rooms;
};

} // namespace
} // namespace cupel::dev
