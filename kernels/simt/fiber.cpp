#include "fiber.h"

#include <new>

#include <sys/mman.h>
#include <unistd.h>

#if SIMT_ASAN
#include <sanitizer/asan_interface.h>
#endif

#if !defined(MAP_NORESERVE)
#define MAP_NORESERVE 0
#endif

namespace gpuint::simt {
namespace {

// Sanitizers make frames larger. Pages that are not touched cost nothing.
constexpr size_t STACK_BYTES = (SIMT_ASAN || SIMT_TSAN) ? 256 << 10 : 128 << 10;
constexpr size_t COLORS = 61;
constexpr size_t COLOR_BYTES = 192;

size_t page_bytes() {
  static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

size_t mapping_bytes() { return page_bytes() + STACK_BYTES; }

}  // namespace

#if !defined(SIMT_UCONTEXT)

#if defined(__x86_64__)
__asm__(R"(
  .text
  .p2align 4
  .globl gpuint_simt_switch
gpuint_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
)");
// Saved registers, then the address to continue at, then (for a new context) a null return address.
// It ends back traces and leaves the stack pointer as the convention defines it on entry: 8 below a
// multiple of 16.
constexpr size_t ENTRY_WORD = 6;
constexpr size_t FRAME_WORDS = 8;
#elif defined(__aarch64__)
__asm__(R"(
  .text
  .p2align 4
  .globl gpuint_simt_switch
gpuint_simt_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x9, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  mov x30, xzr
  br x9
)");
constexpr size_t ENTRY_WORD = 11;
constexpr size_t FRAME_WORDS = 20;
#endif

#endif

#if SIMT_ASAN
__thread Context* left_context = nullptr;
#endif

Fiber::Fiber() {
  void* mapping = mmap(nullptr, mapping_bytes(), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) throw std::bad_alloc();
  if (mprotect(mapping, page_bytes(), PROT_NONE) != 0) {
    munmap(mapping, mapping_bytes());
    throw std::bad_alloc();
  }
  mapping_ = static_cast<char*>(mapping);
#if SIMT_TSAN
  context.identity = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if SIMT_TSAN
  __tsan_destroy_fiber(context.identity);
#endif
  munmap(mapping_, mapping_bytes());
}

void Fiber::prepare(void (*entry)(), unsigned color) {
  char* const bottom = mapping_ + page_bytes();
  const size_t size = STACK_BYTES - color % COLORS * COLOR_BYTES;
#if SIMT_ASAN
  __asan_unpoison_memory_region(bottom, STACK_BYTES);
  context.stack_bottom = bottom;
  context.stack_size = size;
  context.fake_stack = nullptr;
#endif
#if defined(SIMT_UCONTEXT)
  getcontext(&context.registers);
  context.registers.uc_stack.ss_sp = bottom;
  context.registers.uc_stack.ss_size = size;
  context.registers.uc_link = nullptr;
  makecontext(&context.registers, entry, 0);
#else
  void** const frame = reinterpret_cast<void**>(bottom + size) - FRAME_WORDS;
  for (size_t i = 0; i < FRAME_WORDS; ++i) frame[i] = nullptr;
  frame[ENTRY_WORD] = reinterpret_cast<void*>(entry);
  context.stack_pointer = frame;
#endif
}

SIMT_RUNTIME void Fiber::abandon([[maybe_unused]] Context& running, [[maybe_unused]] char& tag) {
#if SIMT_TSAN
  // An abandoned identity would keep its call stack, so it releases its own order and is replaced
  // by a new one.
  __tsan_switch_to_fiber(context.identity, 1);
  __tsan_release(&tag);
  __tsan_switch_to_fiber(running.identity, 1);
  __tsan_destroy_fiber(context.identity);
  context.identity = __tsan_create_fiber(0);
#endif
}

}  // namespace gpuint::simt
