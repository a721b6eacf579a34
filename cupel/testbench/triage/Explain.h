// The last step of a test: from what happened and what was expected to bring-up status, reasons and
// guidance. The runner calls `explain` once for every final record, before it is journalled.
// Only fills in fields that the runner leaves empty; never changes the outcome.
#pragma once

#include "cupel/results/Record.h"
#include "cupel/testbench/config/Expectation.h"
#include "cupel/testbench/triage/Reasons.h"

#include <string>
#include <vector>

namespace cupel::testbench::triage {

/// A PCC must clear a threshold by more than this before anything is advised or a threshold follows.
constexpr double kPccMargin = 0.004;

/// Sets bringupStatus, reasons, guidance and the notes `ambiguous` and `unclassified`.
void explain(results::TestRecord &record, const config::Expectation &expectation,
             const ReasonTable &reasons);

/// How far bring-up came, from the last stage reached and the figures.
config::BringupStatus bringupStatus(const results::TestRecord &record,
                                    const config::Expectation &expectation);

/// What the configuration should say now: ENABLE_PCC, ENABLE_PCC_099, RAISE_PCC, RAISE_PCC_099,
/// RM_XFAIL, ADD_CONFIG; most tests get none.
std::vector<std::string> guidance(const results::TestRecord &record,
                                  const config::Expectation &expectation);

/// The reasons of a record by the table and by what the outcome itself says; UNCLASSIFIED with the
/// first telling line where nothing matches, none where nothing is wrong.
std::vector<results::ReasonRecord> reasonsOf(const results::TestRecord &record,
                                             const config::Expectation &expectation,
                                             const ReasonTable &reasons);

} // namespace cupel::testbench::triage
