#include "launch.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

namespace gpuint::simt {
namespace {

// Blocks keep their fibers' stacks between launches, up to this many fibers in total: each takes
// two memory mappings, of which a process has some 65000.
constexpr u32 POOLED_FIBERS = 8192;

class Pool {
 public:
  std::unique_ptr<Block> take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (blocks_.empty()) return std::make_unique<Block>();
    std::unique_ptr<Block> block = std::move(blocks_.back());
    blocks_.pop_back();
    fibers_ -= block->fibers();
    return block;
  }

  void give(std::unique_ptr<Block> block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (fibers_ + block->fibers() > POOLED_FIBERS) return;
    fibers_ += block->fibers();
    blocks_.push_back(std::move(block));
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Block>> blocks_;
  u32 fibers_ = 0;
};

Pool& pool() {
  static Pool pool;
  return pool;
}

class Grid {
 public:
  explicit Grid(const Launch& launch) : launch_(launch) {}

  // Runs clusters of blocks until none is left, on any number of host threads at a time.
  void work() {
    std::unique_ptr<Block> block = pool().take();
    block->begin(launch_);
    Stats stats;
    std::string message;
    while (!stop_) {
      const u32 index = next_++;
      if (index >= launch_.grid / launch_.cluster) break;
      if (!block->run(index, stats, message)) fault(index, std::move(message));
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    stats_.barriers += stats.barriers;
    stats_.warp_ops += stats.warp_ops;
    stats_.switches += stats.switches;
    stats_.blocks += stats.blocks;
    pool().give(std::move(block));
  }

  const Stats& stats() const { return stats_; }
  bool failed() const { return stop_; }
  const std::string& message() const { return message_; }

 private:
  void fault(u32 index, std::string message) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!stop_ || index < failed_) {
      failed_ = index;
      message_ = std::move(message);
    }
    stop_ = true;
  }

  const Launch& launch_;
  std::atomic<u32> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // of all below
  u32 failed_ = 0;
  std::string message_;
  Stats stats_;
};

}  // namespace

bool run_grid(const Launch& launch, u32 host_threads, Stats& stats, std::string& message) {
  if (launch.grid == 0) return true;
  if (host_threads == 0) host_threads = std::max(1u, std::thread::hardware_concurrency());
  if (SIMT_TSAN || SIMT_ASAN) host_threads = 1;
  host_threads = std::min(host_threads, launch.grid);

  Grid grid(launch);
  std::vector<std::thread> helpers;
  helpers.reserve(host_threads - 1);
  const auto help = [&grid] {
    try {
      grid.work();
    } catch (const std::bad_alloc&) {
      // The host threads that got memory do the work.
    }
  };
  try {
    while (helpers.size() + 1 < host_threads) helpers.emplace_back(help);
  } catch (const std::system_error&) {
    // Likewise with the threads that could be started.
  }
  std::exception_ptr failure;
  try {
    grid.work();
  } catch (...) {
    failure = std::current_exception();
  }
  for (std::thread& helper : helpers) helper.join();
  stats = grid.stats();
  message = grid.message();
  if (failure != nullptr && stats.blocks < launch.grid && !grid.failed())
    std::rethrow_exception(failure);
  return !grid.failed();
}

}  // namespace gpuint::simt
