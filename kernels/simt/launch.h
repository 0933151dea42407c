// A grid over host threads.
//
// Blocks are started in ascending order. After a fault no further block starts, but the started
// blocks below it finish, so that the reported fault is that of the lowest block with a fault, for
// any number of host threads.
#pragma once
#include "block.h"

namespace gpuint::simt {

// Returns false after a fault, described in `message`. `host_threads` 0: as many as the machine
// runs at a time. Throws std::bad_alloc if there is not even memory for one block.
bool run_grid(const Launch& launch, u32 host_threads, Stats& stats, std::string& message);

}  // namespace gpuint::simt
