// Runs kernels over the SIMT shim on operands from standard input, for builds with
// ThreadSanitizer, AddressSanitizer and UBSan: every operand is a heap block of exactly its size,
// so that whatever a kernel reads or writes beyond is reported.
//
// The other end of the pipe (testkit/src/shim.rs) has the operands and the results.
// Numbers are little-endian, u64s but for lengths of names. A request begins with a u32, a Request.
// That for bounds continues with the u32 length and the name of a kernel. A launch continues with
// such a name and
//     rows; schedule; blocks at most;
//     bytes of each of three inputs, of two results, and of the initial values of two results;
//     pairs of factors; bytes of a factor; 1 for a mask; 1 for a status,
// then the parameters as the struct of abi.cuh, the bytes of inputs, initial values and factors.
// Launches of kernels with arguments of their own continue with
//     schedule; blocks of memory; launches;
//     of each block: bytes; initial bytes, all or none; 1 if it is a result; these initial bytes;
//     of each launch: the name of its kernel; blocks of its grid; bytes of arguments; arguments.
// Addresses in arguments are relative: `relocated`.
// The answer for bounds is 1 more than the rows of a block or 0 for an unknown kernel; for launches
// 0 with the results, of the first kind with mask and status, or the length of the words of a
// fault; for rare paths the length of a text: the paths that were taken, one a line.
// tests/sanitize/run builds this together with the kernels and the shim.
#include "simt/abi.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace {

enum class Request : uint32_t { RarePaths, Bounds, Launch, Grids };

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

std::string read_name() {
  std::string name(read<u32>(), 0);
  read(name.data(), name.size());
  return name;
}

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

// Runs a launch, and writes the words of its fault, if there is one.
template <class Launch>
bool is_whole(Launch launch) {
  char message[2000] = "";
  const int result = launch(message, sizeof message);
  if (result != GPUINT_SIMT_OK) write(std::string(message[0] == 0 ? "was not built" : message));
  return result == GPUINT_SIMT_OK;
}

// Answers a request of a launch.
void launch() {
  const std::string kernel = read_name();
  const auto rows = read<u64>(), seed = read<u64>(), blocks = read<u64>();
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
  if (!is_whole([&](char* message, size_t length) {
        return gpuint_simt_launch(kernel.c_str(), &operands, &options, nullptr, message, length);
      }))
    return;
  write(u64{0});
  for (const Memory& output : outputs) output.write_out();
  mask.write_out();
  write(status);
}

// A word of arguments: an address has a tag, the index of a block of memory, and an offset
// (testkit/src/launch.rs).
u64 relocated(u64 word, const std::vector<Memory>& memory) {
  constexpr u64 TAG = 0xa5c3;
  if (word >> 48 != TAG) return word;
  const auto start = reinterpret_cast<u64>(memory.at(word >> 40 & 0xff).get());
  return start + (word & ((u64{1} << 40) - 1));
}

// Answers a request of launches of kernels with arguments of their own.
void launch_grids() {
  const auto seed = read<u64>(), blocks = read<u64>(), launches = read<u64>();
  std::vector<Memory> memory;
  std::vector<bool> is_result;
  for (u64 i = 0; i < blocks; ++i) {
    const auto bytes = read<u64>(), initial = read<u64>();
    is_result.push_back(read<u64>() != 0);
    memory.emplace_back(bytes).fill_from_input(initial);
  }
  const gpuint_simt_options options{seed, 0, 1};
  bool is_whole_so_far = true;
  for (u64 i = 0; i < launches; ++i) {
    const std::string kernel = read_name();
    const auto grid = static_cast<u32>(read<u64>());
    std::vector<u64> arguments(read<u64>() / sizeof(u64));
    read(arguments.data(), arguments.size() * sizeof(u64));
    for (u64& word : arguments) word = relocated(word, memory);
    // The rest of the request is read after a fault, too.
    is_whole_so_far = is_whole_so_far && is_whole([&](char* message, size_t length) {
                        return gpuint_simt_launch_grid(kernel.c_str(), arguments.data(), grid,
                                                       &options, nullptr, message, length);
                      });
  }
  if (!is_whole_so_far) return;
  write(u64{0});
  for (u64 i = 0; i < blocks; ++i)
    if (is_result[i]) memory[i].write_out();
}

// Answers a request of the bounds of a kernel.
void write_bounds() {
  const std::string kernel = read_name();
  gpuint_launch_bounds bounds{};
  const bool is_known = gpuint_simt_launch_bounds(kernel.c_str(), &bounds) == GPUINT_SIMT_OK;
  write(is_known ? u64{bounds.rows_per_block} + 1 : 0);
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
  for (Request request; std::fread(&request, sizeof request, 1, stdin) == 1; std::fflush(stdout)) {
    switch (request) {
      case Request::RarePaths:
        write(rare_paths());
        break;
      case Request::Bounds:
        write_bounds();
        break;
      case Request::Launch:
        launch();
        break;
      case Request::Grids:
        launch_grids();
        break;
    }
  }
}
