// The registry of kernels and the C interface.
#include "abi.h"
#include "launch.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <string_view>

namespace gpuint::simt {
namespace {

struct Kernel {
  Run run;
  Facts facts;
};

// In a function, because Registrar objects of other files may be constructed before those of this one.
std::map<std::string_view, Kernel>& registry() {
  static std::map<std::string_view, Kernel> kernels;
  return kernels;
}

const Kernel* find(const char* name) {
  const auto found = registry().find(name);
  return found == registry().end() ? nullptr : &found->second;
}

void write(char* message, size_t message_len, const std::string& text) {
  if (message != nullptr && message_len != 0) std::snprintf(message, message_len, "%s", text.c_str());
}

bool launch_kernel(const char* name, const Kernel& kernel, const Operands& operands, const gpuint_simt_options& options,
                   Stats& stats, std::string& message) {
  const Facts& facts = kernel.facts;
  if (facts.threads == 0 || facts.threads > MAX_THREADS || facts.rows_per_block == 0) {
    message = std::string("kernel ") + name + ": no block has " + std::to_string(facts.threads) + " threads for " +
              std::to_string(facts.rows_per_block) + " rows";
    return false;
  }
  constexpr u64 CUDA_MAX_GRID = 0x7fffffff;
  const u64 wanted = operands.rows / facts.rows_per_block + (operands.rows % facts.rows_per_block != 0);
  const u64 grid = std::min({wanted, CUDA_MAX_GRID, options.max_grid == 0 ? CUDA_MAX_GRID : options.max_grid});
  const Launch launch{name,           kernel.run,          &operands, facts.threads, facts.shared_bytes,
                      static_cast<u32>(grid), options.seed};
  return run_grid(launch, options.host_threads, stats, message);
}

}  // namespace

Registrar::Registrar(const char* name, Run run, const Facts& facts) { registry()[name] = Kernel{run, facts}; }

}  // namespace gpuint::simt

using namespace gpuint::simt;

extern "C" int gpuint_simt_facts(const char* kernel, gpuint_facts* out) {
  const Kernel* const found = find(kernel);
  if (found == nullptr) return GPUINT_SIMT_UNKNOWN_KERNEL;
  *out = found->facts;
  return GPUINT_SIMT_OK;
}

extern "C" int gpuint_simt_launch(const char* kernel, const gpuint_operands* operands, const gpuint_simt_options* options,
                                  gpuint_simt_stats* stats, char* message, size_t message_len) {
  const Kernel* const found = find(kernel);
  if (found == nullptr) return GPUINT_SIMT_UNKNOWN_KERNEL;
  Stats counted;
  std::string text;
  bool ok = false;
  try {
    ok = launch_kernel(kernel, *found, *operands, *options, counted, text);
  } catch (const std::exception& error) {
    text = std::string("kernel ") + kernel + ": " + error.what();
  }
  if (stats != nullptr) *stats = {counted.barriers, counted.warp_ops, counted.switches, counted.blocks};
  write(message, message_len, text);
  return ok ? GPUINT_SIMT_OK : GPUINT_SIMT_FAULT;
}
