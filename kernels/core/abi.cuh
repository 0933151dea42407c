// The interface between Rust and CUDA: operands of a launch and launch facts of a kernel.
//
// Every kernel takes one `Operands` by value, so that a launch is data: (kernel name, operands,
// rows). Beside each kernel stands a constant `<name>_facts` with the threads, shared memory and
// rows of one block; the host reads it from the loaded image, so the numbers exist in one place.
// src/backend/launch.rs holds the Rust twins of these structs.
#pragma once
#include "core/platform.cuh"

namespace gpuint {

// Parameters of an operation, the same for all rows; zero where an operation does not have them.
struct Params {
  u64 digit;               // div_rem_digit: the divisor, not zero
  u32 distance;            // shl, shr: bits, at most BITS
  u32 exponent;            // shifted_inverse: of the power of two that is inverted, below 2 * BITS
  u32 joined;              // mul_wide, 1: both halves of a row side by side in out[0]
  u32 broadcast_divisor;   // 1: in[2] has one row for all rows
  u32 broadcast_exponent;  // pow_mod, 1: in[1] has one row for all rows
  u32 padding;
};

struct Operands {
  const void* in[3];  // rows of N limbs each, row after row; in[2]: prepared divisors (prepare.cuh)
  void* out[2];       // likewise; null for an unwanted result
  u64 rows;
  u32* mask;    // one bit a row, zeroed by the host; null if unwanted
  u64* status;  // lowest failed row, initially all ones; null for operations that cannot fail
  Params params;
  unsigned char* scratch;  // Facts::scratch_bytes for each block of the grid
};

struct Facts {
  u32 threads;         // per block
  u32 shared_bytes;    // dynamic shared memory of a block
  u32 rows_per_block;  // rows that a block works on at a time
  u32 scratch_bytes;   // device memory that a block needs besides its operands, a multiple of 16
  u32 persistent;  // 1: faster where each block strides over many rows, so that no more blocks are
                   // wanted than run at a time
  u32 cluster;  // blocks that work on the same rows, as a cluster where there are several; the grid
                // is a multiple of it
};

// Operation::CLUSTER; 1 for an operation without that member.
template <class Operation>
__host__ __device__ constexpr auto cluster_of(int) -> decltype(Operation::CLUSTER) {
  return Operation::CLUSTER;
}
template <class Operation>
__host__ __device__ constexpr u32 cluster_of(...) {
  return 1;
}

// Marks a row in a mask of one bit a row. Rows of one word belong to different groups, so the bit
// is set atomically.
GPUINT_DEVICE void set_mask(u32* mask, u64 row) { atomicOr(mask + row / 32, 1u << (row % 32)); }

// Records a failed row; the lowest wins.
GPUINT_DEVICE void set_status(u64* status, u64 row) { atomicMin(status, row); }

}  // namespace gpuint

// GPUINT_KERNEL(name, Operation): the kernel `name` that runs `Operation::run`, and its facts.
#if defined(GPUINT_SIMT)
#define GPUINT_KERNEL(name, ...)                                                              \
  static const ::gpuint::simt::Registrar name##_registrar{                                    \
      #name,                                                                                  \
      &__VA_ARGS__::run,                                                                      \
      {__VA_ARGS__::THREADS, __VA_ARGS__::SHARED, __VA_ARGS__::ROWS, __VA_ARGS__::SCRATCH, 0, \
       ::gpuint::cluster_of<__VA_ARGS__>(0)}};
#else
#define GPUINT_KERNEL(name, ...)                                                              \
  extern "C" __device__ const ::gpuint::Facts name##_facts = {                                \
      __VA_ARGS__::THREADS, __VA_ARGS__::SHARED,     __VA_ARGS__::ROWS,                       \
      __VA_ARGS__::SCRATCH, __VA_ARGS__::PERSISTENT, ::gpuint::cluster_of<__VA_ARGS__>(0)};   \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__::THREADS, __VA_ARGS__::MIN_BLOCKS) \
      name(const __grid_constant__ ::gpuint::Operands operands) {                             \
    extern __shared__ __align__(16) unsigned char gpuint_shared[];                            \
    __VA_ARGS__::run(operands, gpuint_shared);                                                \
  }
#endif
