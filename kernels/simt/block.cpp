#include "block.h"

#include "upset.h"

#include <cstdio>
#include <cstring>

namespace gpuint::simt {

__thread ThreadView* self = nullptr;

namespace {

constexpr u32 RING = MAX_THREADS - 1;
static_assert((MAX_THREADS & RING) == 0, "ring positions are taken modulo a power of two");

constexpr u64 UNDEFINED = 0xCDCDCDCDCDCDCDCD;
constexpr u8 POISON_IN_ORDER = 0xCD;

constexpr u64 mix(u64 x) {  // the finalizer of SplitMix64: a bijection without visible structure
  x += 0x9E3779B97F4A7C15;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

SIMT_INLINE Thread& me() { return static_cast<Thread&>(*self); }

const char* name(BarrierOp op) {
  switch (op) {
    case BarrierOp::Count:
      return "__syncthreads_count";
    case BarrierOp::And:
      return "__syncthreads_and";
    case BarrierOp::Or:
      return "__syncthreads_or";
    case BarrierOp::Cluster:
      return "barrier.cluster";
    default:
      return "__syncthreads";
  }
}

const char* name(WarpOp op) {
  switch (op) {
    case WarpOp::Sync:
      return "__syncwarp";
    case WarpOp::Shuffle:
      return "__shfl_sync";
    case WarpOp::ShuffleUp:
      return "__shfl_up_sync";
    case WarpOp::ShuffleDown:
      return "__shfl_down_sync";
    case WarpOp::ShuffleXor:
      return "__shfl_xor_sync";
    case WarpOp::Ballot:
      return "__ballot_sync";
    case WarpOp::Any:
      return "__any_sync";
    case WarpOp::All:
      return "__all_sync";
    case WarpOp::Add:
      return "__reduce_add_sync";
    case WarpOp::Min:
    case WarpOp::SignedMin:
      return "__reduce_min_sync";
    case WarpOp::Max:
    case WarpOp::SignedMax:
      return "__reduce_max_sync";
    case WarpOp::And:
      return "__reduce_and_sync";
    case WarpOp::Or:
      return "__reduce_or_sync";
    case WarpOp::Xor:
      return "__reduce_xor_sync";
    default:
      return "mma.sync";
  }
}

SIMT_INLINE bool same(Site a, Site b) {
  return a.line == b.line && (a.file == b.file || std::strcmp(a.file, b.file) == 0);
}

}  // namespace

// --- Scheduler

SIMT_INLINE u32 Block::random() {  // xorshift64*
  random_ ^= random_ >> 12;
  random_ ^= random_ << 25;
  random_ ^= random_ >> 27;
  return static_cast<u32>(random_ * 0x2545F4914F6CDD1D >> 32);
}

SIMT_INLINE void Block::push(Thread* thread) { ready_[ready_end_++ & RING] = thread; }

SIMT_INLINE Thread* Block::pick() {
  if (launch_.seed == 0) return ready_[ready_begin_++ & RING];
  const u32 draw = random();
  Thread*& last = ready_[--ready_end_ & RING];
  if ((draw & 255) >= run_ahead_) {
    Thread*& other =
        ready_[(ready_begin_ +
                ((draw >> 8) * static_cast<u64>(ready_end_ - ready_begin_ + 1) >> 24)) &
               RING];
    Thread* const thread = other;
    other = last;
    last = thread;
  }
  return last;
}

SIMT_INLINE void Block::switch_to(Thread& me, Thread& next) {
  ++stats_.switches;
  self = &next;
  switch_context(me.fiber.context, next.fiber.context);
  me.state = Thread::State::Ready;
}

SIMT_INLINE void Block::suspend(Thread& me) {
  if (ready_begin_ == ready_end_) fail(me, nullptr, nullptr, me.site);
  switch_to(me, *pick());
}

SIMT_INLINE void Block::yield_by_chance(Thread& me) {
  if (launch_.seed == 0 || ready_begin_ == ready_end_ || (random() & 1) != 0) return;
  Thread& next = *pick();
  push(&me);
  switch_to(me, next);
}

SIMT_RUNTIME void Block::start() {
  order_release(start_tag_);
  Thread& first = *pick();
  self = &first;
  switch_context(host_, first.fiber.context);
  order_acquire(end_tag_);
}

SIMT_RUNTIME void Block::enter() {
  complete_first_switch();
  for (;;) {
    Thread& thread = me();
    Block& block = *thread.block;
    order_acquire(block.start_tag_);
    block.launch_.run(block.launch_.arguments, block.launch_shared_[thread.rank]);
    order_release(block.end_tag_);
    block.leave(thread);
  }
}

SIMT_RUNTIME void Block::leave(Thread& me) {
  Barrier& own = barriers_[me.rank];
  Barrier& all = barriers_[MAX_CLUSTER];
  for (const Barrier* barrier : {&own, &all})
    if (barrier->waiting != 0)
      fail(me, "divergent barrier: a thread leaves the kernel while others wait", nullptr,
           barrier->site);
  warps_[me.id / 32].present &= ~(1u << me.id % 32);
  me.state = Thread::State::Left;
  ++own.left;
  if (++all.left == all.threads) {
    switch_context(me.fiber.context, host_);
  } else {
    suspend(me);
  }
}

// --- Barrier
//
// One result and two tags suffice: a barrier completes when every thread has arrived, hence has
// left the barrier before.

SIMT_INLINE u32 Block::barrier(Thread& me, BarrierOp op, bool predicate, Site site) {
  Barrier& here = barriers_[op == BarrierOp::Cluster ? MAX_CLUSTER : me.rank];
  me.operation = static_cast<u8>(op);
  me.site = site;
  if (here.left != 0)
    fail(me, "divergent barrier: some threads have left the kernel", nullptr, site);
  if (here.waiting == 0) {
    here.site = site;
    here.op = op;
    here.count = 0;
  } else if (!same(here.site, site)) {
    fail(me, "divergent barrier: two call sites", nullptr, site);
  } else if (here.op != op) {
    fail(me, "divergent barrier: two operations", nullptr, site);
  }
  here.count += predicate;
  char& tag = here.tags[here.phase & 1];
  order_release(tag);
  if (++here.waiting < here.threads) {
    me.state = Thread::State::AtBarrier;
    suspend(me);
  } else {
    here.waiting = 0;
    here.result = here.count;
    ++here.phase;
    ++stats_.barriers;
    upset_shared_memory(me);
    for (u32 id = here.first; id < here.first + here.threads; ++id)
      if (id != me.id) push(threads_[id]);
    yield_by_chance(me);
  }
  order_acquire(tag);
  return here.result;
}

// --- Upsets

SIMT_INLINE void Block::upset_shared_memory(const Thread& me) {
  if (launch_.shared_bytes == 0 || !is_upset(Upset::SharedMemory)) return;
  const u64 bit = mix(upset_plan.seed) % (u64{8} * launch_.shared_bytes);
  launch_shared_[me.rank][bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
}

// --- Rendezvous

SIMT_INLINE Block::Meeting& Block::meeting(Warp& warp, u32 mask) {
  Meeting* place = &warp.meetings[__builtin_ctz(mask)];
  if (place->mask == mask) return *place;
  if (warp.displaced != 0)
    for (Meeting& other : warp.meetings)
      if (other.mask == mask) return other;
  if (place->mask != 0) {
    // A free place exists: each of the at most 31 other lanes waits in one meeting.
    for (place = warp.meetings; place->mask != 0;) ++place;
    ++warp.displaced;
  }
  place->mask = mask;
  place->arrived = 0;
  return *place;
}

// A product of byte matrices for all lanes; the value of each waiting lane points to its fragments,
// words of four bytes in a row, lowest first. The bytes are widened, so that compilers find the
// instruction that adds products of 16-bit numbers.
SIMT_INLINE void multiply_bytes(const u64 (&value)[32]) {
  constexpr u32 DEPTH = 32;
  u8 bytes[24 * DEPTH];  // 16 rows of A, 8 columns of B
  short factors[24 * DEPTH];
  for (u32 lane = 0; lane < 32; ++lane) {
    const Fragments& own = *reinterpret_cast<const Fragments*>(value[lane]);
    u8* const low = bytes + lane / 4 * DEPTH + lane % 4 * 4;
    u8* const high = low + 8 * DEPTH;
    u8* const column = high + 8 * DEPTH;
    __builtin_memcpy(low, own.a, 4);
    __builtin_memcpy(high, own.a + 1, 4);
    __builtin_memcpy(low + 16, own.a + 2, 4);
    __builtin_memcpy(high + 16, own.a + 3, 4);
    __builtin_memcpy(column, own.b, 4);
    __builtin_memcpy(column + 16, own.b + 1, 4);
  }
  for (u32 i = 0; i < 24 * DEPTH; ++i) factors[i] = bytes[i];
  u32 sums[16][8];
  for (u32 i = 0; i < 16; ++i)
    for (u32 j = 0; j < 8; ++j) {
      int sum = 0;
      for (u32 k = 0; k < DEPTH; ++k) sum += factors[i * DEPTH + k] * factors[(16 + j) * DEPTH + k];
      sums[i][j] = static_cast<u32>(sum);
    }
  for (u32 lane = 0; lane < 32; ++lane) {
    u32* const c = reinterpret_cast<const Fragments*>(value[lane])->c;
    const u32 i = lane / 4, j = lane % 4 * 2;
    c[0] += sums[i][j], c[1] += sums[i][j + 1];
    c[2] += sums[i + 8][j], c[3] += sums[i + 8][j + 1];
  }
}

// Computes every lane's result from every lane's value.
SIMT_INLINE void Block::complete(Warp& warp, u32 mask, WarpOp op) {
  if (op == WarpOp::Sync) return;
  if (op == WarpOp::MultiplyBytes) return multiply_bytes(warp.value);
  if (op == WarpOp::Shuffle || op == WarpOp::ShuffleUp || op == WarpOp::ShuffleDown ||
      op == WarpOp::ShuffleXor) {
    for (u32 lanes = mask; lanes != 0; lanes &= lanes - 1) {
      const u32 lane = static_cast<u32>(__builtin_ctz(lanes));
      const u32 source = warp.source[lane];
      warp.result[lane] = (mask >> source & 1) != 0 ? warp.value[source] : UNDEFINED;
    }
    return;
  }
  u32 fold = static_cast<u32>(warp.value[__builtin_ctz(mask)]);
  if (op == WarpOp::Ballot) fold <<= __builtin_ctz(mask);
  for (u32 lanes = mask & (mask - 1); lanes != 0; lanes &= lanes - 1) {
    const u32 lane = static_cast<u32>(__builtin_ctz(lanes));
    const u32 value = static_cast<u32>(warp.value[lane]);
    switch (op) {
      case WarpOp::Ballot:
        fold |= value << lane;
        break;
      case WarpOp::Any:
      case WarpOp::Or:
        fold |= value;
        break;
      case WarpOp::All:
      case WarpOp::And:
        fold &= value;
        break;
      case WarpOp::Xor:
        fold ^= value;
        break;
      case WarpOp::Add:
        fold += value;
        break;
      case WarpOp::Min:
        fold = value < fold ? value : fold;
        break;
      case WarpOp::Max:
        fold = fold < value ? value : fold;
        break;
      case WarpOp::SignedMin:
        fold = static_cast<int>(value) < static_cast<int>(fold) ? value : fold;
        break;
      default:
        fold = static_cast<int>(fold) < static_cast<int>(value) ? value : fold;
        break;
    }
  }
  for (u32 lanes = mask; lanes != 0; lanes &= lanes - 1) warp.result[__builtin_ctz(lanes)] = fold;
}

SIMT_INLINE u64 Block::rendezvous(Thread& me, WarpOp op, u32 mask, u64 value, u32 source,
                                  Site site) {
  const u32 lane = me.id % 32;
  const u32 first = me.id - lane;
  Warp& warp = warps_[first / 32];
  me.operation = static_cast<u8>(op);
  me.site = site;
  me.mask = mask;
  if ((mask >> lane & 1) == 0) fail(me, "the calling lane is not in its mask", nullptr, site);
  if ((mask & ~warp.present) != 0)
    fail(me, "the mask names lanes that left the kernel or never were", nullptr, site);
  Meeting& here = meeting(warp, mask);
  if (here.arrived == 0) {
    here.op = op;
  } else if (here.op != op) {
    fail(me, "the lanes of one mask disagree on the operation", nullptr, site);
  }
  // Shuffles pass limbs on; lengths, which become addresses, come from reductions.
  const bool is_shuffle = op == WarpOp::Shuffle || op == WarpOp::ShuffleUp ||
                          op == WarpOp::ShuffleDown || op == WarpOp::ShuffleXor;
  if (is_shuffle && is_upset(Upset::Register)) value ^= u64{1} << mix(upset_plan.seed) % 32;
  warp.value[lane] = value;
  warp.source[lane] = static_cast<u8>(source);
  here.arrived |= 1u << lane;
  order_release(warp.arrival[lane]);
  if (here.arrived != mask) {
    me.state = Thread::State::AtWarp;
    suspend(me);
    order_acquire(warp.departure[lane]);
    return warp.result[lane];
  }
  here.mask = 0;
  if (&here != &warp.meetings[__builtin_ctz(mask)]) --warp.displaced;
  complete(warp, mask, op);
  ++stats_.warp_ops;
  upset_shared_memory(me);
  const u32 others = mask & ~(1u << lane);
#if SIMT_TSAN
  for (u32 lanes = others; lanes != 0; lanes &= lanes - 1)
    order_acquire(warp.arrival[__builtin_ctz(lanes)]);
  for (u32 lanes = others; lanes != 0; lanes &= lanes - 1)
    order_release(warp.departure[__builtin_ctz(lanes)]);
#endif
  for (u32 lanes = others; lanes != 0; lanes &= lanes - 1)
    push(threads_[first + static_cast<u32>(__builtin_ctz(lanes))]);
  const u64 result = warp.result[lane];
  yield_by_chance(me);
  return result;
}

// --- Shared memory of another block of the cluster

unsigned char* Block::of_block(const Thread& me, const void* shared, u32 rank) const {
  return launch_shared_[rank] +
         (static_cast<const unsigned char*>(shared) - launch_shared_[me.rank]);
}

// --- Interface of the kernels

SIMT_RUNTIME u32 barrier(BarrierOp op, bool predicate, Site site) {
  return me().block->barrier(me(), op, predicate, site);
}
SIMT_RUNTIME u64 rendezvous(WarpOp op, u32 mask, u64 value, u32 source, Site site) {
  return me().block->rendezvous(me(), op, mask, value, source, site);
}
unsigned char* of_block(const void* shared, u32 rank) {
  return me().block->of_block(me(), shared, rank);
}
void trap(Site site) { me().block->fail(me(), "__trap", nullptr, site); }
void fail_assertion(const char* condition, const char* text, Site site) {
  me().block->fail(me(), text, condition, site);
}
void fail_width(Site site) {
  me().block->fail(me(), "the width of a shuffle is not a power of two up to 32", nullptr, site);
}

// --- Faults

SIMT_RUNTIME void Block::fail(Thread& me, const char* what, const char* detail, Site site) {
  me.site = site;
  fault_.thread = &me;
  fault_.what = what;
  fault_.detail = detail;
  switch_context(me.fiber.context, host_);
  __builtin_unreachable();
}

namespace {

std::string hex(u32 mask) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", mask);
  return text;
}

std::string at(Site site) { return std::string(site.file) + ":" + std::to_string(site.line); }

// Describes the state of a thread; threads in the same state have the same text.
std::string activity(const Thread& thread) {
  switch (thread.state) {
    case Thread::State::Left:
      return "left the kernel";
    case Thread::State::AtBarrier:
      return std::string("in ") + name(static_cast<BarrierOp>(thread.operation)) + " at " +
             at(thread.site);
    case Thread::State::AtWarp:
      return std::string("in ") + name(static_cast<WarpOp>(thread.operation)) + " with mask " +
             hex(thread.mask) + " at " + at(thread.site);
    default:
      return "ready to run";
  }
}

// Reason why a thread that waits for the lanes of its mask never continues.
std::string reason(const Thread& waiting, const Thread& missing) {
  const std::string who = "lane " + std::to_string(missing.index.x % 32);
  switch (missing.state) {
    case Thread::State::Left:
      return "deadlock: " + who + ", which the mask names, left the kernel";
    case Thread::State::AtWarp:
      return missing.mask == waiting.mask ? std::string("deadlock")
                                          : "deadlock: " + who + " waits with another mask";
    default:
      return "deadlock: " + who + ", which the mask names, waits for the block";
  }
}

}  // namespace

std::string Block::describe() const {
  const u32 threads = barriers_[MAX_CLUSTER].threads;
  const Thread* thread = fault_.thread;
  std::string what;
  if (fault_.what != nullptr) {
    what = fault_.what;
    if (fault_.detail != nullptr) what += std::string(" (") + fault_.detail + ")";
  } else {
    // No thread can continue. Threads at the barrier wait for those in warp operations, so the
    // cause is with the latter.
    what = "deadlock";
    for (u32 id = 0; id < threads; ++id) {
      if (threads_[id]->state != Thread::State::AtWarp) continue;
      thread = threads_[id];
      const u32 first = id / 32 * 32;
      for (u32 lane = 0; lane < 32; ++lane) {
        if ((thread->mask >> lane & 1) == 0) continue;
        const Thread& other = *threads_[first + lane];
        if (other.state == Thread::State::AtWarp && other.mask == thread->mask) continue;
        what = reason(*thread, other);
        break;
      }
      break;
    }
  }
  std::string text = std::string("kernel ") + launch_.kernel + ", block " +
                     std::to_string(thread->coordinates->block_index.x) + ", thread " +
                     std::to_string(thread->index.x) + ": " + what + ", at " + at(thread->site);

  bool ready[MAX_THREADS] = {};  // woken, but not yet run: their state still names their last wait
  for (u32 i = ready_begin_; i != ready_end_; ++i) ready[ready_[i & RING]->id] = true;
  const auto doing = [&](u32 id) {
    if (threads_[id] == fault_.thread && fault_.what != nullptr) return std::string("found it");
    return ready[id] ? std::string("ready to run") : activity(*threads_[id]);
  };
  constexpr u32 LINES = 40;
  u32 lines = 0;
  for (u32 begin = 0, end; begin < threads; begin = end) {
    const std::string line = doing(begin);
    for (end = begin + 1; end < threads && doing(end) == line;) ++end;
    if (++lines > LINES) return text + "\n  ...";
    text += "\n  ";
    text += end - begin == 1 ? "thread " + std::to_string(begin)
                             : "threads " + std::to_string(begin) + "-" + std::to_string(end - 1);
    text += ": " + line;
  }
  return text;
}

// --- Life of a block

Thread::Thread(Block* block_, u32 id_) : ThreadView{{id_, 0, 0}, nullptr}, block(block_), id(id_) {}

void Block::begin(const Launch& launch) {
  launch_ = launch;
  host_ = Context();
  const u32 threads = launch.threads * launch.cluster;
  shared_.clear();
  for (u32 rank = 0; rank < launch.cluster; ++rank) {
    shared_.push_back(std::make_unique<SharedMemory>(launch.shared_bytes));
    launch_shared_[rank] = shared_.back()->data();
    barriers_[rank].first = rank * launch.threads;
    barriers_[rank].threads = launch.threads;
    coordinates_[rank].block_dim = dim3(launch.threads);
    coordinates_[rank].grid_dim = dim3(launch.grid);
  }
  barriers_[MAX_CLUSTER].threads = threads;
  for (; fibers_ < threads; ++fibers_) {
    storage_.push_back(std::make_unique<Thread>(this, fibers_));
    threads_[fibers_] = storage_.back().get();
  }
  for (u32 id = 0; id < threads; ++id) {
    Thread& thread = *threads_[id];
    thread.rank = id / launch.threads;
    thread.index.x = id % launch.threads;
    thread.coordinates = &coordinates_[thread.rank];
  }
  // Created anew for every launch: in an old fiber a compiler may have kept the address of the host
  // thread's `self`.
  for (u32 id = 0; id < threads; ++id) threads_[id]->fiber.prepare(&Block::enter, id);
}

bool Block::run(u32 index, Stats& stats, std::string& message) {
  const u32 threads = barriers_[MAX_CLUSTER].threads;
  stats_ = Stats();
  random_ = mix(launch_.seed ^ mix(index)) | 1;  // the generator stays at zero
  constexpr u32 RUN_AHEAD[] = {0, 128, 224, 250};
  run_ahead_ = RUN_AHEAD[random() % 4];
  for (u32 rank = 0; rank < launch_.cluster; ++rank) {
    coordinates_[rank].block_index = {index * launch_.cluster + rank, 0, 0};
    shared_[rank]->poison(launch_.seed == 0 ? POISON_IN_ORDER : static_cast<u8>(random()));
  }
  for (u32 warp = 0; warp * 32 < threads; ++warp) {
    for (Meeting& meeting : warps_[warp].meetings) meeting = Meeting();
    warps_[warp].displaced = 0;
    warps_[warp].present = threads - warp * 32 >= 32 ? ~0u : (1u << (threads - warp * 32)) - 1;
  }
  ready_begin_ = ready_end_ = 0;
  for (Barrier& barrier : barriers_) barrier.left = barrier.waiting = 0;
  fault_ = Fault();
  for (u32 id = 0; id < threads; ++id) {
    threads_[id]->state = Thread::State::Ready;
    push(threads_[id]);
  }
  start();
  stats_.blocks = launch_.cluster;
  stats.barriers += stats_.barriers;
  stats.warp_ops += stats_.warp_ops;
  stats.switches += stats_.switches;
  stats.blocks += stats_.blocks;
  if (fault_.thread != nullptr) {
    message = describe();
    abandon();
    return false;
  }
  for (u32 rank = 0; rank < launch_.cluster; ++rank) {
    long long offset = 0;
    if (!shared_[rank]->is_overrun(offset)) continue;
    message = std::string("kernel ") + launch_.kernel + ", block " +
              std::to_string(coordinates_[rank].block_index.x) +
              ": a thread wrote outside of shared memory, at byte " + std::to_string(offset) +
              " of " + std::to_string(launch_.shared_bytes);
    return false;
  }
  return true;
}

void Block::abandon() {
  const u32 threads = barriers_[MAX_CLUSTER].threads;
  for (u32 id = 0; id < threads; ++id) threads_[id]->fiber.abandon(host_, end_tag_);
  order_acquire(end_tag_);
  for (u32 id = 0; id < threads; ++id) threads_[id]->fiber.prepare(&Block::enter, id);
}

}  // namespace gpuint::simt
