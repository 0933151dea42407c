// The running thread: its coordinates, its place in the source, and its faults.
#pragma once
#include "types.h"

namespace gpuint::simt {

struct Coordinates {
  uint3 block_index;
  dim3 block_dim;
  dim3 grid_dim;
};

// State of a fiber that kernel code may read.
struct ThreadView {
  uint3 index;
  const Coordinates* coordinates;
};

// `__thread`, not `thread_local`: constant initialisation, hence no wrapper call at each use.
// Fibers do not move to another host thread while a block runs, so that a compiler may keep the
// variable's address.
extern __thread ThreadView* self;

// A place in the source. GPUINT_SITE as a function's last parameter is the place of its call. A
// wrapper around a barrier, `void sync(GPUINT_SITE) { __syncthreads(GPUINT_PASS_SITE); }`, with
// both macros empty on CUDA, makes its callers the call sites that are compared and reported.
struct Site {
  const char* file;
  int line;

  static constexpr Site here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// Both abandon the block.
[[noreturn]] void trap(Site site);
[[noreturn]] void fail_assertion(const char* condition, const char* text, Site site);

}  // namespace gpuint::simt

#define GPUINT_SITE ::gpuint::simt::Site site = ::gpuint::simt::Site::here()
#define GPUINT_PASS_SITE site

#define threadIdx (::gpuint::simt::self->index)
#define blockIdx (::gpuint::simt::self->coordinates->block_index)
#define blockDim (::gpuint::simt::self->coordinates->block_dim)
#define gridDim (::gpuint::simt::self->coordinates->grid_dim)

[[noreturn]] inline void __trap(GPUINT_SITE) { gpuint::simt::trap(site); }

// GPUINT_ASSERT(condition, "what must hold"): always checked here, absent from CUDA builds.
#define GPUINT_ASSERT(condition, text) \
  ((condition) ? (void)0               \
               : ::gpuint::simt::fail_assertion(#condition, text, ::gpuint::simt::Site::here()))
