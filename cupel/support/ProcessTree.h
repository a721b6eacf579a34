// Processes below a process, read from /proc: who they are, how much memory they hold, and ending
// them all, also those that left their group or session. Used by the runner, by the guards of its
// workers and by cupel-device; everything works without allocating, because a guard is a fork of a process with
// threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <sys/types.h>

namespace cupel {

/// Children of `process`, of all its threads, at most as many as `into` takes; how many were found.
size_t childrenOf(pid_t process, std::span<pid_t> into);

/// Whether a process has ended: it is gone, or nobody has asked yet how it ended.
bool hasEnded(pid_t process);

/// All processes below `process`, nearest first, likewise; without those in `leftOut` and what is
/// below them.
size_t descendantsOf(pid_t process, std::span<pid_t> into, std::span<const pid_t> leftOut = {});

/// Ends all processes below `process` (not itself) with SIGKILL, again and again until none is
/// left or `patienceMilliseconds` have passed; whether none is left. `spare` itself is let live,
/// and so is everything in and below `leftOut`.
bool killDescendants(pid_t process, int patienceMilliseconds, pid_t spare = 0,
                     std::span<const pid_t> leftOut = {});

/// Bytes in memory of one process; `shared` pages count or do not. 0 where it is gone.
uint64_t residentBytes(pid_t process, bool shared);

/// Bytes in memory of a process and of what its descendants hold for themselves.
uint64_t residentBytesOfTree(pid_t process);

/// Bytes that may be taken on this machine before it has to swap or to end processes; nothing where the
/// system does not say. It gives out more than it has, so who takes much asks first.
std::optional<uint64_t> availableMemory();
/// Whether so much can be taken; what is small is not asked for.
bool hasRoomFor(uint64_t bytes);

} // namespace cupel
