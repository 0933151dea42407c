// The shared memory of a block: exactly as large as the kernel declares, 16-byte aligned, never
// zeroed.
//
// AddressSanitizer guards both ends of the allocation. Other builds keep a margin there and check
// after each block that it is unchanged.
#pragma once
#include "types.h"

#include <cstddef>

namespace gpuint::simt {

class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes);  // throws std::bad_alloc
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  unsigned char* data() const { return data_; }

  void poison(u8 pattern);

  // Returns whether a byte just outside was written, and its offset from the start.
  bool is_overrun(long long& offset) const;

 private:
  size_t bytes_;
  unsigned char* allocation_;
  unsigned char* data_;
};

}  // namespace gpuint::simt
