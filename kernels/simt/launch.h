// A grid over host threads.
//
// Blocks are handed out in ascending order. After a fault no further block starts, but those below
// it, which have started, finish: the fault that is reported is the one of the lowest block that
// has any, whatever the number of host threads.
#pragma once
#include "block.h"

namespace gpuint::simt {

// False after a fault, which is then described in `message`. `host_threads` 0: as many as the
// machine runs at a time. Throws std::bad_alloc where there is not even memory for one block.
bool run_grid(const Launch& launch, u32 host_threads, Stats& stats, std::string& message);

}  // namespace gpuint::simt
