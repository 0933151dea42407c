/* Protocol between `gpuint bench --peers` and the drivers of its peers.
 *
 * A driver is a program with the arguments
 *
 *     OPERATION BITS ROWS SECONDS INPUT OUTPUT OPERANDS RESULTS
 *
 * INPUT holds OPERANDS operands, OUTPUT RESULTS results: for each of them ROWS integers of BITS
 * bits, 64-bit limbs in host order, lowest first. The driver prints one object of JSON:
 *
 *     name            the peer with its version
 *     rows            rows that it computed, the first ones: OUTPUT holds no others
 *     host_seconds    a run over these rows, operands and results in memory of the host
 *     device_seconds  the same in memory of a GPU, if the peer uses one
 *     begin, end      start and end of the runs on the GPU, in seconds since 1970
 *
 * A driver without the operation prints the name alone. Times are those of the fastest run within
 * SECONDS. */
#ifndef GPUINT_PEERS_JOB_H
#define GPUINT_PEERS_JOB_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_OPERANDS = 3, MAX_RESULTS = 2 };

struct operation {
  const char* name;
  int operands, results;
};

struct job {
  struct operation operation;
  size_t bits, limbs, rows;
  double seconds;
  const char* output;
  uint64_t* operands[MAX_OPERANDS];
  uint64_t* results[MAX_RESULTS];
};

static void fail(const char* reason) {
  fprintf(stderr, "%s\n", reason);
  exit(1);
}

static void* allocate(size_t bytes) {
  void* memory = calloc(bytes ? bytes : 1, 1);
  if (!memory) fail("out of memory");
  return memory;
}

/* Seconds between two events, as a difference. */
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static struct job read_job(int count, char** arguments) {
  if (count != 9) fail("arguments: OPERATION BITS ROWS SECONDS INPUT OUTPUT OPERANDS RESULTS");
  struct job job;
  memset(&job, 0, sizeof job);
  job.operation.name = arguments[1];
  job.operation.operands = atoi(arguments[7]);
  job.operation.results = atoi(arguments[8]);
  if (job.operation.operands > MAX_OPERANDS || job.operation.results > MAX_RESULTS) {
    fail("too many operands or results");
  }
  job.bits = strtoull(arguments[2], NULL, 10);
  job.limbs = job.bits / 64;
  job.rows = strtoull(arguments[3], NULL, 10);
  job.seconds = strtod(arguments[4], NULL);
  job.output = arguments[6];
  size_t limbs = job.rows * job.limbs;
  FILE* input = fopen(arguments[5], "rb");
  if (!input) fail("cannot open the operands");
  for (int i = 0; i < job.operation.operands; ++i) {
    job.operands[i] = (uint64_t*)allocate(8 * limbs);
    if (fread(job.operands[i], 8, limbs, input) != limbs) fail("operands are missing");
  }
  fclose(input);
  for (int i = 0; i < job.operation.results; ++i) {
    job.results[i] = (uint64_t*)allocate(8 * limbs);
  }
  return job;
}

/* Writes the first `rows` rows of each result. */
static void write_results(const struct job* job, size_t rows) {
  FILE* output = fopen(job->output, "wb");
  if (!output) fail("cannot create the results");
  size_t limbs = rows * job->limbs;
  for (int i = 0; i < job->operation.results; ++i) {
    if (fwrite(job->results[i], 8, limbs, output) != limbs) fail("cannot write the results");
  }
  if (fclose(output)) fail("cannot write the results");
}

#endif
