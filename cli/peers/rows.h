/* Main program of a driver whose peer computes rows on the CPU: all cores, by OpenMP.
 *
 * The driver defines the functions declared here. */
#ifndef GPUINT_PEERS_ROWS_H
#define GPUINT_PEERS_ROWS_H

#include <omp.h>

#include "job.h"

/* Computes one row. */
typedef void (*row_function)(const struct job* job, size_t row);

/* Writes name and version, with a remark on the operation. */
static void write_name(const struct job* job, char* name, size_t size);
/* Returns the function of the operation, or NULL. */
static row_function function_of(const struct job* job);
/* Converts all operands to integers of the peer. Not timed. */
static void load(const struct job* job);
/* Converts the results of the first `rows` rows. Not timed. */
static void store(const struct job* job, size_t rows);

static void run(const struct job* job, row_function function, size_t first, size_t end) {
  /* A team of threads costs more than it saves for one row. */
#pragma omp parallel for schedule(guided) if (end - first > 1)
  for (size_t row = first; row < end; ++row) function(job, row);
}

int main(int count, char** arguments) {
  struct job job = read_job(count, arguments);
  char name[200];
  write_name(&job, name, sizeof name);
  row_function function = function_of(&job);
  if (!function) {
    printf("{\"name\": \"%s\"}\n", name);
    return 0;
  }
  load(&job);
  run(&job, function, 0, 1);
  /* Slow operations do not reach the end of a large batch: only whole blocks are timed. */
  size_t block = 64 * (size_t)omp_get_max_threads();
  size_t rows = 0;
  double start = now(), best;
  do {
    size_t end = rows + block < job.rows ? rows + block : job.rows;
    run(&job, function, rows, end);
    rows = end;
    best = now() - start;
  } while (rows < job.rows && best < job.seconds);
  while (now() - start < job.seconds) {
    double again = now();
    run(&job, function, 0, rows);
    again = now() - again;
    if (again < best) best = again;
  }
  store(&job, rows);
  write_results(&job, rows);
  printf("{\"name\": \"%s, %d threads\", \"rows\": %zu, \"host_seconds\": %.9f}\n", name,
         omp_get_max_threads(), rows, best);
  return 0;
}

#endif
