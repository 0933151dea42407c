#include "shared.h"
#include "fiber.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace gpuint::simt {
namespace {

constexpr size_t ALIGNMENT = 16;
constexpr size_t MARGIN = SIMT_ASAN ? 0 : 256;
constexpr u8 MARGIN_PATTERN = 0xA5;

}  // namespace

SharedMemory::SharedMemory(size_t bytes) : bytes_(bytes) {
  void* allocation = nullptr;
  if (posix_memalign(&allocation, ALIGNMENT, bytes + 2 * MARGIN) != 0) throw std::bad_alloc();
  allocation_ = static_cast<unsigned char*>(allocation);
  data_ = allocation_ + MARGIN;
  std::memset(allocation_, MARGIN_PATTERN, MARGIN);
  std::memset(data_ + bytes_, MARGIN_PATTERN, MARGIN);
}

SharedMemory::~SharedMemory() { std::free(allocation_); }

void SharedMemory::poison(u8 pattern) { std::memset(data_, pattern, bytes_); }

bool SharedMemory::is_overrun(long long& offset) const {
  for (size_t i = 0; i < MARGIN; ++i) {
    if (data_[bytes_ + i] != MARGIN_PATTERN) {
      offset = static_cast<long long>(bytes_ + i);
      return true;
    }
    if (data_[-1 - static_cast<ptrdiff_t>(i)] != MARGIN_PATTERN) {
      offset = -1 - static_cast<long long>(i);
      return true;
    }
  }
  return false;
}

}  // namespace gpuint::simt
