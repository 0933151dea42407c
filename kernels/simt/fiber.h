// A fiber: a stack of its own and a context switch in user space, with the sanitizers kept
// informed.
//
// The switch saves what the calling convention lets a callee keep (the callee-saved registers and
// the stack pointer) and loads the other side's. It ends in an indirect jump instead of a return:
// the processor predicts returns from a stack of its own, which a switch of stacks defeats every
// time.
//
//   ThreadSanitizer   sees each fiber as a thread. A switch carries no order between two fibers
//   (flag 1), so only what
//                     `order_release` and `order_acquire` say counts as synchronisation.
//   AddressSanitizer  is told of the stack that becomes current.
//
// Stacks are mapped with an inaccessible page below, so that an overflow faults instead of
// corrupting a neighbour.
#pragma once
#include <cstddef>

#if defined(SIMT_UCONTEXT)
#include <ucontext.h>
#elif !defined(__x86_64__) && !defined(__aarch64__)
#error "no context switch for this processor: define SIMT_UCONTEXT"
#endif

#if defined(__SANITIZE_THREAD__)
#define SIMT_TSAN 1
// For all code that runs between kernels' instructions: its own memory accesses are no accesses of
// the kernel.
#define SIMT_RUNTIME __attribute__((no_sanitize("thread")))
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void* fiber);
void __tsan_switch_to_fiber(void* fiber, unsigned flags);
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#else
#define SIMT_TSAN 0
#define SIMT_RUNTIME
#endif
#define SIMT_INLINE SIMT_RUNTIME __attribute__((always_inline)) inline
#if defined(__SANITIZE_ADDRESS__)
#define SIMT_ASAN 1
#include <sanitizer/common_interface_defs.h>
#else
#define SIMT_ASAN 0
#endif

namespace gpuint::simt {

// A suspended point of execution. Default-constructed: a place where the running code is saved when
// it switches away.
struct Context {
#if defined(SIMT_UCONTEXT)
  ucontext_t registers;
#else
  void* stack_pointer = nullptr;
#endif
#if SIMT_ASAN
  const void* stack_bottom = nullptr;
  size_t stack_size = 0;
  void* fake_stack = nullptr;
#endif
#if SIMT_TSAN
  void* identity = __tsan_get_current_fiber();
#endif
};

#if !defined(SIMT_UCONTEXT)
// Pushes the callee-saved registers, stores the stack pointer to *save, continues at the stack
// pointer `load`.
extern "C" void gpuint_simt_switch(void** save, void* load) __asm__("gpuint_simt_switch");
#endif
#if SIMT_ASAN
// The bounds of the stack that was left are learnt on arrival: those of the host's own are known in
// no other way.
extern __thread Context* left_context;
#endif

// Suspends `from`, which must be the running context, and continues `to`.
SIMT_INLINE void switch_context(Context& from, Context& to) {
#if SIMT_ASAN
  left_context = &from;
  __sanitizer_start_switch_fiber(&from.fake_stack, to.stack_bottom, to.stack_size);
#endif
#if SIMT_TSAN
  __tsan_switch_to_fiber(to.identity, 1);
#endif
#if defined(SIMT_UCONTEXT)
  swapcontext(&from.registers, &to.registers);
#else
  gpuint_simt_switch(&from.stack_pointer, to.stack_pointer);
#endif
#if SIMT_ASAN
  __sanitizer_finish_switch_fiber(from.fake_stack, &left_context->stack_bottom,
                                  &left_context->stack_size);
#endif
}

// The rest of the switch that started a new context.
SIMT_INLINE void complete_first_switch() {
#if SIMT_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &left_context->stack_bottom, &left_context->stack_size);
#endif
}

class Fiber {
 public:
  Fiber();  // throws std::bad_alloc
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Makes the context start in `entry`, which calls complete_first_switch first of all and must not
  // return. What is on the stack is forgotten. `color` staggers the first frames of many fibers,
  // which would otherwise compete for the same cache sets.
  void prepare(void (*entry)(), unsigned color);

  // Gives up a fiber that is suspended in the middle of something; `prepare` must follow. What the
  // fiber did happens before what follows an acquire of `tag`.
  void abandon(Context& running, char& tag);

  Context context;

 private:
  char* mapping_;
};

// What happened before a release of `tag` happens before what follows an acquire of it.
SIMT_INLINE void order_release([[maybe_unused]] char& tag) {
#if SIMT_TSAN
  __tsan_release(&tag);
#endif
}
SIMT_INLINE void order_acquire([[maybe_unused]] char& tag) {
#if SIMT_TSAN
  __tsan_acquire(&tag);
#endif
}

}  // namespace gpuint::simt
