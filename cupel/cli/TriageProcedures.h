// `cupel triage PROCEDURE TEST`: the verbs below `cupel triage` that take one test through a table of
// steps.
#pragma once

#include "cupel/cli/Verbs.h"

#include <optional>

namespace cupel::cli {

/// Runs the procedure that the first word names; nothing where it names none.
std::optional<int> runTriageProcedure(const Arguments &arguments);

} // namespace cupel::cli
