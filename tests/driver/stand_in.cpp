// A stand-in for libcuda and libnvrtc, for tests of the host side: it counts, delays and fails on
// demand, and computes nothing. Work of a stream is done when it is queued.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

using Code = int;
enum {
  OK = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  NOT_FOUND = 500
};

namespace {
struct Facts {
  uint32_t threads, shared_bytes, rows_per_block, scratch_bytes, persistent, cluster, row_bytes;
};
Facts facts{128, 0, 1, 0, 0, 1, 0};
struct Stream {
  std::mutex busy;
};

std::mutex lock;
std::map<void*, size_t> allocated;
std::set<char*> pinned;
size_t used = 0, reserved = 0;
std::atomic<size_t> limit{size_t{1} << 40};
std::atomic<int> sticky{0}, fault_at_launch{0}, failing_frees{0}, compilations{0}, waits{0},
    delay_ms{0};
thread_local std::vector<void*> contexts;
char primary;

// Every call needs a context and fails after a fault of a kernel.
Code ready() {
  if (contexts.empty() || contexts.back() != &primary) return INVALID_CONTEXT;
  return sticky;
}
void wait_for_work() {
  ++waits;
  if (delay_ms) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
}
bool is_pinned(const void* host) {
  std::lock_guard<std::mutex> guard(lock);
  for (char* start : pinned)
    if (host >= start && host < start + (1 << 16)) return true;
  return false;
}
// A copy from or to ordinary memory waits, and keeps other calls on the stream out meanwhile.
Code copy(void* target, const void* source, size_t bytes, void* stream, const void* host) {
  if (Code code = ready()) return code;
  if (is_pinned(host)) {
    memcpy(target, source, bytes);
  } else {
    std::lock_guard<std::mutex> guard(static_cast<Stream*>(stream)->busy);
    if (delay_ms) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
    memcpy(target, source, bytes);
  }
  return OK;
}
Code allocate(uint64_t* address, size_t bytes) {
  if (Code code = ready()) return code;
  std::lock_guard<std::mutex> guard(lock);
  if (used + bytes > limit) return OUT_OF_MEMORY;
  void* memory = calloc(bytes, 1);
  if (!memory) return OUT_OF_MEMORY;
  allocated[memory] = bytes;
  used += bytes;
  if (used > reserved) reserved = used;
  *address = reinterpret_cast<uint64_t>(memory);
  return OK;
}
Code release(uint64_t address) {
  if (Code code = ready()) return code;
  if (failing_frees > 0 && failing_frees-- > 0) return INVALID_VALUE;
  std::lock_guard<std::mutex> guard(lock);
  auto found = allocated.find(reinterpret_cast<void*>(address));
  if (found == allocated.end()) return INVALID_VALUE;
  used -= found->second;
  free(found->first);
  allocated.erase(found);
  return OK;
}
}  // namespace

extern "C" {
// State that tests read and set.
size_t stand_in_used() { return used; }
size_t stand_in_reserved() { return reserved; }
void stand_in_limit(size_t bytes) { limit = bytes; }
void stand_in_fault_at_launch(int code) { fault_at_launch = code; }
void stand_in_fail_frees(int count) { failing_frees = count; }
void stand_in_delay(int ms) { delay_ms = ms; }
int stand_in_compilations() { return compilations; }
int stand_in_waits() { return waits; }

Code cuGetErrorName(Code code, const char** name) {
  *name = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : nullptr;
  return OK;
}
Code cuGetErrorString(Code code, const char** words) {
  *words = code == 700 ? "an illegal memory access was encountered" : nullptr;
  return OK;
}
Code cuInit(unsigned) { return OK; }
Code cuDriverGetVersion(int* version) {
  *version = 13000;
  return OK;
}
Code cuDeviceGetCount(int* count) {
  *count = 2;
  return OK;
}
Code cuDeviceGet(int* device, int ordinal) {
  *device = ordinal;
  return OK;
}
Code cuDeviceGetName(char* name, int length, int) {
  strncpy(name, "Stand-in", length);
  return OK;
}
Code cuDeviceTotalMem_v2(size_t* bytes, int) {
  *bytes = size_t{1} << 36;
  return OK;
}
Code cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75    ? 9
           : attribute == 97  ? 232448
           : attribute == 16  ? 132
           : attribute == 115 ? 1
                              : 0;
  return OK;
}
Code cuDeviceGetMemPool(void** pool, int) {
  *pool = &primary;
  return OK;
}
Code cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &primary;
  return OK;
}
Code cuCtxPushCurrent_v2(void* context) {
  contexts.push_back(context);
  return OK;
}
Code cuCtxPopCurrent_v2(void** context) {
  if (contexts.empty()) return INVALID_CONTEXT;
  *context = contexts.back();
  contexts.pop_back();
  return OK;
}
Code cuCtxGetCurrent(void** context) {
  *context = contexts.empty() ? nullptr : contexts.back();
  return OK;
}
Code cuCtxSetCurrent(void* context) {
  if (!contexts.empty()) contexts.pop_back();
  if (context) contexts.push_back(context);
  return OK;
}
Code cuStreamCreate(void** stream, unsigned) {
  *stream = new Stream;
  return ready();
}
Code cuStreamSynchronize(void*) {
  if (Code code = ready()) return code;
  wait_for_work();
  return sticky;
}
Code cuStreamDestroy_v2(void* stream) {
  delete static_cast<Stream*>(stream);
  return ready();
}
Code cuEventCreate(void** event, unsigned) {
  *event = new char;
  return ready();
}
Code cuEventRecord(void*, void*) { return ready(); }
Code cuEventSynchronize(void*) {
  if (Code code = ready()) return code;
  wait_for_work();
  return sticky;
}
Code cuEventElapsedTime(float* ms, void*, void*) {
  *ms = 1;
  return ready();
}
Code cuEventDestroy_v2(void* event) {
  delete static_cast<char*>(event);
  return ready();
}
Code cuMemAlloc_v2(uint64_t* address, size_t bytes) { return allocate(address, bytes); }
Code cuMemAllocAsync(uint64_t* address, size_t bytes, void*) { return allocate(address, bytes); }
Code cuMemFree_v2(uint64_t address) { return release(address); }
Code cuMemFreeAsync(uint64_t address, void*) { return release(address); }
Code cuMemHostAlloc(void** start, size_t bytes, unsigned) {
  *start = malloc(bytes);
  std::lock_guard<std::mutex> guard(lock);
  pinned.insert(static_cast<char*>(*start));
  return ready();
}
Code cuMemFreeHost(void* start) {
  std::lock_guard<std::mutex> guard(lock);
  pinned.erase(static_cast<char*>(start));
  free(start);
  return ready();
}
Code cuMemsetD8Async(uint64_t address, unsigned char byte, size_t bytes, void*) {
  if (Code code = ready()) return code;
  memset(reinterpret_cast<void*>(address), byte, bytes);
  return OK;
}
Code cuMemcpyHtoDAsync_v2(uint64_t target, const void* source, size_t bytes, void* stream) {
  return copy(reinterpret_cast<void*>(target), source, bytes, stream, source);
}
Code cuMemcpyDtoHAsync_v2(void* target, uint64_t source, size_t bytes, void* stream) {
  return copy(target, reinterpret_cast<void*>(source), bytes, stream, target);
}
Code cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t bytes, void*) {
  if (Code code = ready()) return code;
  memcpy(reinterpret_cast<void*>(target), reinterpret_cast<void*>(source), bytes);
  return OK;
}
Code cuMemcpyDtoH_v2(void* target, uint64_t source, size_t bytes) {
  if (Code code = ready()) return code;
  memcpy(target, reinterpret_cast<void*>(source), bytes);
  return OK;
}
Code cuMemPoolGetAttribute(void*, int, void* value) {
  memset(value, 0, 8);
  return OK;
}
Code cuMemPoolSetAttribute(void*, int, void*) { return OK; }
Code cuMemPoolTrimTo(void*, size_t) {
  reserved = used;
  return ready();
}
// An image holds the word of what the driver does with it.
Code cuModuleLoadData(void** module, const void* image) {
  if (Code code = ready()) return code;
  *module = new char;
  return memmem(image, 512, "REFUSED", 7) ? INVALID_IMAGE : OK;
}
Code cuModuleUnload(void* module) {
  delete static_cast<char*>(module);
  return ready();
}
Code cuModuleGetFunction(void** function, void* module, const char*) {
  *function = module;
  return ready();
}
Code cuModuleGetGlobal_v2(uint64_t* address, size_t* bytes, void*, const char*) {
  *address = reinterpret_cast<uint64_t>(&facts);
  *bytes = sizeof facts;
  return ready();
}
Code cuFuncSetAttribute(void*, int, int) { return ready(); }
Code cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, size_t) {
  *blocks = 2;
  return ready();
}
Code cuLaunchKernelEx(const void*, void*, void**, void**) {
  if (Code code = ready()) return code;
  if (int code = fault_at_launch.exchange(0)) sticky = code;  // seen by the calls after this one
  return OK;
}

const char* nvrtcGetErrorString(Code) { return "error"; }
Code nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return OK;
}
Code nvrtcGetNumSupportedArchs(int* count) {
  *count = 2;
  return OK;
}
Code nvrtcGetSupportedArchs(int* numbers) {
  numbers[0] = 80;
  numbers[1] = 90;
  return OK;
}
Code nvrtcCreateProgram(void** program, const char*, const char*, int, const char* const*,
                        const char* const*) {
  *program = new char;
  return OK;
}
Code nvrtcCompileProgram(void*, int, const char* const*) {
  ++compilations;
  return OK;
}
Code nvrtcDestroyProgram(void** program) {
  delete static_cast<char*>(*program);
  *program = nullptr;
  return OK;
}
Code nvrtcGetProgramLogSize(void*, size_t* bytes) {
  *bytes = 1;
  return OK;
}
Code nvrtcGetProgramLog(void*, char* log) {
  *log = 0;
  return OK;
}
// The least that has the structure of a cubin: a header and a section of 448 bytes.
Code nvrtcGetCUBINSize(void*, size_t* bytes) {
  *bytes = 640;
  return OK;
}
Code nvrtcGetCUBIN(void*, char* image) {
  memset(image, 0, 640);
  memcpy(image,
         "\x7f"
         "ELF\2\1\1",
         7);
  image[18] = char(190);
  image[41] = 2;  // the table of sections, at 512
  image[58] = 64;
  image[60] = 2;
  image[62] = 1;
  image[512 + 64 + 24] = 64;
  image[512 + 64 + 33] = 1;  // 256 bytes
  return OK;
}
Code nvrtcGetPTXSize(void*, size_t* bytes) {
  *bytes = 32;
  return OK;
}
Code nvrtcGetPTX(void*, char* text) {
  memset(text, 0, 32);
  strcpy(text, "// build 1\n.version 9.0\n");
  return OK;
}
}
