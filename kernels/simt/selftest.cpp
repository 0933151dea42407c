// Checks of the shim itself, with correct kernels and with kernels that are broken on purpose.
//
//   selftest              every check that leaves the process alive; exit status 1 if any fails
//   selftest race         a missing barrier                      report with -fsanitize=thread
//   selftest race-groups  two sub-warp groups without order      report with -fsanitize=thread
//   selftest race-waiting lanes that wait with a wider mask      report with -fsanitize=thread
//   selftest overrun      a read past the end of shared memory   report with -fsanitize=address
//   selftest speed        nanoseconds per thread and barrier or warp operation
//
// selftest.sh builds it in every mode and runs all of them.
#include "abi.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

using gpuint::Operands;
using gpuint::u32;
using gpuint::u64;

// --- Correct kernels

u32* words(unsigned char* shared) { return reinterpret_cast<u32*>(shared); }
u32* output(const Operands& operands) { return static_cast<u32*>(operands.out[0]); }
const u32* input(const Operands& operands) { return static_cast<const u32*>(operands.in[0]); }

// ThreadSanitizer's work for a barrier grows with the square of the threads.
#if defined(__SANITIZE_THREAD__)
constexpr u32 SCAN_THREADS = 256;
#else
constexpr u32 SCAN_THREADS = 1024;
#endif

// Inclusive sums over rows, one row a block and round.
struct Scan {
  static constexpr u32 THREADS = SCAN_THREADS, SHARED = THREADS / 32 * sizeof(u32), ROWS = 1,
                       SCRATCH = 0, PERSISTENT = 0;

  static u32 in_warp(u32 value) {
    for (u32 distance = 1; distance < 32; distance *= 2) {
      const u32 below = __shfl_up_sync(~0u, value, distance);
      if (threadIdx.x % 32 >= distance) value += below;
    }
    return value;
  }

  static void run(const Operands& operands, unsigned char* shared) {
    const u32 thread = threadIdx.x;
    for (u64 row = blockIdx.x; row < operands.rows; row += gridDim.x) {
      const u32 sum = in_warp(input(operands)[row * THREADS + thread]);
      if (thread % 32 == 31) words(shared)[thread / 32] = sum;
      __syncthreads();
      if (thread < 32) {
        const u32 warps = in_warp(thread < THREADS / 32 ? words(shared)[thread] : 0);
        if (thread < THREADS / 32) words(shared)[thread] = warps;
      }
      __syncthreads();
      output(operands)[row * THREADS + thread] =
          sum + (thread < 32 ? 0 : words(shared)[thread / 32 - 1]);
      __syncthreads();
    }
  }
};
GPUINT_KERNEL(scan, Scan)

void cluster_sync(GPUINT_SITE) {
  gpuint::simt::barrier(gpuint::simt::BarrierOp::Cluster, false, GPUINT_PASS_SITE);
}

// Each block of a cluster reads the words of the next one.
struct Shifts {
  static constexpr u32 THREADS = 64, SHARED = THREADS * sizeof(u32), ROWS = 1, SCRATCH = 0,
                       PERSISTENT = 0, CLUSTER = 4;

  static void run(const Operands& operands, unsigned char* shared) {
    const u32 thread = threadIdx.x, rank = blockIdx.x % CLUSTER;
    for (u64 row = blockIdx.x / CLUSTER; row < operands.rows; row += gridDim.x / CLUSTER) {
      const u64 at = (row * CLUSTER + rank) * THREADS + thread;
      words(shared)[thread] = static_cast<u32>(at);
      cluster_sync();
      output(operands)[at] = words(gpuint::simt::of_block(shared, (rank + 1) % CLUSTER))[thread];
      cluster_sync();
    }
  }
};
GPUINT_KERNEL(shifts, Shifts)

// Groups of 4 lanes with different numbers of rounds, each an exchange through shared memory and
// shuffles; lanes that are done wait for the whole warp.
struct Groups {
  static constexpr u32 THREADS = 128, SHARED = THREADS * sizeof(u32), ROWS = 1, SCRATCH = 0,
                       PERSISTENT = 0;

  static u32 rounds(u32 group) { return 1 + group * 7 % 11; }

  static void run(const Operands& operands, unsigned char* shared) {
    const u32 thread = threadIdx.x, lane = thread % 32, group = thread / 4;
    const u32 mask = 0xfu << lane / 4 * 4;
    u32 value = thread;
    for (u32 round = 0; round < rounds(group); ++round) {
      words(shared)[thread] = value;
      __syncwarp(mask);
      value = words(shared)[thread ^ 1] + 1;
      __syncwarp(mask);
      if (group % 2 == 0)
        value += __shfl_xor_sync(mask, value, 2, 4);
      else if (__ballot_sync(mask, lane % 4 == 0) != 1u << lane / 4 * 4)
        __trap();
    }
    const u32 most = __reduce_max_sync(~0u, rounds(group));
    output(operands)[blockIdx.x * THREADS + thread] = value * 16 + most;
  }

  static void model(u32* out) {
    u32 value[THREADS];
    for (u32 thread = 0; thread < THREADS; ++thread) value[thread] = thread;
    for (u32 group = 0; group < THREADS / 4; ++group)
      for (u32 round = 0; round < rounds(group); ++round) {
        u32 next[4];
        for (u32 i = 0; i < 4; ++i) next[i] = value[group * 4 + (i ^ 1)] + 1;
        for (u32 i = 0; i < 4; ++i)
          value[group * 4 + i] = next[i] + (group % 2 == 0 ? next[i ^ 2] : 0);
      }
    for (u32 thread = 0; thread < THREADS; ++thread) {
      u32 most = 0;
      for (u32 group = thread / 32 * 8; group < thread / 32 * 8 + 8; ++group)
        most = max(most, rounds(group));
      out[thread] = value[thread] * 16 + most;
    }
  }
};
GPUINT_KERNEL(groups, Groups)

// Every shuffle for every width and distance, every vote and reduction; counts differences from the
// lane-wise definition.
struct Collectives {
  static constexpr u32 THREADS = 64, SHARED = 0, ROWS = 1, SCRATCH = 0, PERSISTENT = 0;

  static u64 value(u32 lane) { return lane * 0x0123456789abcdefull + 5; }

  static u32 shuffles() {
    const int lane = static_cast<int>(threadIdx.x % 32);
    u32 wrong = 0;
    for (int width = 1; width <= 32; width *= 2)
      for (int distance = 0; distance < width; ++distance) {
        const int first = lane / width * width;
        const int up = lane - distance < first ? lane : lane - distance;
        const int down = lane + distance >= first + width ? lane : lane + distance;
        const u64 own = value(static_cast<u32>(lane));
        wrong +=
            __shfl_sync(~0u, own, distance, width) != value(static_cast<u32>(first + distance));
        wrong += __shfl_sync(~0u, own, distance + width, width) !=
                 value(static_cast<u32>(first + distance));
        wrong += __shfl_up_sync(~0u, own, static_cast<u32>(distance), width) !=
                 value(static_cast<u32>(up));
        wrong += __shfl_down_sync(~0u, own, static_cast<u32>(distance), width) !=
                 value(static_cast<u32>(down));
        wrong +=
            __shfl_xor_sync(~0u, own, distance, width) != value(static_cast<u32>(lane ^ distance));
      }
    wrong += __shfl_sync(~0u, static_cast<short>(-lane), 3) != -3;
    return wrong;
  }

  static u32 votes() {
    const u32 lane = threadIdx.x % 32;
    const bool odd = lane % 2 != 0;
    const u32 mask = odd ? 0xaaaaaaaau : 0x55555555u;
    const int centred = static_cast<int>(lane) - 16;
    u32 wrong = 0;
    wrong += __ballot_sync(mask, lane < 6) != (odd ? 0x2au : 0x15u);
    wrong += __ballot_sync(~0u, 2) != ~0u;
    wrong += __any_sync(mask, lane == 3) != odd;
    wrong += __all_sync(mask, !odd) != !odd;
    wrong += __all_sync(mask, lane != 3) != !odd;
    wrong += __reduce_add_sync(mask, lane) != (odd ? 256u : 240u);
    wrong += __reduce_min_sync(mask, lane + 9) != (odd ? 10u : 9u);
    wrong += __reduce_max_sync(mask, 0x80000000u + lane) != 0x80000000u + (odd ? 31u : 30u);
    wrong += __reduce_min_sync(mask, centred) != (odd ? -15 : -16);
    wrong += __reduce_max_sync(mask, centred) != (odd ? 15 : 14);
    wrong += __reduce_add_sync(mask, centred) != (odd ? 0 : -16);
    wrong += __reduce_and_sync(mask, lane | 64) != (odd ? 65u : 64u);
    wrong += __reduce_or_sync(mask, lane) != (odd ? 31u : 30u);
    wrong += __reduce_xor_sync(mask, 1u << lane) != mask;
    return wrong;
  }

  // Byte matrices A[row][k] and B[k][column], in fragments.
  static u32 products() {
    const auto a = [](u32 row, u32 k) { return (row * 37 + k * 11 + (row * k) % 7 * 50) & 255; };
    const auto b = [](u32 k, u32 column) { return (k * 23 + column * 101 + 200) & 255; };
    const u32 g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
    u32 rows[4] = {}, columns[2] = {}, sums[4];
    for (u32 q = 0; q < 4; ++q)
      for (u32 e = 0; e < 4; ++e) rows[q] |= a(g + 8 * (q % 2), 16 * (q / 2) + 4 * t + e) << 8 * e;
    for (u32 q = 0; q < 2; ++q)
      for (u32 e = 0; e < 4; ++e) columns[q] |= b(16 * q + 4 * t + e, g) << 8 * e;
    for (u32 q = 0; q < 4; ++q) sums[q] = ~q;
    gpuint::simt::multiply_bytes(sums, rows, columns);
    u32 wrong = 0;
    for (u32 q = 0; q < 4; ++q) {
      u32 sum = ~q;
      for (u32 k = 0; k < 32; ++k) sum += a(g + 8 * (q / 2), k) * b(k, 2 * t + q % 2);
      wrong += sums[q] != sum;
    }
    return wrong;
  }

  static u32 barriers() {
    const u32 thread = threadIdx.x;
    u32 wrong = 0;
    wrong += __syncthreads_count(thread < 5) != 5;
    wrong += __syncthreads_or(thread == 63) != 1;
    wrong += __syncthreads_or(thread == 64) != 0;
    wrong += __syncthreads_and(thread != 63) != 0;
    wrong += __syncthreads_and(thread != 64) != 1;
    return wrong;
  }

  static void run(const Operands& operands, unsigned char*) {
    output(operands)[threadIdx.x] = shuffles() + votes() + products() + barriers();
  }
};
GPUINT_KERNEL(collectives, Collectives)

// All threads of all blocks access the same words.
struct Atomics {
  static constexpr u32 THREADS = 96, SHARED = 0, ROWS = 1, SCRATCH = 0, PERSISTENT = 0;
  static constexpr u32 BLOCKS = 50;

  struct Totals {
    u32 sum, any, most, exchanged, steps;
    u64 wide_sum, wide_any, least, wide_steps;
  };

  static void run(const Operands& operands, unsigned char*) {
    Totals& totals = *static_cast<Totals*>(operands.out[0]);
    const u32 id = blockIdx.x * THREADS + threadIdx.x;
    atomicAdd(&totals.sum, id);
    atomicAdd(&totals.wide_sum, u64(id) << 32);
    atomicOr(&totals.any, 1u << id % 32);
    atomicOr(&totals.wide_any, 1ull << id % 64);
    atomicMin(&totals.least, (1ull << 40) + BLOCKS * THREADS - 1 - id);
    atomicMax(&totals.most, id);
    atomicExch(&totals.exchanged, 7);
    for (u32 seen = totals_load(totals.steps), old;; seen = old)
      if ((old = atomicCAS(&totals.steps, seen, seen + 2)) == seen) break;
    for (u64 seen = totals_load(totals.wide_steps), old;; seen = old)
      if ((old = atomicCAS(&totals.wide_steps, seen, seen + 3)) == seen) break;
  }

  template <class T>
  static T totals_load(T& value) {
    return atomicAdd(&value, 0);
  }
};
GPUINT_KERNEL(atomics, Atomics)

// The order in which the threads of a block leave a rendezvous and a barrier: the schedule.
struct Tickets {
  static constexpr u32 THREADS = 128, SHARED = sizeof(u32), ROWS = 1, SCRATCH = 0, PERSISTENT = 0;

  static void run(const Operands& operands, unsigned char* shared) {
    const u32 thread = threadIdx.x;
    if (thread == 0) *words(shared) = 0;
    __syncthreads();
    __shfl_xor_sync(0xffu << thread % 32 / 8 * 8, thread, 1, 8);
    const u32 first = atomicAdd(words(shared), 1);
    __syncthreads();
    const u32 second = atomicAdd(words(shared), 1);
    output(operands)[blockIdx.x * THREADS + thread] = first << 16 | second;
  }
};
GPUINT_KERNEL(tickets, Tickets)

// Sets bit 0 if the last thread to arrive at a rendezvous continues first, bit 1 likewise for a
// barrier.
struct Turns {
  static constexpr u32 THREADS = 32, SHARED = 4 * sizeof(u32), ROWS = 1, SCRATCH = 0,
                       PERSISTENT = 0;

  static void run(const Operands& operands, unsigned char* shared) {
    u32* const counters = words(shared);
    if (threadIdx.x < 4) counters[threadIdx.x] = 0;
    __syncthreads();
    const bool last_of_warp = atomicAdd(&counters[0], 1) == THREADS - 1;
    __syncwarp();
    if (last_of_warp)
      atomicOr(output(operands) + blockIdx.x, atomicAdd(&counters[1], 0) == 0 ? 1 : 0);
    atomicAdd(&counters[1], 1);
    const bool last_of_block = atomicAdd(&counters[2], 1) == THREADS - 1;
    __syncthreads();
    if (last_of_block)
      atomicOr(output(operands) + blockIdx.x, atomicAdd(&counters[3], 0) == 0 ? 2 : 0);
    atomicAdd(&counters[3], 1);
  }
};
GPUINT_KERNEL(turns, Turns)

// Shared memory at the start of a block; each block then overwrites it.
struct Poison {
  static constexpr u32 THREADS = 32, SHARED = THREADS * sizeof(u32), ROWS = 1, SCRATCH = 0,
                       PERSISTENT = 0;

  static void run(const Operands& operands, unsigned char* shared) {
    u32& word = words(shared)[threadIdx.x];
    output(operands)[blockIdx.x * THREADS + threadIdx.x] = word;
    word = 0;
  }
};
GPUINT_KERNEL(poison, Poison)

// CUDA's variables as ordinary values.
struct Values {
  static constexpr u32 THREADS = 64, SHARED = 16, ROWS = 3, SCRATCH = 0, PERSISTENT = 0;

  static void run(const Operands& operands, unsigned char* shared) {
    auto x = threadIdx.x;
    auto thread = threadIdx;
    auto grid = gridDim;
    static_assert(std::is_same_v<decltype(x), u32> && std::is_same_v<decltype(thread), uint3>);
    static_assert(std::is_same_v<decltype(grid), dim3> &&
                  std::is_same_v<decltype(blockIdx.x + 1), u32>);
    GPUINT_ASSERT(x == thread.x && thread.y == 0 && thread.z == 0, "one dimension");
    GPUINT_ASSERT(
        blockDim.x == THREADS && blockDim.y == 1 && blockDim.z == 1 && grid.y == 1 && grid.z == 1,
        "one dimension");
    GPUINT_ASSERT(reinterpret_cast<size_t>(shared) % 16 == 0, "shared memory is aligned");
    output(operands)[blockIdx.x * THREADS + x] = grid.x * 1000 + blockIdx.x;
  }
};
GPUINT_KERNEL(values, Values)

static_assert(sizeof(uint2) == 8 && alignof(uint2) == 8 && sizeof(uint4) == 16 &&
              alignof(uint4) == 16);
static_assert(sizeof(ushort4) == 8 && alignof(ushort4) == 8 && sizeof(ulonglong2) == 16 &&
              alignof(ulonglong2) == 16);
static_assert(sizeof(uint3) == 12 && make_uint4(1, 2, 3, 4).w == 4 && make_ulonglong2(1, 2).y == 2);
static_assert(make_ushort4(1, 2, 3, 4).z == 3 && make_uint2(1, 2).x == 1);
static_assert(min(3, 4u) == 3u && max(3ull, 4u) == 4 && min(-1, 2) == -1 && warpSize == 32);

// --- Broken kernels. BROKEN(name, threads, shared bytes) { body } registers the kernel `name`.

#define BROKEN(name, threads, shared_bytes)                                               \
  struct Broken_##name {                                                                  \
    static constexpr u32 THREADS = threads, SHARED = shared_bytes, ROWS = 1, SCRATCH = 0, \
                         PERSISTENT = 0;                                                  \
    static void run(const Operands&, unsigned char* shared);                              \
  };                                                                                      \
  GPUINT_KERNEL(name, Broken_##name)                                                      \
  void Broken_##name::run([[maybe_unused]] const Operands& operands,                      \
                          [[maybe_unused]] unsigned char* shared)

BROKEN(two_sites, 64, 0) {
  if (threadIdx.x < 40)
    __syncthreads();
  else
    __syncthreads();
}
BROKEN(two_operations, 64, 0) { threadIdx.x < 40 ? __syncthreads_or(1) : __syncthreads_and(1); }
BROKEN(leaves_first, 64, 0) {
  if (threadIdx.x != 0) __syncthreads();
}
BROKEN(leaves_last, 64, 0) {
  if (threadIdx.x != 63) __syncthreads();
}
BROKEN(other_masks, 32, 0) {
  const u32 lane = threadIdx.x;
  if (lane == 4) __syncwarp(0x30);
  if (lane == 5) __syncwarp(0x60);
  if (lane == 6) __syncwarp(0x50);
}
struct LeavesCluster {
  static constexpr u32 THREADS = 32, SHARED = 0, ROWS = 1, SCRATCH = 0, PERSISTENT = 0, CLUSTER = 2;

  static void run(const Operands&, unsigned char*) {
    if (blockIdx.x % CLUSTER == 0) cluster_sync();
  }
};
GPUINT_KERNEL(leaves_cluster, LeavesCluster)
BROKEN(left_lane, 32, 0) {
  if (threadIdx.x == 3) return;
  __ballot_sync(~0u, 1);
}
BROKEN(barrier_and_warp, 64, 0) {
  if (threadIdx.x != 9) __syncwarp();
  __syncthreads();
}
BROKEN(not_in_mask, 32, 0) { __shfl_sync(0x0000ffffu, 1, 0); }
BROKEN(partial_warp, 48, 0) { __syncwarp(); }
BROKEN(other_operation, 32, 0) {
  if (threadIdx.x == 20)
    __any_sync(~0u, 1);
  else
    __all_sync(~0u, 1);
}
BROKEN(part_of_a_product, 48, 0) {
  u32 c[4] = {};
  const u32 a[4] = {}, b[2] = {};
  gpuint::simt::multiply_bytes(c, a, b);
}
BROKEN(odd_width, 32, 0) { __shfl_sync(~0u, 1, 0, 12); }
BROKEN(traps, 96, 0) {
  __syncthreads();
  if (threadIdx.x == 70) __trap();
  __syncthreads();
}
BROKEN(asserts, 32, 0) {
  __syncwarp();
  GPUINT_ASSERT(threadIdx.x != 7, "seven is not allowed");
}
// The lowest block that faults is the slowest.
BROKEN(late_blocks, 32, 0) {
  for (u32 i = 0; i < (blockIdx.x == 21 ? 20000 : 1); ++i) __syncwarp();
  if (blockIdx.x >= 21) __trap();
}
BROKEN(outside_mask, 32, 0) {
  const u32 mask = threadIdx.x < 16 ? 0xffffu : 0xffff0000u;
  const u32 value = __shfl_xor_sync(mask, threadIdx.x, 16);
  GPUINT_ASSERT(value == 0xCDCDCDCDu, "undefined");
}
BROKEN(writes_past, 32, 100) {
  if (threadIdx.x == 3) const_cast<volatile unsigned char*>(shared)[100] = 1;
}
BROKEN(reads_past, 32, 100) {
  volatile unsigned char* bytes = shared;
  if (threadIdx.x == 3) bytes[0] = bytes[100];
}
BROKEN(no_barrier, 64, 256) {
  words(shared)[threadIdx.x] = threadIdx.x;
  output(operands)[threadIdx.x] = words(shared)[(threadIdx.x + 1) % 64];
}
// Each group orders its own accesses; the groups are not ordered with each other.
BROKEN(no_order, 32, 256) {
  const u32 mask = threadIdx.x < 16 ? 0xffffu : 0xffff0000u;
  words(shared)[threadIdx.x] = threadIdx.x;
  __syncwarp(mask);
  output(operands)[threadIdx.x] = words(shared)[threadIdx.x ^ 16];
}
// The upper lanes arrived at the barrier of the whole warp before, so the lower lanes' own barrier
// does not order them.
BROKEN(waiting_is_no_order, 32, 256) {
  if (threadIdx.x >= 16)
    words(shared)[threadIdx.x] = threadIdx.x;
  else {
    __syncwarp(0xffff);
    output(operands)[threadIdx.x] = words(shared)[threadIdx.x ^ 16];
  }
  __syncwarp();
}

// --- Checks

int passed = 0, failed = 0;

bool check(bool ok, const std::string& what, const std::string& detail = "") {
  std::printf("%s %s%s%s\n", ok ? "ok    " : "FAILED", what.c_str(),
              ok || detail.empty() ? "" : ": ", ok ? "" : detail.c_str());
  ++(ok ? passed : failed);
  return ok;
}

struct Result {
  int code;
  std::string message;
  gpuint_simt_stats stats;
};

Result launch(const char* kernel, const Operands& operands, u64 seed = 0, u32 host_threads = 1,
              u32 max_grid = 0) {
  const gpuint_simt_options options{seed, max_grid, host_threads};
  char message[8192] = "";
  Result result{};
  result.code =
      gpuint_simt_launch(kernel, &operands, &options, &result.stats, message, sizeof message);
  result.message = message;
  return result;
}

Operands operands(u64 rows, void* out = nullptr, const void* in = nullptr) {
  Operands operands{};
  operands.rows = rows;
  operands.out[0] = out;
  operands.in[0] = in;
  return operands;
}

std::string with_seed(const char* what, u64 seed, u32 host_threads) {
  return std::string(what) + ", seed " + std::to_string(seed) + ", " +
         std::to_string(host_threads) + " host threads";
}

bool shifts_are_right(u64 seed, u32 max_grid, Result& result) {
  constexpr u32 ROWS = 3, WORDS = Shifts::CLUSTER * Shifts::THREADS;
  u32 out[ROWS * WORDS];
  result = launch("shifts", operands(ROWS, out), seed, 2, max_grid);
  bool right = result.code == 0;
  for (u32 i = 0; i < ROWS * WORDS; ++i)
    right &= out[i] == i / WORDS * WORDS + (i + Shifts::THREADS) % WORDS;
  return right;
}

bool scan_is_right(u64 seed, u32 host_threads, u32 max_grid, Result& result) {
  constexpr u32 ROWS = 7;
  std::vector<u32> in(ROWS * Scan::THREADS), out(in.size(), 0);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<u32>(i * 2654435761u);
  result = launch("scan", operands(ROWS, out.data(), in.data()), seed, host_threads, max_grid);
  bool right = result.code == 0;
  for (u32 row = 0; row < ROWS; ++row) {
    u32 sum = 0;
    for (u32 i = 0; i < Scan::THREADS; ++i)
      right &= out[row * Scan::THREADS + i] == (sum += in[row * Scan::THREADS + i]);
  }
  return right;
}

bool groups_are_right(u64 seed, u32 host_threads, Result& result) {
  constexpr u32 BLOCKS = 4;
  u32 expected[Groups::THREADS], out[BLOCKS * Groups::THREADS];
  Groups::model(expected);
  result = launch("groups", operands(BLOCKS, out), seed, host_threads);
  bool right = result.code == 0;
  for (u32 block = 0; block < BLOCKS; ++block)
    right &= std::memcmp(&out[block * Groups::THREADS], expected, sizeof expected) == 0;
  return right;
}

void check_right_kernels() {
  Result result;
  for (u64 seed : {0, 1, 2, 3})
    for (u32 host_threads : {1, 3})
      check(scan_is_right(seed, host_threads, 0, result),
            with_seed("scan over a block", seed, host_threads), result.message);
  check(scan_is_right(5, 2, 3, result) && result.stats.blocks == 3, "scan with a grid stride",
        result.message);
  check(result.stats.barriers == 3 * 7 &&
            result.stats.warp_ops == (Scan::THREADS / 32 + 1) * 5 * 7 && result.stats.switches > 0,
        "counts of barriers and warp operations");

  for (u64 seed : {0, 1, 2, 3})
    check(shifts_are_right(seed, 0, result), with_seed("shifts in a cluster", seed, 2),
          result.message);
  check(shifts_are_right(4, 7, result) && result.stats.blocks == 4 && result.stats.barriers == 6,
        "whole clusters with a grid stride", result.message);

  for (u64 seed = 0; seed < 20; ++seed)
    check(groups_are_right(seed, 2, result),
          with_seed("groups of 4 lanes in divergent code", seed, 2), result.message);
  for (u64 seed : {0, 1, 2}) {
    u32 wrong[Collectives::THREADS];
    result = launch("collectives", operands(1, wrong), seed);
    bool right = result.code == 0;
    for (u32 count : wrong) right &= count == 0;
    check(right, with_seed("shuffles, votes, reductions, counting barriers", seed, 1),
          result.message);
  }
  for (u32 host_threads : {1, 4}) {
    constexpr u32 N = Atomics::BLOCKS * Atomics::THREADS;
    Atomics::Totals totals{};
    totals.least = ~0ull;
    result = launch("atomics", operands(Atomics::BLOCKS, &totals), 0, host_threads);
    check(result.code == 0 && totals.sum == N * (N - 1) / 2 &&
              totals.wide_sum == u64(N) * (N - 1) / 2 << 32 && totals.any == ~0u &&
              totals.wide_any == ~0ull && totals.least == 1ull << 40 && totals.most == N - 1 &&
              totals.exchanged == 7 && totals.steps == 2 * N && totals.wide_steps == 3 * u64(N),
          with_seed("atomics", 0, host_threads), result.message);
  }
  u32 values[4 * Values::THREADS];
  result = launch("values", operands(10, values));
  check(result.code == 0 && result.stats.blocks == 4 && values[0] == 4000 &&
            values[4 * Values::THREADS - 1] == 4003,
        "threadIdx and its like are values", result.message);
  result = launch("values", operands(0));
  check(result.code == 0 && result.stats.blocks == 0, "no rows, no blocks");
}

std::vector<u32> tickets(u64 seed, u32 host_threads) {
  std::vector<u32> out(Tickets::THREADS * 9);
  launch("tickets", operands(9, out.data()), seed, host_threads);
  return out;
}

void check_schedules() {
  for (u64 seed : {0, 1, 42})
    check(tickets(seed, 1) == tickets(seed, 1) && tickets(seed, 1) == tickets(seed, 2) &&
              tickets(seed, 1) == tickets(seed, 5),
          with_seed("the schedule is the same on any number of host threads", seed, 5));
  const std::vector<u32> ordered = tickets(0, 1), one = tickets(1, 1), two = tickets(2, 1);
  check(ordered != one && one != two, "seeds give different schedules");
  const auto block = [](const std::vector<u32>& all, u32 index) {
    return std::vector<u32>(all.begin() + index * Tickets::THREADS,
                            all.begin() + (index + 1) * Tickets::THREADS);
  };
  check(block(ordered, 0) == block(ordered, 8), "in order, all blocks are alike");
  check(block(one, 0) != block(one, 8), "with a seed, blocks differ");

  constexpr u32 BLOCKS = 100;
  for (u64 seed : {0, 1}) {
    std::vector<u32> turns(BLOCKS, 0);
    launch("turns", operands(BLOCKS, turns.data()), seed);
    u32 kept[4] = {};
    for (u32 both : turns) ++kept[both];
    const bool always = kept[3] == BLOCKS;
    const bool sometimes = kept[0] > 5 && kept[1] > 5 && kept[2] > 5 && kept[3] > 5;
    check(seed == 0 ? always : sometimes,
          with_seed("who completes a barrier keeps its turn", seed, 1));
  }

  std::vector<u32> out(Poison::THREADS * 2);
  launch("poison", operands(2, out.data()));
  check(out == std::vector<u32>(out.size(), 0xCDCDCDCDu),
        "shared memory is poisoned before every block");
  launch("poison", operands(2, out.data()), 3);
  check(out[0] != out[Poison::THREADS] && out[0] % 0x01010101u == 0,
        "with a seed, the poison varies");
}

void check_fault(const char* kernel, const std::vector<std::string>& texts) {
  for (u64 seed : {0, 1, 2}) {
    const Result result = launch(kernel, operands(1), seed);
    const std::string start = std::string("kernel ") + kernel + ", block ";
    bool right = result.code == GPUINT_SIMT_FAULT && result.message.find(start) == 0;
    for (const std::string& text : texts) right &= result.message.find(text) != std::string::npos;
    check(right, with_seed(kernel, seed, 1), result.message);
    Result after;
    check(groups_are_right(seed, 1, after), with_seed("a launch after the fault", seed, 1),
          after.message);
  }
}

void check_faults() {
  check_fault("two_sites",
              {"divergent barrier: two call sites", "in __syncthreads at ", "selftest.cpp:"});
  check_fault("two_operations", {"divergent barrier: two operations"});
  check_fault("leaves_first", {"divergent barrier: ", "selftest.cpp:"});
  check_fault("leaves_last", {"divergent barrier: ", "selftest.cpp:"});
  check_fault("leaves_cluster", {"divergent barrier: ", "selftest.cpp:"});
  check_fault("other_masks", {"deadlock: lane ", "waits with another mask",
                              "thread 4: in __syncwarp with mask 0x00000030 at ",
                              "thread 6: in __syncwarp with mask 0x00000050 at ",
                              "threads 7-31: left the kernel"});
  check_fault("left_lane", {"lane", "left the kernel", "thread 3: left the kernel"});
  check_fault("barrier_and_warp", {"deadlock: lane 9, which the mask names, waits for the block",
                                   "thread 9: in __syncthreads at ",
                                   "threads 10-31: in __syncwarp with mask 0xffffffff at ",
                                   "threads 32-63: in __syncthreads at "});
  check_fault("not_in_mask", {"the calling lane is not in its mask"});
  check_fault("partial_warp", {"the mask names lanes that left the kernel or never were"});
  check_fault("part_of_a_product", {"the mask names lanes that left the kernel or never were"});
  check_fault("other_operation", {"the lanes of one mask disagree on the operation"});
  check_fault("odd_width", {"the width of a shuffle is not a power of two"});
  check_fault("traps", {"thread 70: __trap, at ", "selftest.cpp:"});
  check_fault("asserts",
              {"thread 7: seven is not allowed (threadIdx.x != 7), at ", "selftest.cpp:"});

  for (u32 host_threads : {1, 2, 6})
    for (u64 seed : {0, 9}) {
      const Result result = launch("late_blocks", operands(64), seed, host_threads);
      check(result.code == GPUINT_SIMT_FAULT &&
                result.message.find("block 21, ") != std::string::npos &&
                result.stats.blocks < 22 + host_threads,
            with_seed("the lowest block that faults is reported", seed, host_threads),
            result.message);
    }
  check(launch("outside_mask", operands(1)).code == 0,
        "a shuffle from outside of the mask gives a pattern");
#if !defined(__SANITIZE_ADDRESS__)
  const Result overrun = launch("writes_past", operands(1));
  check(overrun.code == GPUINT_SIMT_FAULT &&
            overrun.message.find("at byte 100 of 100") != std::string::npos,
        "a write past the end of shared memory", overrun.message);
#endif

  gpuint_launch_bounds bounds{};
  check(gpuint_simt_launch_bounds("scan", &bounds) == 0 && bounds.threads == Scan::THREADS &&
            bounds.shared_bytes == Scan::SHARED && bounds.rows_per_block == 1,
        "bounds of a kernel");
  check(gpuint_simt_launch_bounds("nothing", &bounds) == GPUINT_SIMT_UNKNOWN_KERNEL &&
            launch("nothing", operands(1)).code == 1,
        "an unknown kernel");
  const gpuint_simt_options options{};
  const Operands one = operands(1);
  char cut[10];
  check(gpuint_simt_launch("traps", &one, &options, nullptr, cut, sizeof cut) == 2 &&
            std::strcmp(cut, "kernel tr") == 0 &&
            gpuint_simt_launch("traps", &one, &options, nullptr, nullptr, 0) == 2,
        "a message is cut to the room there is");
}

// Like a test harness: launches from several threads at a time, with blocks and their fibers passed
// between them.
void check_concurrent_launches() {
  constexpr u32 LAUNCHERS = 4;
  bool right[LAUNCHERS] = {};
  std::vector<std::thread> launchers;
  for (u32 i = 0; i < LAUNCHERS; ++i)
    launchers.emplace_back([&right, i] {
      bool all = true;
      Result result;
      for (u64 seed = 0; seed < 12; ++seed) {
        all &= groups_are_right(seed * i, 2, result);
        all &= launch("traps", operands(3), seed, 2).code == GPUINT_SIMT_FAULT;
      }
      right[i] = all;
    });
  for (std::thread& launcher : launchers) launcher.join();
  for (u32 i = 0; i < LAUNCHERS; ++i)
    check(right[i], "concurrent launches, thread " + std::to_string(i));
}

void check_arithmetic() {
  check(__popc(0xf0f0u) == 8 && __popcll(~0ull) == 64 && __clz(0) == 32 && __clz(1) == 31 &&
            __clz(-1) == 0 && __clzll(0) == 64 && __clzll(1ll << 40) == 23 && __ffs(0) == 0 &&
            __ffs(8) == 4 && __ffsll(1ll << 40) == 41,
        "counting bits");
  check(__brev(1) == 0x80000000u && __brev(0x12345678u) == 0x1e6a2c48u && __brevll(2) == 1ull << 62,
        "reversing bits");
  check(__byte_perm(0x33221100u, 0x77665544u, 0x7410) == 0x77441100u &&
            __byte_perm(0x33221100u, 0x77665544u, 0xfa3) == 0x00772233u,
        "__byte_perm");
  check(__funnelshift_l(0x89abcdefu, 0x01234567u, 8) == 0x23456789u &&
            __funnelshift_l(1, 2, 32) == 2 && __funnelshift_lc(1, 2, 32) == 1 &&
            __funnelshift_r(0x89abcdefu, 0x01234567u, 8) == 0x6789abcdu &&
            __funnelshift_r(1, 2, 32) == 1 && __funnelshift_rc(1, 2, 40) == 2,
        "funnel shifts");
  check(__umulhi(~0u, ~0u) == ~0u - 1 && __umul64hi(~0ull, ~0ull) == ~0ull - 1 &&
            __umul64hi(1ull << 40, 1ull << 30) == 64,
        "high products");
}

// --- Speed

template <u32 THREADS_>
struct Barriers {
  static constexpr u32 THREADS = THREADS_, SHARED = 0, ROWS = 1, SCRATCH = 0, PERSISTENT = 0;
  static void run(const Operands& operands, unsigned char*) {
    for (int i = 0; i < static_cast<int>(operands.params.distance); ++i) __syncthreads();
  }
};
template <u32 THREADS_, u32 WIDTH>
struct Shuffles {
  static constexpr u32 THREADS = THREADS_, SHARED = 0, ROWS = 1, SCRATCH = 0, PERSISTENT = 0;
  static void run(const Operands& operands, unsigned char*) {
    const u32 mask = ~0u >> (32 - WIDTH) << threadIdx.x % 32 / WIDTH * WIDTH;
    u32 value = threadIdx.x;
    for (int i = 0; i < static_cast<int>(operands.params.distance); ++i)
      value += __shfl_xor_sync(mask, value, 1, WIDTH);
  }
};
GPUINT_KERNEL(barriers_of_1024, Barriers<1024>)
GPUINT_KERNEL(barriers_of_128, Barriers<128>)
GPUINT_KERNEL(shuffles_of_32_in_1024, Shuffles<1024, 32>)
GPUINT_KERNEL(shuffles_of_4_in_128, Shuffles<128, 4>)

// CPU time, so that other work on the machine matters little.
int speed() {
  for (const char* kernel :
       {"barriers_of_1024", "barriers_of_128", "shuffles_of_32_in_1024", "shuffles_of_4_in_128"})
    for (u64 seed : {0, 1}) {
      gpuint_launch_bounds bounds{};
      gpuint_simt_launch_bounds(kernel, &bounds);
      Operands one = operands(1);
      one.params.distance = 2000;
      double best = 1e9;
      for (int repeat = 0; repeat < 7; ++repeat) {
        const std::clock_t start = std::clock();
        launch(kernel, one, seed);
        best = min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
      }
      std::printf("%-24s seed %llu: %7.2f ms, %5.1f ns per thread and operation\n", kernel, seed,
                  best * 1e3,
                  best * 1e9 / bounds.threads / static_cast<double>(one.params.distance));
    }
  return 0;
}

int run_broken(const char* kernel) {
  u32 out[64];
  const Result result = launch(kernel, operands(1, out));
  std::printf("%s returned %d %s\n", kernel, result.code, result.message.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "race") return run_broken("no_barrier");
  if (mode == "race-groups") return run_broken("no_order");
  if (mode == "race-waiting") return run_broken("waiting_is_no_order");
  if (mode == "overrun") return run_broken("reads_past");
  if (mode == "speed") return speed();
  check_arithmetic();
  check_right_kernels();
  check_schedules();
  check_faults();
  check_concurrent_launches();
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
