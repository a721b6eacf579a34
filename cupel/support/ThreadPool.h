// Threads for work that falls into pieces: one process-wide set of helpers that sleep until a
// caller has something to share. Used by kernels on large tensors. The caller always works too and
// never waits for a helper that has not begun, so a pool without helpers (after fork, or where the
// system has no threads left) is only slower. Pieces must not throw.

#pragma once

#include <cstdint>
#include <functional>

namespace cupel {

/// The cores this process may run on, at least 1.
int coreCount();

/// Calls `piece(i)` once for each i < count, on the calling thread and up to `threads - 1` helpers,
/// and returns when all are done. Within a piece it runs the pieces of an inner call one by one.
/// Where several callers work at once, no more helpers join than there are cores without work.
void runPieces(int64_t count, int threads, const std::function<void(int64_t)> &piece);

/// As `runPieces` for callers that come again within microseconds: for about as long as it takes to
/// wake a thread, helpers look out for the next call before they sleep.
void runBriefPieces(int64_t count, int threads, const std::function<void(int64_t)> &piece);

/// Where the pieces of a thread begin, of those that share `count`: the caller's are the first. It
/// has them all run, but for what others take of them who are done with theirs.
int64_t beginOfShare(int64_t count, int threads, int which);

/// Wakes up to `threads - 1` helpers that sleep, for a caller who will have brief pieces within microseconds: they look out for these
/// as they do behind the last ones.
void expectBriefPieces(int threads);

} // namespace cupel
