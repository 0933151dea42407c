// Runs kernels over the SIMT shim on operands from standard input, for builds with
// ThreadSanitizer, AddressSanitizer and UBSan: every operand is a heap block of exactly its size,
// so that whatever a kernel reads or writes beyond is reported.
//
// The other end of the pipe (testkit/src/bin/cases.rs) draws the operands and checks the results.
// Numbers are little-endian. A request is a u32 length and the name of a kernel, and the u64s
//     rows, or 0 to ask for the bounds; schedule; blocks at most;
//     bytes of each of three inputs, of two results, and of the initial values of two results;
//     pairs of factors; bytes of a factor; 1 for a mask; 1 for a status,
// then the parameters as the struct of abi.cuh, the bytes of inputs, initial values and factors.
// An answer is a u64, 1 more than the rows of a block or 0 for an unknown kernel; for a launch 0
// with results, mask and status, or the length of the words of a fault. To a request without a name
// it is the length of a text: the rare paths that were taken, one a line.
// tests/sanitize/run builds this together with the kernels and the shim.
#include "simt/abi.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

using gpuint::u32;
using gpuint::u64;

void read(void* to, size_t bytes) {
  if (bytes != 0 && std::fread(to, 1, bytes, stdin) != bytes) std::exit(1);
}

template <class T>
T read() {
  T value;
  read(&value, sizeof value);
  return value;
}

void write(const void* from, size_t bytes) {
  if (bytes != 0) std::fwrite(from, 1, bytes, stdout);
}

void write(u64 value) { write(&value, sizeof value); }

void write(const std::string& words) {
  write(words.size());
  write(words.data(), words.size());
}

// Device memory in a block of exactly its size; a null pointer if it has none.
class Memory {
 public:
  explicit Memory(u64 bytes, int fill = 0xa5)
      : bytes_(bytes),
        start_(bytes == 0 ? nullptr : static_cast<unsigned char*>(::operator new(bytes))) {
    if (bytes != 0) std::memset(start_.get(), fill, bytes);
  }
  void fill_from_input(u64 bytes) { read(start_.get(), bytes); }
  void write_out() const { write(start_.get(), bytes_); }
  void* get() const { return start_.get(); }

 private:
  struct Free {
    void operator()(unsigned char* start) const { ::operator delete(start); }
  };
  u64 bytes_;
  std::unique_ptr<unsigned char, Free> start_;
};

// Answers one request of a launch.
void launch(const std::string& kernel, u64 rows) {
  const auto seed = read<u64>(), blocks = read<u64>();
  u64 in_bytes[3], out_bytes[2], updated_bytes[2];
  read(in_bytes, sizeof in_bytes);
  read(out_bytes, sizeof out_bytes);
  read(updated_bytes, sizeof updated_bytes);
  const auto pairs = read<u64>(), factor_bytes = read<u64>();
  const auto has_mask = read<u64>(), has_status = read<u64>();
  gpuint::Operands operands{};
  operands.params = read<gpuint::Params>();
  operands.rows = rows;

  std::vector<Memory> inputs, outputs, factors;
  for (u32 i = 0; i < 3; ++i) {
    inputs.emplace_back(in_bytes[i]).fill_from_input(in_bytes[i]);
    operands.in[i] = inputs[i].get();
  }
  for (u32 i = 0; i < 2; ++i) {
    outputs.emplace_back(out_bytes[i]).fill_from_input(updated_bytes[i]);
    operands.out[i] = outputs[i].get();
  }
  std::vector<const void*> table;
  for (u64 i = 0; i < 2 * pairs; ++i) {
    factors.emplace_back(factor_bytes).fill_from_input(factor_bytes);
    table.push_back(factors[i].get());
  }
  if (pairs != 0) operands.in[0] = table.data();
  const Memory mask(has_mask != 0 ? (rows + 31) / 32 * 4 : 0, 0);
  operands.mask = static_cast<u32*>(mask.get());
  u64 status = ~u64{0};
  operands.status = has_status != 0 ? &status : nullptr;

  const gpuint_simt_options options{seed, static_cast<u32>(blocks), 1};
  char message[2000] = "";
  const int result =
      gpuint_simt_launch(kernel.c_str(), &operands, &options, nullptr, message, sizeof message);
  if (result != GPUINT_SIMT_OK) {
    write(std::string(message[0] == 0 ? "was not built" : message));
    return;
  }
  write(u64{0});
  for (const Memory& output : outputs) output.write_out();
  mask.write_out();
  write(status);
}

// The rare paths that kernels have taken, one a line.
std::string rare_paths() {
  std::string taken;
  uint64_t count = 0;
  for (u32 path = 0; const char* name = gpuint_simt_rare(path, &count); ++path)
    if (count != 0) taken += std::string(name) + "\n";
  return taken;
}

}  // namespace

int main() {
  for (u32 length; std::fread(&length, sizeof length, 1, stdin) == 1; std::fflush(stdout)) {
    if (length == 0) {
      write(rare_paths());
      continue;
    }
    std::string kernel(length, 0);
    read(kernel.data(), length);
    const auto rows = read<u64>();
    if (rows != 0) {
      launch(kernel, rows);
    } else {
      gpuint_launch_bounds bounds{};
      const bool is_known = gpuint_simt_launch_bounds(kernel.c_str(), &bounds) == GPUINT_SIMT_OK;
      write(is_known ? u64{bounds.rows_per_block} + 1 : 0);
    }
  }
}
