// `cupel opt`: programs in, verified and transformed, programs out. Called by the worker's main
// alone; reading and writing the formats is the business of cupel/ir/portable.
#pragma once

namespace cupel::cli {

/// `argv[0]` is the verb, the rest its arguments. Returns the exit code.
int runOpt(int argc, char **argv);

} // namespace cupel::cli
