/* Children made by fork compute on the CPU, while threads of the parent use the library. */
#define _POSIX_C_SOURCE 200809L
#include <gpuint.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition)                                                               \
  do {                                                                                 \
    if (!(condition)) {                                                                \
      fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, gpuint_last_error()); \
      _exit(1);                                                                        \
    }                                                                                  \
  } while (0)
#define OK(call) CHECK((call) == GPUINT_STATUS_OK)

enum { BITS = 1024, LIMBS = 16, ROWS = 2000, FORKS = 30 };

static gpuint_device* device;
static atomic_bool is_over;

static gpuint_batch* ones(void) {
  uint64_t* limbs = calloc((size_t)ROWS * LIMBS, sizeof *limbs);
  CHECK(limbs != NULL);
  for (size_t row = 0; row < ROWS; ++row) limbs[row * LIMBS] = 1;
  gpuint_batch* batch = NULL;
  OK(gpuint_batch_from_limbs(device, BITS, limbs, ROWS, LIMBS, &batch));
  free(limbs);
  return batch;
}

/* Adds 1 to rows of 1, and checks the sums. */
static void compute(const gpuint_batch* batch) {
  gpuint_batch *sum = NULL, *square = NULL;
  OK(gpuint_wrapping_add(batch, batch, &sum));
  OK(gpuint_wrapping_square(sum, &square));
  uint64_t* limbs = calloc((size_t)ROWS * LIMBS, sizeof *limbs);
  CHECK(limbs != NULL);
  OK(gpuint_batch_read_limbs(square, 0, ROWS, limbs, LIMBS));
  for (size_t row = 0; row < ROWS; ++row) CHECK(limbs[row * LIMBS] == 4);
  free(limbs);
  OK(gpuint_batch_free(sum));
  OK(gpuint_batch_free(square));
}

static void* work(void* batch) {
  while (!is_over) compute(batch);
  return NULL;
}

int main(void) {
  OK(gpuint_device_cpu(&device));
  gpuint_batch* batch = ones();
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, work, batch) == 0);
  for (int i = 0; i < FORKS; ++i) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      alarm(60);
      compute(batch);
      gpuint_batch* own = ones();
      compute(own);
      OK(gpuint_batch_free(own));
      OK(gpuint_batch_free(batch));
      OK(gpuint_device_free(device));
      _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  is_over = true;
  for (int i = 0; i < 3; ++i) CHECK(pthread_join(threads[i], NULL) == 0);
  compute(batch);
  OK(gpuint_batch_free(batch));
  OK(gpuint_device_free(device));
  return 0;
}
