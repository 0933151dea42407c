// Atomics, loads and stores with cache hints, and fences.
//
// Atomics are relaxed, as in CUDA, and truly atomic, because blocks of one grid run on several host
// threads. They work on 32-bit and 64-bit integers. Hints have no effect. Fences order this host
// thread's accesses; they do not make a race between threads of a block legal, neither in CUDA nor
// for ThreadSanitizer.
#pragma once
#include "types.h"

#include <type_traits>

namespace gpuint::simt {

// Gives a parameter the pointer's type instead of a deduced one: atomicAdd(p, 1) for any *p.
template <class T>
struct Same {
  static_assert(std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8),
                "CUDA has 32-bit and 64-bit integer atomics");
  using Type = T;
};

template <class T, class Update>
T atomic_update(T* address, Update update) {
  T old = __atomic_load_n(address, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(address, &old, update(old), true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
  return old;
}

}  // namespace gpuint::simt

// Each function returns the old value.
template <class T>
T atomicAdd(T* address, typename gpuint::simt::Same<T>::Type value) {
  return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicSub(T* address, typename gpuint::simt::Same<T>::Type value) {
  return __atomic_fetch_sub(address, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicAnd(T* address, typename gpuint::simt::Same<T>::Type value) {
  return __atomic_fetch_and(address, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicOr(T* address, typename gpuint::simt::Same<T>::Type value) {
  return __atomic_fetch_or(address, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicXor(T* address, typename gpuint::simt::Same<T>::Type value) {
  return __atomic_fetch_xor(address, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicExch(T* address, typename gpuint::simt::Same<T>::Type value) {
  return __atomic_exchange_n(address, value, __ATOMIC_RELAXED);
}
template <class T>
T atomicMin(T* address, typename gpuint::simt::Same<T>::Type value) {
  return gpuint::simt::atomic_update(address, [value](T old) { return value < old ? value : old; });
}
template <class T>
T atomicMax(T* address, typename gpuint::simt::Same<T>::Type value) {
  return gpuint::simt::atomic_update(address, [value](T old) { return old < value ? value : old; });
}
template <class T>
T atomicCAS(T* address, typename gpuint::simt::Same<T>::Type expected,
            typename gpuint::simt::Same<T>::Type value) {
  __atomic_compare_exchange_n(address, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}

template <class T>
T __ldg(const T* address) {
  return *address;
}
template <class T>
T __ldcg(const T* address) {
  return *address;
}
template <class T>
T __ldcs(const T* address) {
  return *address;
}
template <class T>
void __stcg(T* address, T value) {
  *address = value;
}
template <class T>
void __stcs(T* address, T value) {
  *address = value;
}

inline void __threadfence_block() { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
#if defined(__SANITIZE_THREAD__)
// ThreadSanitizer does not support fences, and its builds use one host thread.
inline void __threadfence() { __threadfence_block(); }
#else
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#endif
inline void __threadfence_system() { __threadfence(); }
