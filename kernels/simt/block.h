// One block, or the blocks of a cluster: a fiber for every thread, the scheduler of the fibers,
// barriers and rendezvous, and the handling of faults.
//
// Scheduling. Ready threads are in a queue. A thread that must wait selects the next one and
// switches directly to it. With seed 0 the queue is first in, first out, and the thread that
// completes a barrier or rendezvous continues. With any other seed the selection is random: with a
// probability that is drawn for each block it is the thread that became ready last, else a
// uniformly random one. So some blocks run in near lockstep, and in others one warp runs far ahead.
// The thread that completes a barrier or rendezvous may then lose its turn. Draws depend only on
// the seed and the index of the block.
//
// Rendezvous. The lanes of one mask meet in a record of their warp, found by the mask itself: lanes
// that wait with the mask of the whole warp do not disturb a sub-warp that is behind. The last lane
// to arrive computes every lane's result, so that no lane reads a value that a faster lane may
// overwrite.
//
// Order for ThreadSanitizer. At a barrier every thread releases and then acquires one tag. At a
// rendezvous every lane releases its own tag; the last lane acquires those and releases one tag for
// each lane it wakes. No lane is ever ordered with a lane outside of its mask.
//
// Faults. The thread that finds a fault records it and switches to the host's context, which writes
// the message from the states of all threads and abandons the fibers.
#pragma once
#include "collective.h"
#include "fiber.h"
#include "registry.h"
#include "shared.h"

#include <memory>
#include <string>
#include <vector>

namespace gpuint::simt {

constexpr u32 MAX_THREADS = 1024;  // of a block, and here of all blocks of a cluster
constexpr u32 MAX_CLUSTER = 8;

// State shared by all blocks of a launch.
struct Launch {
  const char* kernel;
  Run run;
  const void* arguments;
  u32 threads;  // of a block; a multiple of 32 where there are clusters
  u32 shared_bytes;
  u32 grid;     // a multiple of the cluster
  u32 cluster;  // blocks that run together
  u64 seed;
};

struct Stats {
  u64 barriers = 0;  // completed __syncthreads
  u64 warp_ops = 0;  // completed rendezvous
  u64 switches = 0;  // from fiber to fiber
  u64 blocks = 0;
};

class Block;

// A CUDA thread.
struct Thread : ThreadView {
  enum class State : u8 { Ready, AtBarrier, AtWarp, Left };

  Thread(Block* block_, u32 id_);

  Block* block;
  u32 id;        // in the cluster
  u32 rank = 0;  // of its block there
  State state = State::Ready;
  u8 operation = 0;  // the BarrierOp or WarpOp that it waits in
  Site site{"", 0};
  u32 mask = 0;
  Fiber fiber;
};

class Block {
 public:
  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Called before the blocks of a launch that this object runs, on their host thread. Throws
  // std::bad_alloc.
  void begin(const Launch& launch);

  // Runs one cluster; returns false after a fault, described in `message`.
  bool run(u32 index, Stats& stats, std::string& message);

  // Fibers held for reuse.
  u32 fibers() const { return fibers_; }

  // Called by a thread of this block.
  u32 barrier(Thread& me, BarrierOp op, bool predicate, Site site);
  u64 rendezvous(Thread& me, WarpOp op, u32 mask, u64 value, u32 source, Site site);
  unsigned char* of_block(const Thread& me, const void* shared, u32 rank) const;
  [[noreturn]] void fail(Thread& me, const char* what, const char* detail, Site site);

 private:
  // Of a block or of the cluster: threads first .. first + threads.
  struct Barrier {
    u32 first = 0;
    u32 threads = 0;
    u32 left = 0;     // threads that left the kernel
    u32 waiting = 0;  // at the barrier
    u32 count = 0;    // of true predicates there
    u32 result = 0;   // count of the barrier completed last
    u32 phase = 0;    // its parity selects the tag
    BarrierOp op = BarrierOp::Sync;
    Site site{"", 0};
    char tags[2];
  };
  struct Meeting {
    u32 mask = 0;  // 0: not in use
    u32 arrived = 0;
    WarpOp op = WarpOp::Sync;
  };
  struct Warp {
    Meeting
        meetings[32];  // the one of a mask stands at the mask's lowest lane, if that place was free
    u32 displaced;     // meetings that stand elsewhere
    u32 present;       // lanes that have not left the kernel
    u64 value[32];     // by lane
    u64 result[32];
    u8 source[32];
    char arrival[32];  // tags for order
    char departure[32];
  };
  struct Fault {
    const Thread* thread = nullptr;  // null: no fault
    const char* what = nullptr;      // null: everybody waits
    const char* detail = nullptr;
  };

  void start();
  static void enter();
  void leave(Thread& me);
  void switch_to(Thread& me, Thread& next);
  void suspend(Thread& me);  // until somebody pushes it
  void yield_by_chance(Thread& me);
  void push(Thread* thread);
  Thread* pick();
  u32 random();
  Meeting& meeting(Warp& warp, u32 mask);
  void upset_shared_memory(const Thread& me);
  void complete(Warp& warp, u32 mask, WarpOp op);

  std::string describe() const;
  void abandon();

  std::vector<std::unique_ptr<Thread>> storage_;
  std::vector<std::unique_ptr<SharedMemory>> shared_;  // by block
  Context host_;
  Coordinates coordinates_[MAX_CLUSTER] = {};
  Launch launch_{};
  Stats stats_;
  Fault fault_;
  u32 fibers_ = 0;

  // Accessed between the instructions of kernels: plain arrays, because library code would be
  // instrumented.
  unsigned char* launch_shared_[MAX_CLUSTER] = {};
  Barrier barriers_[MAX_CLUSTER + 1];  // of each block; the last one is the cluster's
  Thread* threads_[MAX_THREADS] = {};
  Warp warps_[MAX_THREADS / 32];
  Thread* ready_[MAX_THREADS];  // a ring: each thread stands in it at most once
  u32 ready_begin_ = 0;
  u32 ready_end_ = 0;
  u64 random_ = 0;
  u32 run_ahead_ = 0;  // of 256: how often the thread that became ready last goes on
  char start_tag_;
  char end_tag_;
};

}  // namespace gpuint::simt
