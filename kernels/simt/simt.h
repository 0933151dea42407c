// SIMT host shim: CUDA's names for the host compiler, so that the kernels of this crate run on a
// CPU under observation.
//
// Kernels include this through platform.cuh if GPUINT_SIMT is defined, as ordinary CUDA. Every CUDA
// thread of a block is a separate fiber. A fiber runs until it waits (`__syncthreads` for the
// block, a `*_sync` intrinsic for the lanes in its mask), then the next ready fiber continues. The
// launch's seed determines the order, which is the same on every run.
//
//   file           concern                                           used by
//   types.h        qualifiers, dim3, vector types                    kernels
//   thread.h       threadIdx and its like, call sites, assertions    kernels
//   arithmetic.h   integer intrinsics                                kernels
//   memory.h       atomics, cached loads, fences                     kernels
//   collective.h   barriers, shuffles, votes, reductions             kernels
//   rare.h         paths that few operands take, counted             kernels (GPUINT_RARE)
//   registry.h     kernels by name                                   kernels and launches
//   fiber.h        a stack and a context switch, for sanitizers too  block
//   block.h        one block: scheduler, rendezvous, faults          launch
//   launch.h       a grid over host threads                          simt.cpp
//   simt.cpp       registry and C interface (abi.h)                  the Rust side
//
// Rules for kernels. One grid and block dimension; at most 1024 threads; shared memory only through
// the pointer passed to `run` (there is no `__shared__` here, because one buffer of exactly the
// declared size can be guarded). That buffer starts each block with a pattern that depends on the
// seed, so that no kernel works only on zeroed memory. Kernel code must not own resources: a block
// that faults is abandoned without unwinding.
//
// Detected faults. A fault abandons the block and is returned from the launch as text; it never
// ends the process:
//   - deadlock; a divergent `__syncthreads` (two call sites, or some threads left the kernel);
//   - a lane missing from its own mask, a mask with lanes that have left or never existed, lanes of
//     one mask in different operations, lanes that wait for each other with different masks;
//   - `__trap()`, a false GPUINT_ASSERT, a write just outside of shared memory.
// The text names the kernel, block and thread, the fault and its place, and the state of every
// thread of the block. A shuffle from a lane outside of the mask is undefined in CUDA; here it
// returns a pattern. With -fsanitize=thread, a missing barrier is reported as a data race: fibers
// share one host thread, but ThreadSanitizer sees each as a thread, ordered only by barriers and
// rendezvous. With -fsanitize=address,undefined, any access outside of shared memory or operands is
// reported. Such builds run one block after another, each ordered after the one before: races
// between blocks are not reported.
//
// Not modelled: timing, warp-synchronous execution, weak memory order, spinning on another thread's
// progress (hangs).
//
// Build: C++17. The library compiles *.cpp of this folder except selftest.cpp as one unit, and each
// unit of kernels, into shared objects, which it loads at their first use
// (src/backend/simt/compiler.rs). Programs with sanitizers link all of them. ThreadSanitizer
// handles up to 256 threads a block in reasonable time, and needs `setarch -R`. See selftest.sh for
// all modes. SIMT_UCONTEXT selects the portable context switch (slow) instead of the assembly for
// x86-64 and aarch64.
#pragma once
#include "types.h"
#include "thread.h"
#include "arithmetic.h"
#include "memory.h"
#include "collective.h"
#include "rare.h"
#include "registry.h"
