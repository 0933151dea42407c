/* Driver of CGBN: https://github.com/NVlabs/CGBN (headers; needs GMP's, too).
 *
 * Compiled once for each operation, width and number of threads of a row:
 * -DOPERATION=op_NAME -DBITS=BITS -DTHREADS=4, 8, 16 or 32. */
#include <gmp.h>

#include <cgbn/cgbn.h>

#include "job.h"

typedef cgbn_context_t<THREADS> context_type;
typedef cgbn_env_t<context_type, BITS> env_type;
typedef cgbn_mem_t<BITS> memory_type;

enum operation_id {
  op_add,
  op_sub,
  op_and,
  op_mul_lo,
  op_square_lo,
  op_mul_wide,
  op_div_rem,
  op_isqrt_rem,
  op_gcd,
  op_mul_mod,
  op_inverse_mod,
  op_inverse_mod_pow2,
  op_pow_mod,
};

/* Threads of a block. */
static const int BLOCK = 128;

struct pointers {
  memory_type* operands[MAX_OPERANDS];
  memory_type* results[MAX_RESULTS];
};

static void check(cudaError_t status) {
  if (status != cudaSuccess) fail(cudaGetErrorString(status));
}

/* Power modulo an odd number, in Montgomery's form, by fixed windows. */
template <class Env>
__device__ void power(Env env, typename Env::cgbn_t& result, const typename Env::cgbn_t& base,
                      const typename Env::cgbn_t& exponent, const typename Env::cgbn_t& n) {
  /* Bits of the exponent for each product. */
  const int WINDOW = 5;
  typename Env::cgbn_t powers[1 << WINDOW], one;
  cgbn_set_ui32(env, one, 1);
  uint32_t inverse = cgbn_bn2mont(env, powers[0], one, n);
  cgbn_bn2mont(env, powers[1], base, n);
  for (int i = 2; i < 1 << WINDOW; ++i) {
    cgbn_mont_mul(env, powers[i], powers[i - 1], powers[1], n, inverse);
  }
  int position = (BITS - 1) / WINDOW * WINDOW;
  uint32_t index = cgbn_extract_bits_ui32(env, exponent, position, BITS - position);
  cgbn_set(env, result, powers[index]);
  while (position > 0) {
    position -= WINDOW;
    for (int i = 0; i < WINDOW; ++i) cgbn_mont_sqr(env, result, result, n, inverse);
    index = cgbn_extract_bits_ui32(env, exponent, position, WINDOW);
    cgbn_mont_mul(env, result, result, powers[index], n, inverse);
  }
  cgbn_mont2bn(env, result, result, n, inverse);
}

/* Computes the results `x` and `y` of a row. The compiler instantiates one branch. */
template <class Env>
__device__ void compute(Env env, typename Env::cgbn_t& x, typename Env::cgbn_t& y,
                        const typename Env::cgbn_t& a, const typename Env::cgbn_t& b,
                        const typename Env::cgbn_t& c) {
  typename Env::cgbn_wide_t wide;
  if constexpr (OPERATION == op_add) {
    cgbn_add(env, x, a, b);
  } else if constexpr (OPERATION == op_sub) {
    cgbn_sub(env, x, a, b);
  } else if constexpr (OPERATION == op_and) {
    cgbn_bitwise_and(env, x, a, b);
  } else if constexpr (OPERATION == op_mul_lo) {
    cgbn_mul(env, x, a, b);
  } else if constexpr (OPERATION == op_square_lo) {
    cgbn_sqr(env, x, a);
  } else if constexpr (OPERATION == op_mul_wide) {
    cgbn_mul_wide(env, wide, a, b);
    cgbn_set(env, x, wide._low);
    cgbn_set(env, y, wide._high);
  } else if constexpr (OPERATION == op_div_rem) {
    cgbn_div_rem(env, x, y, a, b);
  } else if constexpr (OPERATION == op_isqrt_rem) {
    cgbn_sqrt_rem(env, x, y, a);
  } else if constexpr (OPERATION == op_gcd) {
    cgbn_gcd(env, x, a, b);
  } else if constexpr (OPERATION == op_mul_mod) {
    cgbn_mul_wide(env, wide, a, b);
    cgbn_rem_wide(env, x, wide, c);
  } else if constexpr (OPERATION == op_inverse_mod) {
    if (!cgbn_modular_inverse(env, x, a, b)) cgbn_set_ui32(env, x, 0);
  } else if constexpr (OPERATION == op_inverse_mod_pow2) {
    cgbn_binary_inverse(env, x, a);
  } else {
    power(env, x, a, b, c);
  }
}

__global__ void run(pointers of, size_t rows, int operands, int results) {
  size_t row = (blockIdx.x * (size_t)blockDim.x + threadIdx.x) / THREADS;
  if (row >= rows) return;
  context_type context(cgbn_no_checks);
  env_type env(context);
  env_type::cgbn_t values[MAX_OPERANDS], x, y;
#pragma unroll
  for (int i = 0; i < MAX_OPERANDS; ++i) {
    if (i < operands) cgbn_load(env, values[i], of.operands[i] + row);
  }
  compute(env, x, y, values[0], values[1], values[2]);
  cgbn_store(env, of.results[0] + row, x);
  if (results > 1) cgbn_store(env, of.results[1] + row, y);
}

static void launch(const struct job* job, const pointers* of) {
  unsigned blocks = (unsigned)((job->rows * THREADS + BLOCK - 1) / BLOCK);
  run<<<blocks, BLOCK>>>(*of, job->rows, job->operation.operands, job->operation.results);
  check(cudaGetLastError());
}

/* Seconds of a run in memory of the GPU. */
static double seconds_on_device(const struct job* job, const pointers* of) {
  cudaEvent_t start, end;
  check(cudaEventCreate(&start));
  check(cudaEventCreate(&end));
  check(cudaEventRecord(start));
  launch(job, of);
  check(cudaEventRecord(end));
  check(cudaEventSynchronize(end));
  float milliseconds;
  check(cudaEventElapsedTime(&milliseconds, start, end));
  check(cudaEventDestroy(start));
  check(cudaEventDestroy(end));
  return 1e-3 * milliseconds;
}

/* Seconds of a run with the copies of operands and results. */
static double seconds_on_host(const struct job* job, const pointers* of) {
  size_t bytes = job->rows * sizeof(memory_type);
  double start = now();
  for (int i = 0; i < job->operation.operands; ++i) {
    check(cudaMemcpyAsync(of->operands[i], job->operands[i], bytes, cudaMemcpyHostToDevice));
  }
  launch(job, of);
  for (int i = 0; i < job->operation.results; ++i) {
    check(cudaMemcpyAsync(job->results[i], of->results[i], bytes, cudaMemcpyDeviceToHost));
  }
  check(cudaDeviceSynchronize());
  return now() - start;
}

static double fastest(double seconds, double (*time)(const struct job*, const pointers*),
                      const struct job* job, const pointers* of) {
  double start = now(), best = time(job, of);
  while (now() - start < seconds) {
    double again = time(job, of);
    if (again < best) best = again;
  }
  return best;
}

/* Seconds since 1970, which other processes compare with. */
static double date() {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

int main(int count, char** arguments) {
  struct job job = read_job(count, arguments);
  if (job.bits != BITS) fail("compiled for another width");
  size_t bytes = job.rows * sizeof(memory_type);
  pointers of;
  for (int i = 0; i < job.operation.operands; ++i) {
    check(cudaMalloc(&of.operands[i], bytes));
    check(cudaHostRegister(job.operands[i], bytes, cudaHostRegisterDefault));
  }
  for (int i = 0; i < job.operation.results; ++i) {
    check(cudaMalloc(&of.results[i], bytes));
    check(cudaHostRegister(job.results[i], bytes, cudaHostRegisterDefault));
  }
  /* The first run copies the operands, and the results for the comparison. */
  seconds_on_host(&job, &of);
  write_results(&job, job.rows);
  double begin = date();
  double device = fastest(job.seconds / 2, seconds_on_device, &job, &of);
  double end = date();
  double host = fastest(job.seconds / 2, seconds_on_host, &job, &of);
  printf(
      "{\"name\": \"CGBN, %d threads a row\", \"rows\": %zu, \"host_seconds\": %.9f, "
      "\"device_seconds\": %.9f, \"begin\": %.6f, \"end\": %.6f}\n",
      THREADS, job.rows, host, device, begin, end);
  return 0;
}
