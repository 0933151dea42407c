// The C interface of the SIMT shim, called by Rust (src/backend/simt.rs).
#pragma once
#include "../core/abi.cuh"

#include <cstddef>
#include <cstdint>

extern "C" {

using gpuint_operands = gpuint::Operands;
using gpuint_launch_bounds = gpuint::LaunchBounds;

struct gpuint_simt_options {
  uint64_t seed;      // of the schedule; 0: in order
  uint32_t max_grid;  // most blocks of a launch; 0: as many as the rows ask for
  uint32_t
      host_threads;  // 0: as many as the machine runs at a time; builds with a sanitizer use one
};

struct gpuint_simt_stats {
  uint64_t barriers;  // completed by whole blocks
  uint64_t warp_ops;  // completed by the lanes of a mask
  uint64_t switches;  // from fiber to fiber
  uint64_t blocks;
};

enum { GPUINT_SIMT_OK = 0, GPUINT_SIMT_UNKNOWN_KERNEL = 1, GPUINT_SIMT_FAULT = 2 };

// The bounds of a kernel's first phase: OK or UNKNOWN_KERNEL.
int gpuint_simt_launch_bounds(const char* kernel, gpuint_launch_bounds* out);

// Runs min(ceil(rows / rows_per_block), max_grid) blocks (clusters of blocks, but at least one), or
// fewer if they need scratch; likewise for each phase of a kernel with several phases. The launch
// provides scratch, workspace and counters; those of the operands are ignored. After FAULT,
// `message` (cut to `message_len` bytes, zero-terminated) describes the fault and its place;
// outputs are then undefined, and the next launch works. `stats` and `message` may be null.
int gpuint_simt_launch(const char* kernel, const gpuint_operands* operands,
                       const gpuint_simt_options* options, gpuint_simt_stats* stats, char* message,
                       size_t message_len);

// Plans the next upset of this process (upset.h), while no kernel runs. Returns the number of bits
// that the last plan has flipped, and stores the number of events of its kind.
uint64_t gpuint_simt_upset(uint32_t kind, uint64_t after, uint64_t seed, uint64_t* events);

// Runs `grid` blocks of a kernel of one phase with arguments of its own, as gpuint_simt_launch.
int gpuint_simt_launch_grid(const char* kernel, const void* arguments, uint32_t grid,
                            const gpuint_simt_options* options, gpuint_simt_stats* stats,
                            char* message, size_t message_len);

// Number of times that the kernels of this process have taken a rare path, and its name; null
// beyond the last path (rare.h).
const char* gpuint_simt_rare(uint32_t path, uint64_t* count);
}
