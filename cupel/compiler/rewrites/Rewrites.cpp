#include "cupel/compiler/rewrites/Rewrites.h"

#include "cupel/reference/Plan.h"

#include "mlir/IR/Action.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/Pass.h"

#include <algorithm>
#include <utility>

namespace cupel::compiler {

using namespace mlir;

namespace {

class RewriteAction : public tracing::ActionImpl<RewriteAction> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RewriteAction)
  static constexpr StringLiteral tag = "cupel-rewrite";

  RewriteAction(ArrayRef<IRUnit> units, Operation *op, StringRef pattern)
      : ActionImpl(units), op(op), pattern(pattern) {}

  Operation *op;
  StringRef pattern;
};

} // namespace

bool mayRewrite(Operation *op, StringRef pattern) {
  bool isAllowed = false;
  op->getContext()->executeAction<RewriteAction>([&] { isAllowed = true; }, {}, op, pattern);
  return isAllowed;
}

std::string describe(const Rewrite &rewrite) {
  return "rewrite " + std::to_string(rewrite.number) + ": pass " + rewrite.pass + ", pattern " +
         rewrite.pattern + " at " + rewrite.operation + " (" + rewrite.location + ")" +
         (rewrite.isDone ? "" : ", left out");
}

RewriteCounter::RewriteCounter(MLIRContext &context, int64_t limit)
    : context(context), limit(limit) {
  context.registerActionHandler([this](function_ref<void()> act, const tracing::Action &action) {
    // Told by its tag: what identifies the class is another thing in MLIR's shared library.
    if (action.getTag() == PassExecutionAction::tag) {
      const auto &one = static_cast<const PassExecutionAction &>(action);
      std::string before = std::exchange(pass, one.getPass().getArgument().str());
      act();
      pass = std::move(before);
      return;
    }
    const auto *one = dyn_cast<RewriteAction>(&action);
    if (!one)
      return act();
    int64_t number = int64_t(asked.size()) + 1;
    bool isDone = this->limit == kNoLimit || number <= this->limit;
    asked.push_back({number, pass, one->pattern.str(), one->op->getName().getStringRef().str(),
                     reference::describeLocation(one->op->getLoc()), isDone});
    if (isDone)
      act();
  });
}

RewriteCounter::~RewriteCounter() { context.registerActionHandler(nullptr); }

int64_t RewriteCounter::done() const {
  return std::ranges::count_if(asked, [](const Rewrite &one) { return one.isDone; });
}

const Rewrite *RewriteCounter::last() const {
  int64_t count = done();
  return count == 0 ? nullptr : &asked[size_t(count - 1)];
}

std::string RewriteCounter::summary() const {
  return std::to_string(done()) + " of " + std::to_string(asked.size());
}

} // namespace cupel::compiler
