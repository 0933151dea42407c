// A fiber: a separate stack and a context switch in user space, reported to the sanitizers.
//
// The switch saves the registers that the calling convention preserves (callee-saved registers and
// the stack pointer) and loads those of the other side. It ends in an indirect jump instead of a
// return: the processor predicts returns from its own stack, and a switch of stacks would always
// defeat that prediction.
//
//   ThreadSanitizer   treats each fiber as a thread. A switch carries no order between two fibers
//                     (flag 1), so only `order_release` and `order_acquire` count as
//                     synchronization.
//   AddressSanitizer  gets the bounds of the new stack at each switch.
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
// For all code that runs between kernels' instructions: its memory accesses are not those of the
// kernel.
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

// A suspended point of execution. A default-constructed context is filled when the running code
// switches away.
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
// The bounds of the previous stack are recorded on arrival: those of the host's own stack cannot be
// obtained otherwise.
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

// The second half of the switch to a new context.
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

  // Makes the context start in `entry`, which must call complete_first_switch first and must not
  // return. The old content of the stack is discarded. `color` staggers the first frames of many
  // fibers, which would otherwise compete for the same cache sets.
  void prepare(void (*entry)(), unsigned color);

  // Abandons a fiber that is suspended; `prepare` must follow. The fiber's actions happen before
  // actions after an acquire of `tag`.
  void abandon(Context& running, char& tag);

  Context context;

 private:
  char* mapping_;
};

// Actions before a release of `tag` happen before actions after an acquire of it.
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
