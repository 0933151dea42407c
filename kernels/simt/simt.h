// SIMT host shim: CUDA's names for the host compiler, so that the very kernels of this crate run on
// a CPU and are watched while they run.
//
// Kernels include this through platform.cuh when GPUINT_SIMT is defined, and see ordinary CUDA.
// Behind the names, every CUDA thread of a block is a fiber of its own. A fiber runs until it waits
// (`__syncthreads` for the block, a `*_sync` intrinsic for the lanes in its mask), then the next
// ready fiber goes on. Which one is a matter of the launch's seed, the same on every run.
//
//   file           concern                                           seen by
//   types.h        qualifiers, dim3, vector types                    kernels
//   thread.h       threadIdx and its like, call sites, assertions    kernels
//   arithmetic.h   integer intrinsics                                kernels
//   memory.h       atomics, cached loads, fences                     kernels
//   collective.h   barriers, shuffles, votes, reductions             kernels
//   rare.h         paths that few operands take, counted             kernels (through GPUINT_RARE)
//   registry.h     kernels by name                                   kernels (through
//   GPUINT_KERNEL), launches fiber.h        a stack and a context switch, sanitizers told     block
//   block.h        one block: scheduler, rendezvous, faults          launch
//   launch.h       a grid over host threads                          simt.cpp
//   simt.cpp       registry and C interface (abi.h)                  the Rust side
//
// What a kernel may use. One grid and block dimension; at most 1024 threads; shared memory only
// through the pointer handed to `run` (there is no `__shared__` here, on purpose: one buffer of
// exactly the declared size is what can be watched). That buffer starts each block filled with a
// pattern that depends on the seed, so that nothing works by luck of zeroed memory. Kernel code
// must not own resources: a block that faults is abandoned where it stands, without unwinding.
//
// What is detected. A fault abandons the block and comes back from the launch as text; it never
// ends the process:
//   - deadlock; `__syncthreads` that is divergent (two call sites, or some threads left the
//   kernel);
//   - a lane missing from its own mask, a mask that names lanes that left or never were, lanes of
//   one mask in different
//     operations, lanes that wait for each other with different masks;
//   - `__trap()`, a false GPUINT_ASSERT, a write just outside of shared memory.
// The text names kernel, block and thread, what it found and where, and what every thread of the
// block was doing. A shuffle from a lane outside of the mask is undefined in CUDA: it yields a
// pattern here. Built with -fsanitize=thread, a missing barrier is reported as a data race: fibers
// share one host thread, but ThreadSanitizer is told of each as a thread and of no order between
// them but barriers and rendezvous. Built with -fsanitize=address,undefined, any access outside of
// shared memory or operands is reported. Such builds run one block after another, each ordered
// after the one before: races between blocks are not reported.
//
// What is not modelled: timing, warp-synchronous execution, weak memory order, spinning on another
// thread's progress (hangs).
//
// Build: C++17. Compile *.cpp of this folder but selftest.cpp together with the generated kernels
// into one static library, and link it whole (`+whole-archive`): kernels register themselves from
// static constructors, which a linker drops otherwise. ThreadSanitizer works up to 256 threads a
// block in reasonable time, and wants `setarch -R`. See selftest.sh for all modes. SIMT_UCONTEXT
// selects the portable context switch (slow) instead of the assembly for x86-64 and aarch64.
#pragma once
#include "types.h"
#include "thread.h"
#include "arithmetic.h"
#include "memory.h"
#include "collective.h"
#include "rare.h"
#include "registry.h"
