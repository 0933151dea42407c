// The registry of kernels and the C interface.
#include "abi.h"
#include "launch.h"
#include "rare.h"
#include "shared.h"
#include "upset.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <string_view>
#include <vector>

namespace gpuint::simt {
namespace {

constexpr u8 SCRATCH_PATTERN = 0xA5;

struct Kernel {
  Run run;
  std::vector<LaunchBounds> bounds;  // of each phase
};

// Units of kernels may be loaded while others run.
struct Registry {
  std::mutex mutex;
  std::map<std::string_view, Kernel> kernels;  // whose elements keep their places
};

// In a function, because Registrar objects of other files may be constructed before those of this
// file.
Registry& registry() {
  static Registry registry;
  return registry;
}

const Kernel* find(const char* name) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.kernels.find(name);
  return found == all.kernels.end() ? nullptr : &found->second;
}

void write(char* message, size_t message_len, const std::string& text) {
  if (message != nullptr && message_len != 0)
    std::snprintf(message, message_len, "%s", text.c_str());
}

bool launch_phase(const char* name, Run run, const LaunchBounds& bounds, const Operands& operands,
                  const gpuint_simt_options& options, Stats& stats, std::string& message) {
  if (bounds.threads == 0 || bounds.threads > MAX_THREADS || bounds.rows_per_block == 0 ||
      bounds.cluster == 0 || bounds.cluster > MAX_CLUSTER ||
      bounds.threads * bounds.cluster > MAX_THREADS ||
      (bounds.cluster > 1 && bounds.threads % 32 != 0)) {
    message = std::string("kernel ") + name + ": no block has " + std::to_string(bounds.threads) +
              " threads for " + std::to_string(bounds.rows_per_block) + " rows, in clusters of " +
              std::to_string(bounds.cluster);
    return false;
  }
  constexpr u64 CUDA_MAX_GRID = 0x7fffffff;
  const u64 wanted =
      operands.rows / bounds.rows_per_block + (operands.rows % bounds.rows_per_block != 0);
  // A GPU has memory for the blocks that run at a time; here, too, a block processes many rows with
  // the same scratch.
  constexpr u64 SCRATCH_GRID = 16;
  const u64 most = std::min(bounds.scratch_bytes == 0 ? CUDA_MAX_GRID : SCRATCH_GRID,
                            options.max_grid == 0 ? CUDA_MAX_GRID : u64{options.max_grid});
  const u64 grid = std::min(wanted, std::max<u64>(most / bounds.cluster, 1)) * bounds.cluster;
  // Never clean, and aligned like shared memory.
  SharedMemory scratch(grid * bounds.scratch_bytes * std::max<u64>(operands.params.bases, 1));
  scratch.poison(SCRATCH_PATTERN);
  Operands own = operands;
  own.scratch = scratch.data();
  const Launch launch{name,
                      run,
                      &own,
                      bounds.threads,
                      bounds.shared_bytes,
                      static_cast<u32>(grid),
                      bounds.cluster,
                      options.seed};
  if (!run_grid(launch, options.host_threads, stats, message)) return false;
  long long offset = 0;
  if (!scratch.is_overrun(offset)) return true;
  message = std::string("kernel ") + name + ": a write outside of scratch, at byte " +
            std::to_string(offset);
  return false;
}

bool launch_kernel(const char* name, const Kernel& kernel, const Operands& operands,
                   const gpuint_simt_options& options, Stats& stats, std::string& message) {
  SharedMemory workspace(operands.rows * kernel.bounds[0].row_bytes);
  workspace.poison(SCRATCH_PATTERN);
  u32 counters[COUNTERS] = {};
  Operands own = operands;
  own.step = 0;
  own.workspace = workspace.data();
  own.counters = counters;
  // From phase own.phase to a phase of the other kind.
  const auto launch_phases = [&](u32 repeated) {
    for (; own.phase < kernel.bounds.size(); ++own.phase) {
      const LaunchBounds& bounds = kernel.bounds[own.phase];
      if (bounds.repeated != repeated) break;
      Stats counted;
      const bool ok = launch_phase(name, kernel.run, bounds, own, options, counted, message);
      stats.barriers += counted.barriers;
      stats.warp_ops += counted.warp_ops;
      stats.switches += counted.switches;
      stats.blocks += counted.blocks;
      if (!ok) return false;
    }
    return true;
  };
  own.phase = 0;
  if (!launch_phases(0)) return false;
  const u64 first = own.phase, steps = first < kernel.bounds.size() ? counters[0] : 0;
  for (own.step = 0; own.step < steps; ++own.step) {
    own.phase = first;
    if (!launch_phases(1)) return false;
  }
  long long offset = 0;
  if (!workspace.is_overrun(offset)) return true;
  message = std::string("kernel ") + name + ": a write outside of the workspace, at byte " +
            std::to_string(offset);
  return false;
}

bool run_blocks(const char* name, const Kernel& kernel, const void* arguments, u32 grid,
                const gpuint_simt_options& options, Stats& stats, std::string& message) {
  const LaunchBounds& bounds = kernel.bounds[0];
  const Launch launch{name, kernel.run, arguments,   bounds.threads, bounds.shared_bytes,
                      grid, 1,          options.seed};
  return run_grid(launch, options.host_threads, stats, message);
}

// Runs `run(kernel, stats, message)` for a kernel by name, and reports as gpuint_simt_launch does.
template <class Work>
int run_reported(const char* name, gpuint_simt_stats* stats, char* message, size_t message_len,
                 Work run) {
  const Kernel* const found = find(name);
  if (found == nullptr) return GPUINT_SIMT_UNKNOWN_KERNEL;
  Stats counted;
  std::string text;
  bool ok = false;
  try {
    ok = run(*found, counted, text);
  } catch (const std::exception& error) {
    text = std::string("kernel ") + name + ": " + error.what();
  }
  if (stats != nullptr)
    *stats = {counted.barriers, counted.warp_ops, counted.switches, counted.blocks};
  write(message, message_len, text);
  return ok ? GPUINT_SIMT_OK : GPUINT_SIMT_FAULT;
}

}  // namespace

u64 rare_counts[static_cast<u32>(Rare::COUNT)];

UpsetPlan upset_plan;

Registrar::Registrar(const char* name, Run run, const LaunchBounds* bounds, u32 phases) {
  Registry& all = registry();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.kernels.try_emplace(name, Kernel{run, {bounds, bounds + phases}});
}

}  // namespace gpuint::simt

using namespace gpuint::simt;

extern "C" int gpuint_simt_launch_bounds(const char* kernel, gpuint_launch_bounds* out) {
  const Kernel* const found = find(kernel);
  if (found == nullptr) return GPUINT_SIMT_UNKNOWN_KERNEL;
  *out = found->bounds[0];
  return GPUINT_SIMT_OK;
}

extern "C" int gpuint_simt_launch(const char* kernel, const gpuint_operands* operands,
                                  const gpuint_simt_options* options, gpuint_simt_stats* stats,
                                  char* message, size_t message_len) {
  return run_reported(kernel, stats, message, message_len,
                      [&](const Kernel& found, Stats& counted, std::string& text) {
                        return launch_kernel(kernel, found, *operands, *options, counted, text);
                      });
}

extern "C" int gpuint_simt_launch_grid(const char* kernel, const void* arguments, uint32_t grid,
                                       const gpuint_simt_options* options, gpuint_simt_stats* stats,
                                       char* message, size_t message_len) {
  return run_reported(kernel, stats, message, message_len,
                      [&](const Kernel& found, Stats& counted, std::string& text) {
                        return run_blocks(kernel, found, arguments, grid, *options, counted, text);
                      });
}

extern "C" uint64_t gpuint_simt_upset(uint32_t kind, uint64_t after, uint64_t seed,
                                      uint64_t* events) {
  const u64 flips = upset_plan.flips;
  *events = upset_plan.events;
  upset_plan = {kind, after, seed, 0, 0};
  return flips;
}

extern "C" const char* gpuint_simt_rare(uint32_t path, uint64_t* count) {
  static constexpr const char* NAMES[] = {
#define GPUINT_RARE_NAME(name) #name,
      GPUINT_RARE_PATHS(GPUINT_RARE_NAME)
#undef GPUINT_RARE_NAME
  };
  if (path >= std::size(NAMES)) return nullptr;
  *count = __atomic_load_n(&rare_counts[path], __ATOMIC_RELAXED);
  return NAMES[path];
}
