// Interface between Rust and CUDA: operands of a launch and launch bounds of a kernel.
//
// Every kernel of an operation takes one `Operands` by value, so that a launch is data: (kernel
// name, operands, rows). Kernels of long rows (kernels/long) take arguments of their own, and the
// host computes their grid. Beside each kernel a constant `<name>_launch_bounds` gives the threads,
// shared memory and rows of one block. The host reads it from the loaded image, so the numbers
// exist in one place.
//
// An operation may be a `Sequence` of phases. The host launches its kernel once for each phase, in
// order, with the bounds of that phase. Phases pass results on in the workspace. The last phases
// may be repeated: they are one step, and the phases before write the number of steps to
// counters[0].
//
// src/backend/launch.rs has the Rust versions of these structs.
#pragma once
#include "core/occupancy.cuh"
#include "core/platform.cuh"

namespace gpuint {

// Equation of the operands and results of an operation (verify/equation.cuh);
// catalogue/src/op.rs: Equation
enum class Equation : u32 {
  Sum,
  Difference,
  Product,
  Quotient,
  MaskedQuotient,
  Root,
  DigitQuotient,
};

// Parameters of an operation, the same for all rows; zero if the operation does not have them.
struct Params {
  u64 digit;               // div_rem_digit: the divisor, not zero
  u32 distance;            // shl, shr: bits, at most BITS
  u32 exponent;            // shifted_inverse: of the power of two that is inverted, below 2 * BITS
  u32 joined;              // mul_wide, 1: both halves of a row side by side in out[0]
  u32 broadcast_divisor;   // 1: in[2] has one row for all rows
  u32 broadcast_exponent;  // pow_mod, 1: in[1] has one row for all rows
  u32 broadcast_rhs;       // 1: in[1] has one row for all rows
  u32 table;               // bitwise: bit 2a + b is the result for bits a and b
  u32 target_bits;         // resize: bits of a row of out[0]
  u32 bases;               // pow_product_mod: bases of a row; 0 for other operations
  u32 pairs;               // sum_of_products: products of a row, at least 1
  u32 source_bits;         // bits of a row of a Source, a multiple of 32
  u32 part_bits;           // root_dividend, root_remainder, root_correct: bits of a part
  u32 equation;            // check_equation: an Equation
  u32 exponent_bits;       // pow_secret: length of all exponents, 1 .. BITS
};

struct Operands {
  // Rows of N limbs each, row after row; in[2]: prepared divisors (record.cuh); of
  // sum_of_products, in[0]: addresses of the two factors of each pair.
  const void* in[3];
  void* out[2];  // likewise; null for an unwanted result
  u64 rows;
  u32* mask;    // one bit a row, zeroed by the host; null if unwanted
  u64* status;  // lowest failed row, initially all ones; null for operations that cannot fail
  Params params;
  unsigned char* scratch;  // scratch_bytes of the bounds, for each block of the grid and each base
  unsigned char* workspace;  // LaunchBounds::row_bytes for each row, kept from phase to phase
  u32* counters;             // COUNTERS words of a sequence, zeroed before its first phase
  u64 phase;
  u64 step;  // index of the step, in repeated phases
};

constexpr u32 COUNTERS = 64;  // src/backend/launch.rs: COUNTERS_BYTES

struct LaunchBounds {
  u32 threads;         // per block
  u32 shared_bytes;    // dynamic shared memory of a block
  u32 rows_per_block;  // rows that a block works on at a time
  u32 scratch_bytes;   // device memory that a block needs besides its operands, a multiple of 16;
                       // pow_product_mod: for each base
  u32 persistent;  // 1: faster where each block strides over many rows, so that no more blocks are
                   // wanted than run at a time
  u32 cluster;  // blocks that work on the same rows, as a cluster where there are several; the grid
                // is a multiple of it
  u32 row_bytes;  // of the workspace for each row, the same in all phases
  u32 repeated;   // 1: the phase is one of a step
};

// NAME(0) is Operation::MEMBER, or DEFAULT if the operation has no such member.
#define GPUINT_OPTIONAL_MEMBER(NAME, MEMBER, DEFAULT)                           \
  template <class Operation>                                                    \
  __host__ __device__ constexpr auto NAME(int) -> decltype(Operation::MEMBER) { \
    return Operation::MEMBER;                                                   \
  }                                                                             \
  template <class Operation>                                                    \
  __host__ __device__ constexpr u32 NAME(...) {                                 \
    return DEFAULT;                                                             \
  }
GPUINT_OPTIONAL_MEMBER(cluster_of, CLUSTER, 1)
GPUINT_OPTIONAL_MEMBER(row_bytes_of, ROW_BYTES, 0)
GPUINT_OPTIONAL_MEMBER(phases_of, PHASES, 1)
GPUINT_OPTIONAL_MEMBER(repeated_of, REPEATED, 0)
#undef GPUINT_OPTIONAL_MEMBER

template <u32 PHASES>
struct LaunchBoundsOfPhases {
  LaunchBounds phase[PHASES];
};

template <class Operation>
__host__ __device__ constexpr auto launch_bounds_of() {
  if constexpr (phases_of<Operation>(0) == 1)
    return LaunchBoundsOfPhases<1>{
        {{Operation::THREADS, Operation::SHARED, Operation::ROWS, Operation::SCRATCH,
          Operation::PERSISTENT, cluster_of<Operation>(0), row_bytes_of<Operation>(0),
          repeated_of<Operation>(0)}}};
  else
    return Operation::launch_bounds();
}

// Phases of an operation as one kernel. A member of several phases is given the index of its own.
// The register limit of a thread is that of the phase with the most threads on a multiprocessor.
template <class... Members>
struct Sequence {
  static constexpr u32 PHASES = (0 + ... + phases_of<Members>(0));

  __host__ __device__ static constexpr u32 max_threads() {
    u32 most = 0;
    ((most = Members::THREADS > most ? Members::THREADS : most), ...);
    return most;
  }
  __host__ __device__ static constexpr u32 max_resident() {
    u32 most = 0;
    ((most = Members::THREADS * Members::MIN_BLOCKS > most ? Members::THREADS * Members::MIN_BLOCKS
                                                           : most),
     ...);
    return most;
  }
  static constexpr u32 THREADS = max_threads(), MIN_BLOCKS = max_resident() / THREADS;

  __host__ __device__ static constexpr LaunchBoundsOfPhases<PHASES> launch_bounds() {
    LaunchBoundsOfPhases<PHASES> all{};
    u32 phase = 0;
    (append(all, phase, launch_bounds_of<Members>()), ...);
    return all;
  }

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    // No comparison follows a phase, so that no register is kept for it.
    if constexpr (PHASES == sizeof...(Members)) {
      u32 phase = 0;
      (void)((o.phase == phase++ && (Members::run(o, shared), true)) || ...);
    } else {
      u32 first = 0;
      (void)(runs<Members>(o, shared, first) || ...);
    }
  }

 private:
  template <class LaunchBoundsOfMember>
  __host__ __device__ static constexpr void append(LaunchBoundsOfPhases<PHASES>& all, u32& phase,
                                                   const LaunchBoundsOfMember& member) {
    for (const LaunchBounds& bounds : member.phase) all.phase[phase++] = bounds;
  }

  // Runs the member if the phase is one of its own, which begin at `first`.
  template <class Member>
  GPUINT_DEVICE static bool runs(const Operands& o, unsigned char* shared, u32& first) {
    const u32 index = static_cast<u32>(o.phase) - first;
    first += phases_of<Member>(0);
    if (index >= phases_of<Member>(0)) return false;
    if constexpr (phases_of<Member>(0) == 1)
      Member::run(o, shared);
    else
      Member::run(o, shared, index);
    return true;
  }
};

// Marks a row in a mask of one bit a row. Rows of one word belong to different groups, so the bit
// is set atomically.
GPUINT_DEVICE void set_mask(u32* mask, u64 row) { atomicOr(mask + row / 32, 1u << (row % 32)); }

// Records a failed row; the lowest wins.
GPUINT_DEVICE void set_status(u64* status, u64 row) { atomicMin(status, row); }

template <class>
using Void = void;

// Argument of a kernel: Operation::Arguments, or Operands.
template <class Operation, class = void>
struct ArgumentsOf {
  using Type = Operands;
};
template <class Operation>
struct ArgumentsOf<Operation, Void<typename Operation::Arguments>> {
  using Type = typename Operation::Arguments;
};

#if defined(GPUINT_SIMT)
template <class Operation>
void run_kernel(const void* arguments, unsigned char* shared) {
  Operation::run(*static_cast<const typename ArgumentsOf<Operation>::Type*>(arguments), shared);
}
#endif

}  // namespace gpuint

// GPUINT_KERNEL(name, Operation): the kernel `name` that runs `Operation::run`, and its bounds.
#if defined(GPUINT_SIMT)
#define GPUINT_KERNEL(name, ...)                                                          \
  static constexpr auto name##_launch_bounds = ::gpuint::launch_bounds_of<__VA_ARGS__>(); \
  static const ::gpuint::simt::Registrar name##_registrar{                                \
      #name, &::gpuint::run_kernel<__VA_ARGS__>, name##_launch_bounds.phase,              \
      ::gpuint::phases_of<__VA_ARGS__>(0)};
#else
#define GPUINT_KERNEL(name, ...)                                                 \
  extern "C" __device__ const auto name##_launch_bounds =                        \
      ::gpuint::launch_bounds_of<__VA_ARGS__>();                                 \
  extern "C" __global__ void __launch_bounds__(                                  \
      __VA_ARGS__::THREADS,                                                      \
      ::gpuint::resident_blocks(__VA_ARGS__::MIN_BLOCKS, __VA_ARGS__::THREADS))  \
      name(const __grid_constant__ ::gpuint::ArgumentsOf<__VA_ARGS__>::Type o) { \
    extern __shared__ __align__(16) unsigned char gpuint_shared[];               \
    __VA_ARGS__::run(o, gpuint_shared);                                          \
  }
#endif
