// Block division with a few lanes per instance: everything is in registers, and lanes exchange data
// only by shuffles.
//
// The blocks are those of div/lanes/short_block.cuh. A team of T consecutive lanes of a warp
// divides a row. A lane owns K limbs of the divisor and the remainder's K limbs at the same places.
// T is the number of lanes for the divisor, so a warp holds floor(32 / T) teams for rows of any
// length. Rows are sorted by length (sorted.cuh), so that T is the same for all rows of a warp.
//
// All numbers are scaled by B^(4k), 4k limbs, such that the divisor's top limb is in the team's top
// word, and below the top of it: V = v B^(4k) < B^P with P = T K - e, 1 <= e <= 4. The quotient is
// the same, and the remainder is scaled too. The input of an estimate is then in the last registers
// of the team's last lane, which sends Rh to the others; all lanes of a team compute Q, which they
// need whole. Every remainder is below 2V <= 2 B^P <= B^(T K), so columns mod B^(T K) suffice.
//
// A lane holds the complement of its limbs of the remainder, B^K - 1 - R, and adds Q V to it as the
// products are computed. A block shifts the remainder up by 8 limbs: 8 of each lane come from the
// lane below, the first lane's from the dividend. Each lane adds its K columns of Q V and passes
// the rest, two limbs below 9 B together, to the lane above. That carries beyond two limbs once in
// 2^27 lanes of random numbers. A warp votes on it, and resolves it as in carry.cuh (a lane that
// overflowed is below 9 B and does not propagate).
#pragma once
#include "core/abi.cuh"
#include "core/digits.cuh"
#include "core/group.cuh"
#include "core/limbs.cuh"
#include "core/math.cuh"
#include "core/occupancy.cuh"
#include "core/ptx.cuh"
#include "core/rows.cuh"
#include "div/lanes/columns.cuh"
#include "div/lanes/estimate.cuh"
#include "div/lanes/layout.cuh"
#include "div/lanes/short_block.cuh"
#include "div/rows.cuh"
#include "div/sorted.cuh"
#include "tuning/division.cuh"

namespace gpuint {

// The rows that lanes divide: all rows of the operands. The lengths of their divisors are searched.
template <class S, class Divisors>
struct EveryRow {
  static constexpr u32 MOST_WORDS = S::WORDS;  // of a divisor
  static constexpr bool HAS_LENGTHS = false;
  GPUINT_DEVICE static u64 count(const Operands& o) { return o.rows; }
  GPUINT_DEVICE static u64 row(const Operands&, u64 index) { return index; }
  GPUINT_DEVICE static const u32* divisor(const Operands& o, u64 row) {
    return Divisors::at(o, row);
  }
};

// Source is EveryRow, or a list of rows whose lengths are known: lengths(o, row) has the bits of
// the divisor and of the dividend.
template <class S, class Source = EveryRow<S, SecondOperand<S>>,
          class Policy = LaneDivisionPolicy<S>>
struct LaneDivision {
  static constexpr u32 N = S::N;
  static constexpr u32 K = Policy::LIMBS_PER_LANE;
  static constexpr u32 TILE = Policy::TILE;
  static constexpr u32 OWN_WORDS = K / WORD;
  static constexpr u32 BLOCK_WORDS = SHORT_BLOCK / WORD;
  using Lane = LaneRecord<K>;
  static_assert(S::LIMB_BITS == 32 && N % SHORT_BLOCK == 0, "rows of whole blocks");
  static_assert(K % WORD == 0 && TILE % WORD == 0 && K >= 16,
                "the window of an estimate is one lane's");
  static constexpr u32 MOST_WORDS = Source::MOST_WORDS;
  static_assert(32 * K >= (MOST_WORDS + 1) * WORD, "a warp holds the longest divisor");

  static constexpr u32 THREADS = Policy::THREADS;
  static constexpr u32 BATCH = Policy::SORTED_ROWS;
  static constexpr u32 PERSISTENT = Policy::EQUAL_SHARES ? 1 : 0;
  static constexpr u32 ROWS = Policy::EQUAL_SHARES ? Policy::LEAST_SHARE : BATCH;
  // Sort key of a row: words of its divisor. If rows are few blocks, twice that, minus 1 if the top
  // bit of the top word is set, which may save a block.
  static constexpr u32 KEYS_OF_WORD = N <= 256 ? 2 : 1;
  static constexpr u32 KEYS = KEYS_OF_WORD * MOST_WORDS + 1;
  using Sorted = SortedBatch<THREADS, BATCH, KEYS>;
  // Lanes that search the top of a divisor together, and rows that they search at a time.
  using Scanner = Group<min_of(32, power_of_two_at_least(S::WORDS))>;
  static constexpr u32 SCANNED_WORDS = ceil_div(S::WORDS, Scanner::THREADS);
  static constexpr u32 SCANNED_ROWS = max_of(1, 16 / SCANNED_WORDS);

  // The rows of a block, in shared memory too.
  struct Share {
    u64 first, end;  // rows left, the first of the batch at hand first
    u32 batch;       // rows of a batch
    GPUINT_DEVICE u32 rows() const {
      return end - first < batch ? static_cast<u32>(end - first) : batch;
    }
  };
  static constexpr u32 SHARE_BYTES = 32;

  static constexpr u32 SHARED = THREADS * Lane::LIMBS * 4 + SHARE_BYTES + Sorted::BYTES;
  static constexpr u32 SCRATCH = 0;
  static constexpr u32 MIN_BLOCKS = blocks_with_registers(Policy::REGISTERS, THREADS);

  static __device__ void run(const Operands& o, unsigned char* shared) {
    u32* const record = reinterpret_cast<u32*>(shared) + threadIdx.x * Lane::LIMBS;
    Share* const share = reinterpret_cast<Share*>(shared + THREADS * Lane::LIMBS * 4);
    Sorted sorted(shared + THREADS * Lane::LIMBS * 4 + SHARE_BYTES);
    if (threadIdx.x == 0) {
      // In batches of equal size too.
      const u64 count = Source::count(o);
      const u64 rows = (count + gridDim.x - 1) / gridDim.x;
      const u64 batches = (rows + BATCH - 1) / BATCH;
      share->first = rows * blockIdx.x;
      share->end = share->first + rows < count ? share->first + rows : count;
      share->batch = batches == 0 ? 0 : static_cast<u32>((rows + batches - 1) / batches);
    }
    __syncthreads();
    while (share->first < share->end) {
      sorted.clear();
      find_lengths(o, *share, sorted);
      sorted.sort(share->rows());
      while (true) {
        // From the end: short divisors have long quotients, and long tasks should not be last.
        const u32 end =
            sorted.take_back(share->rows(), [&](u32 end) { return rows_before(sorted, end); });
        if (end == 0) break;
        const u32 rows = rows_before(sorted, end);
        divide_rows(o, share->first, sorted, end - rows, rows, record);
      }
      __syncthreads();
      if (threadIdx.x == 0) share->first += share->rows();
      __syncthreads();
    }
  }

 private:
  GPUINT_DEVICE static u32 words_of(u32 key) { return ceil_div(key, KEYS_OF_WORD); }

  // Lanes of a team; a divisor of `words` words may need a word of zeros above.
  GPUINT_DEVICE static u32 lanes_for(u32 words) { return ceil_div(words + 1, OWN_WORDS); }

  // The rows of a sorted batch up to `end` that a warp holds.
  GPUINT_DEVICE static u32 rows_before(const Sorted& sorted, u32 end) {
    u32 rows = min_of(end, fitting(sorted, end - 1));
    for (u32 fit; (fit = fitting(sorted, end - rows)) < rows;) rows = fit;
    return rows;
  }
  GPUINT_DEVICE static u32 fitting(const Sorted& sorted, u32 longest) {
    return 32 / lanes_for(words_of(sorted.keys[sorted.order[longest]]));
  }

  // Sets the keys of a batch, with the loads of all words of several rows in flight.
  GPUINT_DEVICE static void find_lengths(const Operands& o, const Share& share, Sorted& sorted) {
    const u64 first = share.first;
    const u32 count = share.rows();
    if constexpr (Source::HAS_LENGTHS) {
      static_assert(KEYS_OF_WORD == 1, "a key is a number of words");
      for (u32 i = threadIdx.x; i < count; i += THREADS)
        sorted.set(i, ceil_div(Source::lengths(o, Source::row(o, first + i)).x, 32 * WORD));
      return;
    }
    const Scanner scanner(nullptr);
    constexpr u32 GROUPS = THREADS / Scanner::THREADS;
    for (u32 i = Scanner::index(); i < count; i += SCANNED_ROWS * GROUPS) {
      u32 seen[SCANNED_ROWS][SCANNED_WORDS];  // of a word: zero or not, and its top bit
      GPUINT_UNROLL(16)
      for (u32 j = 0; j < SCANNED_ROWS; ++j) {
        GPUINT_UNROLL(8)
        for (u32 k = 0; k < SCANNED_WORDS; ++k) {
          u32 word[WORD] = {};
          if (i + j * GROUPS < count)
            read_or_zero(Source::divisor(o, Source::row(o, first + i + j * GROUPS)),
                         static_cast<i32>(k * Scanner::THREADS + scanner.rank), word);
          seen[j][k] = word[0] | word[1] | word[2] | word[3];
          if constexpr (KEYS_OF_WORD > 1)
            seen[j][k] = (seen[j][k] != 0 ? 1 : 0) | (word[3] & 1u << 31);
        }
      }
      GPUINT_UNROLL(16)
      for (u32 j = 0; j < SCANNED_ROWS; ++j) {
        u32 key = 0;
        GPUINT_UNROLL(8)
        for (u32 k = 0; k < SCANNED_WORDS; ++k) {
          const u32 found = scanner.vote(seen[j][k] != 0);
          const u32 full = KEYS_OF_WORD == 1 ? 0 : scanner.vote(seen[j][k] >> 31 != 0);
          if (found == 0) continue;
          const u32 top = 31 - static_cast<u32>(__clz(static_cast<int>(found)));
          key = KEYS_OF_WORD * (k * Scanner::THREADS + top + 1) - (full >> top & 1);
        }
        if (scanner.rank == 0 && i + j * GROUPS < count) sorted.set(i + j * GROUPS, key);
      }
    }
  }

  // Computes x += y if `wanted`; returns the carry out.
  GPUINT_DEVICE static u32 add_limbs(u32 (&x)[K], const u32* y, bool wanted) {
    u32 limbs[K];
    GPUINT_UNROLL(K)
    for (u32 i = 0; i < K; i += WORD) load_word(y + i, limbs + i);
    ptx::add_cc(x[0], wanted ? limbs[0] : 0);
    GPUINT_UNROLL(K)
    for (u32 i = 1; i < K; ++i) ptx::addc_cc(x[i], wanted ? limbs[i] : 0);
    u32 out = 0;
    ptx::addc(out, 0);
    return out;
  }

  // Rows slot .. slot + rows of the sorted batch, the first one the longest.
  GPUINT_DEVICE static void divide_rows(const Operands& o, const u64& first, const Sorted& sorted,
                                        u32 slot, u32 rows, u32* record) {
    const u32 longest = words_of(sorted.keys[sorted.order[slot]]);
    const u32 lanes = lanes_for(longest);
    const u32 member = threadIdx.x % 32 / lanes;
    const u32 own = sorted.order[member < rows ? slot + member : slot];
    const u32 words = words_of(sorted.keys[own]);
    const bool active = member < rows && words != 0;
    bool is_more = false;
    record[Lane::RANK] = threadIdx.x % 32 - member * lanes;
    if (longest != 0) {
      // Lanes without a row repeat the first one, but store nothing.
      record[Lane::ROW] = active ? own : sorted.order[slot];
      record[Lane::WORDS] = active ? words : longest;
      record[Lane::LANES] = lanes;
      is_more = divide(o, first, active, record);
    }
    const Group<32> warp(nullptr);
    const bool lowest = member < rows && record[Lane::RANK] == 0;
    if constexpr (Policy::WARP_CORRECTS) {
      warp.sync();  // the quotients are there
      each_row(o, first, lowest && is_more, own,
               [&](u64 row) { increment<S>(warp, output_row<S>(o, 0, row), 0); });
    }
    each_row(o, first, lowest && words == 0, own,
             [&](u64 row) { write_undefined<S>(warp, o, row); });
  }

  // Calls work(row) in all lanes of the warp, for the row of each lane that wants it.
  template <class Work>
  GPUINT_DEVICE static void each_row(const Operands& o, const u64& first, bool wanted, u32 own,
                                     Work work) {
    GPUINT_UNROLL(1)
    for (u32 lanes = __ballot_sync(~0u, wanted); lanes != 0; lanes &= lanes - 1)
      work(Source::row(o, first + __shfl_sync(~0u, own, __ffs(static_cast<int>(lanes)) - 1)));
  }

  GPUINT_DEVICE static Team team_of(const u32* record) {
    const u32 rank = record[Lane::RANK];
    return {record[Lane::LANES], threadIdx.x % 32 - rank, rank};
  }

  // Bits of the divisor, which has `words` words, and of the dividend.
  GPUINT_DEVICE static uint2 lengths_of(const Operands& o, u64 row, u32 words) {
    if constexpr (Source::HAS_LENGTHS) return Source::lengths(o, row);
    u32 word[WORD], u_bits = 0;
    read_word<S>(Source::divisor(o, row), (words - 1) * WORD, word);
    const u32 bits = bits_of_word(word, (words - 1) * WORD);
    for (u32 w = S::WORDS; w > 0 && u_bits == 0; --w) {
      read_word<S>(input_row<S>(o, 0, row), (w - 1) * WORD, word);
      u_bits = bits_of_word(word, (w - 1) * WORD);
    }
    return {bits, u_bits};
  }

  // Divides the row of the record; `active`: the results are wanted. Returns true if the quotient
  // is one more than what was stored and the warp is to correct it.
  GPUINT_DEVICE static bool divide(const Operands& o, const u64& first, bool active, u32* record) {
    u32 r[K];
    u32 blocks, scale;
    {
      const u64 row = Source::row(o, first + record[Lane::ROW]);
      const Team team = team_of(record);
      const u32* const divisor = Source::divisor(o, row);
      const u32* const dividend = input_row<S>(o, 0, row);
      const uint2 lengths = lengths_of(o, row, record[Lane::WORDS]);
      const u32 bits = lengths.x, u_bits = lengths.y;
      const u32 n = ceil_div(bits, 32), s = n * 32 - bits;
      const u32 words = n / WORD + 1;
      const u32 limbs = ceil_div(u_bits + s, 32);
      // The same for all teams of a warp: unnecessary first quotients are zero.
      blocks = __reduce_max_sync(~0u, limbs > n ? ceil_div(limbs - n, SHORT_BLOCK) : 0);
      scale = team.lanes * OWN_WORDS - words;  // k
      record[Lane::LAYOUT] = LaneLayout(team, n, s).bits;
      const i32 own_word = static_cast<i32>(team.rank * OWN_WORDS - scale);
      GPUINT_UNROLL(K)
      for (u32 w = 0; w < OWN_WORDS + BLOCK_WORDS; ++w) {
        u32 word[WORD];
        read_or_zero(divisor, own_word + static_cast<i32>(w) - static_cast<i32>(BLOCK_WORDS), word);
        store_word(record + Lane::DIVISOR + w * WORD, word);
      }
      GPUINT_UNROLL(K)
      for (u32 w = 0; w < OWN_WORDS; ++w)
        read_or_zero(dividend, own_word + static_cast<i32>(w + BLOCK_WORDS * blocks), r + w * WORD);
      GPUINT_UNROLL(K)
      for (u32 i = 0; i < K; ++i) r[i] = ~r[i];
      u32* const quotient = output_row<S>(o, 0, row);
      if (quotient != nullptr && active)
        for (u32 w = BLOCK_WORDS * blocks + team.rank; w < S::WORDS; w += team.lanes) {
          const u32 zero[WORD] = {};
          write_word<S>(quotient, w * WORD, zero);
        }
      if (blocks > 0) {
        u32 y[9];
        short_reciprocal([&](i32 i) { return i >= 0 ? __ldg(divisor + i) : 0; }, n, s, y);
        GPUINT_ASSERT(!active || team.rank != 0 || is_short_reciprocal(y, divisor, n, s),
                      "Y is a strict underestimate by less than 2");
        const u32 odd = team.rank % 2;
        GPUINT_UNROLL(5)
        for (u32 i = 0; i < HALF_ROWS; ++i) {
          const u32 low = i < 4 ? y[7 - 2 * i] : 0;
          record[Lane::INVERSE + i] = odd != 0 ? low : y[8 - 2 * i];
          record[Lane::INVERSE + HALF_ROWS + i] = low;  // of a team of one
        }
      }
    }
    if (blocks > 0) divide_blocks(o, first, active, record, blocks, scale, r);
    {
      const u64 row = Source::row(o, first + record[Lane::ROW]);
      const Team team = team_of(record);
      u32 x[K];
      GPUINT_UNROLL(K)
      for (u32 i = 0; i < K; ++i) x[i] = r[i];
      const u32 carry = add_limbs(x, record + Lane::DIVISOR + SHORT_BLOCK, true);
      const bool less = settle(team, x, carry != 0);
      if (!active) return false;
      if (!less && team.rank == 0) GPUINT_RARE(LaneLastSubtraction);
      if (!Policy::WARP_CORRECTS && !less && team.rank == 0)
        increment<S>(output_row<S>(o, 0, row), 0);
      GPUINT_UNROLL(K)
      for (u32 i = 0; i < K; ++i) r[i] = less ? ~r[i] : ~x[i];
      u32* const remainder = output_row<S>(o, 1, row);
      if (remainder == nullptr) return Policy::WARP_CORRECTS && !less;
      const u32 own_word = team.rank * OWN_WORDS - scale;
      GPUINT_UNROLL(K)
      for (u32 w = 0; w < OWN_WORDS; ++w)
        if (own_word + w < S::WORDS) write_word<S>(remainder, (own_word + w) * WORD, r + w * WORD);
      for (u32 w = team.lanes * OWN_WORDS - scale + team.rank; w < S::WORDS; w += team.lanes) {
        const u32 zero[WORD] = {};
        write_word<S>(remainder, w * WORD, zero);
      }
      return Policy::WARP_CORRECTS && !less;
    }
  }

  // Computes and stores all blocks of a quotient; r: the dividend from the first block's remainder
  // to the last's.
  GPUINT_DEVICE static void divide_blocks(const Operands& o, const u64& first, bool active,
                                          const u32* record, u32 blocks, u32 scale, u32 (&r)[K]) {
    const u64 row = Source::row(o, first + record[Lane::ROW]);
    const bool lowest = record[Lane::RANK] == 0;
    const u32* const dividend = input_row<S>(o, 0, row);
    u32* const quotient = lowest && active ? output_row<S>(o, 0, row) : nullptr;
    GPUINT_UNROLL(1)
    for (u32 block = blocks; block-- > 0;) {
      // The next limbs of the dividend are loaded from global memory during the estimate.
      u32 next[SHORT_BLOCK];
      const i32 at = static_cast<i32>(BLOCK_WORDS * block - scale);
      read_or_zero(dividend, at, next);
      read_or_zero(dividend, at + 1, next + WORD);
      u32 q[9];
      estimate_in_team<K>(r, record, active, q);
      if (quotient != nullptr) {
        write_word<S>(quotient, SHORT_BLOCK * block, q);
        write_word<S>(quotient, SHORT_BLOCK * block + WORD, q + WORD);
      }
      const int from = static_cast<int>((threadIdx.x + 31) % 32);
      u32 low[SHORT_BLOCK];
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < SHORT_BLOCK; ++i) {
        low[i] = __shfl_sync(~0u, r[K - SHORT_BLOCK + i], from);
        if (lowest) low[i] = ~next[i];
      }
      // Prevents the compiler from keeping the divisor's limbs in registers, which are scarce.
      __syncwarp();
      u32 x[K], spill[2] = {0, 0};
      {
        u32 below[SHORT_BLOCK];
        load_word(record + Lane::DIVISOR, below);
        load_word(record + Lane::DIVISOR + WORD, below + WORD);
        add_columns<K, TILE>(r, low, record + Lane::DIVISOR, below, q, x, spill);
      }
      spill[0] = __shfl_sync(~0u, spill[0], from), spill[1] = __shfl_sync(~0u, spill[1], from);
      if (lowest) spill[0] = spill[1] = 0;
      u32 beyond = 0;
      ptx::add_cc(x[0], spill[0]);
      ptx::addc_cc(x[1], spill[1]);
      ptx::addc(beyond, 0);
      const bool carry = q[8] != 0;  // of the quotient: of a rare remainder
      if (carry && active && lowest) GPUINT_RARE(LaneQuotientCarry);
      if (beyond != 0) GPUINT_RARE(LaneCarry);
      if (__any_sync(~0u, beyond != 0 || (carry && active))) {
        ptx::add_cc(x[2], beyond);
        GPUINT_UNROLL(K)
        for (u32 i = 3; i < K; ++i) ptx::addc_cc(x[i], 0);
        beyond = 0;
        ptx::addc(beyond, 0);
        settle(team_of(record), x, beyond != 0);
        // - V B^8
        beyond = add_limbs(x, record + Lane::DIVISOR, carry);
        settle(team_of(record), x, beyond != 0);
        const u32 above = SHORT_BLOCK * (block + 1);
        if constexpr (Policy::WARP_CORRECTS) {
          const Group<32> warp(nullptr);
          warp.sync();  // the blocks above are there
          each_row(o, first, carry && quotient != nullptr, record[Lane::ROW],
                   [&](u64 row) { increment<S>(warp, output_row<S>(o, 0, row), above); });
        } else if (carry) {
          increment<S>(quotient, above);
        }
      }
      GPUINT_UNROLL(K)
      for (u32 i = 0; i < K; ++i) r[i] = x[i];
    }
  }

  // Word w of a row, zero outside of it.
  GPUINT_DEVICE static void read_or_zero(const u32* row, i32 w, u32* limbs) {
    GPUINT_UNROLL(4)
    for (u32 i = 0; i < WORD; ++i) limbs[i] = 0;
    if (static_cast<u32>(w) < S::WORDS) read_word<S>(row, static_cast<u32>(w) * WORD, limbs);
  }
};

}  // namespace gpuint
