// Block division with a few lanes per instance: everything is in registers, and lanes exchange data
// only by shuffles.
//
// The blocks are those of div/lanes/short_block.cuh. A team of T consecutive lanes of a warp
// divides a row. A lane owns K limbs of the divisor and the remainder's K limbs at the same places.
// T is the number of lanes for the divisor, so a warp holds floor(32 / T) teams for rows of any
// length. Rows are sorted by length (sorted.cuh), so that T is the same for all rows of a warp.
//
// All numbers are scaled by B^(4k), 4k limbs, such that the divisor's top limb is in the team's top
// word: V = v B^(4k) < B^(T K - e), 0 <= e <= 3. The quotient is the same, and the remainder is
// scaled too. The input of an estimate is then in the last registers of the team's last lane, which
// sends Rh to the others; all lanes of a team compute Q, which they need whole.
//
// Columns mod B^(T K) suffice, as every remainder is below B^(T K): the first one has no more bits
// than V 2^s, and the others are below (1 + 128/B) V. If e > 0 or s > 0, V <= B^(T K) / 2. If not,
// V < (d + 1) B^(T K - 1) for its top limb d, and d < B - 256 is enough. A divisor with a larger
// limb has a word of zeros above, e = 4.
//
// So lanes add Q W to the remainder, W = B^(T K) - V, instead of subtracting Q V. A block shifts
// the remainder up by 8 limbs: 8 of each lane come from the lane below, the first lane's from the
// dividend. Each lane adds its K columns of Q W and passes the rest, two limbs below 9 B together,
// to the lane above; what the last lane passes is the multiple of B^(T K). That carries beyond two
// limbs once in 2^27 lanes of random numbers. A warp votes on it, and resolves it as in carry.cuh
// (a lane that overflowed is far below B^K and does not propagate).
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
#include "div/stores.cuh"
#include "div/sorted.cuh"
#include "tuning/division.cuh"

namespace gpuint {

// The rows that lanes divide: all rows of the operands. The lengths of their divisors are searched.
template <class S, class Divisors>
struct EveryRow {
  static constexpr u32 MAX_WORDS = S::WORDS;  // of a divisor
  static constexpr bool HAS_LENGTHS = false, DIVIDES_POWER = false;
  GPUINT_DEVICE static u64 count(const Operands& o) { return o.rows; }
  GPUINT_DEVICE static u64 row(const Operands&, u64 index) { return index; }
  GPUINT_DEVICE static const u32* divisor(const Operands& o, u64 row) {
    return Divisors::at(o, row);
  }
};

// Source is EveryRow, or a list of rows whose lengths are known: lengths(o, row) has the bits of
// the divisor and of the dividend. With DIVIDES_POWER the dividend of all rows is 2^exponent, which
// is not in memory. Rows whose quotient needs more than BITS bits fail, as if the divisor were
// zero.
template <class S, class Source = EveryRow<S, SecondOperand<S>>,
          class Policy = LaneDivisionPolicy<S>>
struct LaneDivision {
  static constexpr u32 N = S::N;
  static constexpr u32 K = Policy::LIMBS_PER_LANE;
  static constexpr u32 TILE = Policy::TILE;
  static constexpr u32 OWN_WORDS = K / WORD;
  static constexpr u32 BLOCK_WORDS = SHORT_BLOCK / WORD;
  using Lane = LaneRecord<K>;
  // True if a lane has twice the limbs of a row: the lower half of W is then zero, unless a divisor
  // has room for a word of zeros.
  static constexpr bool SKIPS_LOWEST = K == 2 * N && N == TILE && TILE == SHORT_BLOCK;
  static_assert(S::LIMB_BITS == 32 && N % SHORT_BLOCK == 0, "rows of whole blocks");
  static_assert(K % WORD == 0 && TILE % WORD == 0 && K >= 16,
                "the window of an estimate is one lane's");
  static constexpr u32 MAX_WORDS = Source::MAX_WORDS;
  static_assert(32 * K >= (MAX_WORDS + 1) * WORD, "a warp holds the longest divisor");

  static constexpr u32 THREADS = Policy::THREADS;
  static constexpr u32 BATCH = Policy::SORTED_ROWS;
  static constexpr u32 PERSISTENT = Policy::EQUAL_SHARES ? 1 : 0;
  static constexpr u32 ROWS = Policy::EQUAL_SHARES ? Policy::MIN_SHARE : BATCH;
  // Sort key of a row: words that its divisor takes. If rows are few blocks, twice that, minus 1 if
  // the top bit of the top word is set, which may save a block.
  static constexpr u32 KEYS_OF_WORD = N <= 256 ? 2 : 1;
  static constexpr u32 KEYS = KEYS_OF_WORD * (MAX_WORDS + 1) + 1;
  using Sorted = SortedBatch<THREADS, BATCH, KEYS>;
  // Lanes that search the top of a divisor together, and rows that they search at a time.
  using Scanner = Group<min_of(32, power_of_two_at_least(S::WORDS))>;
  static constexpr u32 SCANNED_WORDS = ceil_div(S::WORDS, Scanner::THREADS);
  static constexpr u32 SCANNED_ROWS = max_of(1, SCANNED_LOADS<Policy> / SCANNED_WORDS);

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
        const auto rows = sorted.take_back(
            share->rows(), [](u32 key) { return teams_of(lanes_for(words_of(key))); });
        if (rows.count == 0) break;
        divide_rows(o, share->first, sorted, rows.first, rows.count, record);
      }
      __syncthreads();
      if (threadIdx.x == 0) share->first += share->rows();
      __syncthreads();
    }
  }

 private:
  GPUINT_DEVICE static u32 words_of(u32 key) { return ceil_div(key, KEYS_OF_WORD); }

  // Lanes of a team; one for a row without a divisor.
  GPUINT_DEVICE static u32 lanes_for(u32 words) { return ceil_div(max_of(words, 1), OWN_WORDS); }

  // Teams of a warp: 32 / lanes, of 1 .. 10 lanes in 6 bits each.
  GPUINT_DEVICE static u32 teams_of(u32 lanes) {
    constexpr u64 TEAMS = 32ull | 16ull << 6 | 10ull << 12 | 8ull << 18 | 6ull << 24 | 5ull << 30 |
                          4ull << 36 | 4ull << 42 | 3ull << 48 | 3ull << 54;
    if (lanes > 10) return lanes > 16 ? 1 : 2;
    return static_cast<u32>(TEAMS >> (6 * (lanes - 1)) & 63);
  }

  // The key of a divisor whose top word is number `index`; 0 for a word of zeros. The key of a
  // lower word is at most that of the top word.
  GPUINT_DEVICE static u32 key_of(const u32 (&word)[WORD], u32 index) {
    constexpr u32 MIN_FULL_LIMB = 0u - 256;
    const u32 top = word[WORD - 1];
    if ((word[0] | word[1] | word[2] | top) == 0) return 0;
    return KEYS_OF_WORD * (index + (top >= MIN_FULL_LIMB ? 2 : 1)) -
           (KEYS_OF_WORD > 1 ? top >> 31 : 0);
  }

  // Sets the keys of a batch, with the loads of all words of several rows in flight.
  GPUINT_DEVICE static void find_lengths(const Operands& o, const Share& share, Sorted& sorted) {
    const u64 first = share.first;
    const u32 count = share.rows();
    if constexpr (Source::HAS_LENGTHS) {
      static_assert(KEYS_OF_WORD == 1, "a key is a number of words");
      // The top limb of a full top word may be full.
      for (u32 i = threadIdx.x; i < count; i += THREADS) {
        const u32 bits = Source::lengths(o, Source::row(o, first + i)).x;
        sorted.set(i, bits == 0 ? 0 : bits / (32 * WORD) + 1);
      }
      return;
    }
    Scanner scanner(nullptr);
    constexpr u32 GROUPS = THREADS / Scanner::THREADS;
    for (u32 i = Scanner::index(); i < count; i += SCANNED_ROWS * GROUPS) {
      u32 keys[SCANNED_ROWS] = {};
      GPUINT_UNROLL(16)
      for (u32 j = 0; j < SCANNED_ROWS; ++j) {
        GPUINT_UNROLL(8)
        for (u32 k = 0; k < SCANNED_WORDS; ++k) {
          const u32 index = k * Scanner::THREADS + scanner.rank;
          u32 word[WORD] = {};
          if (i + j * GROUPS < count)
            read_or_zero(Source::divisor(o, Source::row(o, first + i + j * GROUPS)),
                         static_cast<i32>(index), word);
          keys[j] = max_of(keys[j], key_of(word, index));
        }
      }
      GPUINT_UNROLL(16)
      for (u32 j = 0; j < SCANNED_ROWS; ++j) {
        const u32 key = scanner.max(keys[j]);
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
    const bool is_row = member < rows;
    const u32 own = sorted.order[is_row ? slot + member : slot];
    const u32 words = words_of(sorted.keys[own]), rank = threadIdx.x % 32 - member * lanes;
    const Group<32> warp(nullptr);
    each_lane(is_row && words == 0 && rank == 0,
              [&](u32 from) { fail(warp, o, row_of(o, first, own, from)); });
    if (longest == 0) return;
    // Lanes without a row repeat the first one, but store nothing.
    const bool active = is_row && words != 0;
    record[Lane::ROW] = active ? own : sorted.order[slot];
    record[Lane::WORDS] = active ? words : longest;
    record[Lane::LANES] = lanes;
    record[Lane::RANK] = rank;
    record[Lane::LONGEST] = longest;
    const bool is_more = divide(o, first, active, record);
    const bool lowest = active && record[Lane::RANK] == 0;
    if (clears_together(record[Lane::LONGEST]) && o.out[1] != nullptr)
      each_lane(lowest, [&](u32 from) {
        u32* const remainder = output_row<S>(o, 1, row_of(o, first, record[Lane::ROW], from));
        const u32 zero[WORD] = {};
        GPUINT_UNROLL(1)
        for (u32 w = __shfl_sync(~0u, record[Lane::WORDS], from) + warp.lane; w < S::WORDS; w += 32)
          write_word<S>(remainder, w * WORD, zero);
      });
    if constexpr (Policy::WARP_CORRECTS) {
      warp.sync();  // the quotients are there
      each_lane(lowest && is_more, [&](u32 from) {
        increment<S>(warp, output_row<S>(o, 0, row_of(o, first, record[Lane::ROW], from)), 0);
      });
    }
  }

  // Calls work(lane) in all lanes of the warp for each lane where `wanted` is true.
  template <class Work>
  GPUINT_DEVICE static void each_lane(bool wanted, Work work) {
    GPUINT_UNROLL(1)
    for (u32 lanes = __ballot_sync(~0u, wanted); lanes != 0; lanes &= lanes - 1)
      work(static_cast<u32>(__ffs(static_cast<int>(lanes)) - 1));
  }
  // Writes the results of a row without a quotient.
  GPUINT_DEVICE static void fail(const Group<32>& warp, const Operands& o, u64 row) {
    if constexpr (Source::DIVIDES_POWER) {
      write_quotient<S>(warp, output_row<S>(o, 0, row), 0, S::WORDS, nullptr);
      if (warp.rank == 0) set_status(o.status, row);
    } else {
      write_undefined<S>(warp, o, row);
    }
  }

  // Returns true if 2^exponent / v < 2^BITS for a divisor of `bits` bits, n limbs: surely if
  // exponent < BITS + bits - 1, surely not if it is larger, and if equal unless v is a power of
  // two.
  GPUINT_DEVICE static bool fits(const Operands& o, const u32* divisor, u32 bits, u32 n) {
    const u32 exponent = o.params.exponent;
    if (exponent + 1 != S::BITS + bits) return exponent + 1 < S::BITS + bits;
    u32 low = __ldg(divisor + n - 1) & ((1u << (bits - 1) % 32) - 1);
    GPUINT_UNROLL(1)
    for (u32 i = 0; i + 1 < n; ++i) low |= __ldg(divisor + i);
    return low != 0;
  }

  // Limb i of 2^exponent.
  GPUINT_DEVICE static u32 limb_of_power(const Operands& o, i32 i) {
    const u32 exponent = o.params.exponent;
    return i == static_cast<i32>(exponent / 32) ? 1u << exponent % 32 : 0;
  }
  GPUINT_DEVICE static void read_dividend(const Operands& o, u64 row, i32 w, u32* limbs) {
    if constexpr (Source::DIVIDES_POWER) {
      GPUINT_UNROLL(4)
      for (u32 i = 0; i < WORD; ++i)
        limbs[i] = limb_of_power(o, w * static_cast<i32>(WORD) + static_cast<i32>(i));
    } else {
      read_or_zero(input_row<S>(o, 0, row), w, limbs);
    }
  }

  // The row that a lane of the warp has as `own`.
  GPUINT_DEVICE static u64 row_of(const Operands& o, const u64& first, u32 own, u32 lane) {
    return Source::row(o, first + __shfl_sync(~0u, own, lane));
  }

  // Words of zeros above remainders are stored by all lanes of a warp, one row after another, if
  // there are many, and else by the lanes of each row, of which each store reaches another line.
  GPUINT_DEVICE static bool clears_together(u32 longest) {
    return S::WORDS > MIN_CLEARED_WORDS && longest <= S::WORDS - MIN_CLEARED_WORDS;
  }
  // Clears the words of a row from `word` on by the lanes of its team.
  GPUINT_DEVICE static void clear_from(const Team& team, u32* row, u32 word) {
    const u32 zero[WORD] = {};
    for (u32 w = word + team.rank; w < S::WORDS; w += team.lanes)
      write_word<S>(row, w * WORD, zero);
  }

  GPUINT_DEVICE static Team team_of(const u32* record) {
    const u32 rank = record[Lane::RANK];
    return {record[Lane::LANES], threadIdx.x % 32 - rank, rank};
  }

  // Bits of the divisor, which takes `words` words, and of the dividend, whose top word is given.
  GPUINT_DEVICE static uint2 lengths_of(const Operands& o, u64 row, u32 words,
                                        const u32 (&u_top)[WORD]) {
    if constexpr (Source::HAS_LENGTHS) return Source::lengths(o, row);
    u32 word[WORD], bits = 0, u_bits = bits_of_word(u_top, (S::WORDS - 1) * WORD);
    for (u32 w = words; bits == 0; --w) {  // the second one from the top at the latest
      read_or_zero(Source::divisor(o, row), static_cast<i32>(w - 1), word);
      bits = bits_of_word(word, (w - 1) * WORD);
    }
    if constexpr (Source::DIVIDES_POWER) {
      u_bits = o.params.exponent + 1;
    } else {
      for (u32 w = S::WORDS - 1; w > 0 && u_bits == 0; --w) {
        read_word<S>(input_row<S>(o, 0, row), (w - 1) * WORD, word);
        u_bits = bits_of_word(word, (w - 1) * WORD);
      }
    }
    return {bits, u_bits};
  }

  // Stores a lane's limbs of W = B^(T K) - V and the 8 below them, zero below the team.
  GPUINT_DEVICE static void store_negative(const Team& team, const u32 (&v)[K], u32* record) {
    u32 any = 0, w[K] = {}, flag = 0;
    GPUINT_UNROLL(K)
    for (u32 i = 0; i < K; ++i) any |= v[i];
    const u32 below = (1u << team.rank) - 1;  // the team's lanes
    ptx::sub_cc(flag, (__ballot_sync(~0u, any != 0) >> team.base & below) != 0 ? 1 : 0);
    GPUINT_UNROLL(K)
    for (u32 i = 0; i < K; ++i) ptx::subc_cc(w[i], v[i]);
    u32* const to = record + Lane::NEGATIVE;
    __syncwarp();  // the lanes above have read the row before
    GPUINT_UNROLL(K)
    for (u32 i = 0; i < K; i += WORD) store_word(to + SHORT_BLOCK + i, w + i);
    __syncwarp();
    GPUINT_UNROLL(2)
    for (u32 i = 0; i < SHORT_BLOCK; i += WORD) {
      u32 word[WORD] = {};
      if (team.rank != 0) load_word(to - Lane::LIMBS + K + i, word);
      store_word(to + i, word);
    }
  }

  // Stores the lane's half of the short reciprocal of a divisor of n limbs, shifted by s bits.
  GPUINT_DEVICE static void store_inverse(const Team& team, bool active, const u32* divisor, u32 n,
                                          u32 s, u32* record) {
    u32 y[9];
    short_reciprocal([&](i32 i) { return i >= 0 ? __ldg(divisor + i) : 0; }, n, s, y);
    GPUINT_ASSERT(!active || team.rank != 0 || is_short_reciprocal(y, divisor, n, s),
                  "Y is a strict underestimate by less than 24");
    const u32 odd = team.rank % 2;
    GPUINT_UNROLL(5)
    for (u32 i = 0; i < HALF_ROWS; ++i) {
      const u32 low = i < 4 ? y[7 - 2 * i] : 0;
      record[Lane::INVERSE + i] = odd != 0 ? low : y[8 - 2 * i];
      record[Lane::INVERSE + HALF_ROWS + i] = low;  // of a team of one
    }
  }

  // Subtracts V from the remainder r once more if it is not below, and writes it; returns as
  // `divide`.
  GPUINT_DEVICE static bool finish(const Operands& o, const u64& first, bool active, u32* record,
                                   u32 scale, u32 (&r)[K]) {
    const u64 row = Source::row(o, first + record[Lane::ROW]);
    const Team team = team_of(record);
    u32 x[K];
    GPUINT_UNROLL(K)
    for (u32 i = 0; i < K; ++i) x[i] = r[i];
    const u32 carry = add_limbs(x, record + Lane::NEGATIVE + SHORT_BLOCK, true);
    const bool less = !resolve_carries(team, x, carry != 0);
    if (!active) return false;
    if (!less && team.rank == 0) GPUINT_RARE(LaneLastSubtraction);
    if (!Policy::WARP_CORRECTS && !less && team.rank == 0)
      increment<S>(output_row<S>(o, 0, row), 0);
    GPUINT_UNROLL(K)
    for (u32 i = 0; i < K; ++i) r[i] = less ? r[i] : x[i];
    u32* const remainder = output_row<S>(o, 1, row);
    if (remainder == nullptr) return Policy::WARP_CORRECTS && !less;
    const u32 own_word = team.rank * OWN_WORDS - scale;
    GPUINT_UNROLL(K)
    for (u32 w = 0; w < OWN_WORDS; ++w)
      if (own_word + w < S::WORDS) write_word<S>(remainder, (own_word + w) * WORD, r + w * WORD);
    if (!clears_together(record[Lane::LONGEST])) clear_from(team, remainder, record[Lane::WORDS]);
    return Policy::WARP_CORRECTS && !less;
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
      const u32 words = record[Lane::WORDS];
      scale = team.lanes * OWN_WORDS - words;  // k
      const i32 own_word = static_cast<i32>(team.rank * OWN_WORDS - scale);
      u32 v[K], u_top[WORD] = {};
      if constexpr (!Source::HAS_LENGTHS && !Source::DIVIDES_POWER)
        read_word<S>(input_row<S>(o, 0, row), (S::WORDS - 1) * WORD, u_top);
      GPUINT_UNROLL(K)
      for (u32 w = 0; w < OWN_WORDS; ++w)
        read_or_zero(divisor, own_word + static_cast<i32>(w), v + w * WORD);
      const uint2 lengths = lengths_of(o, row, words, u_top);
      const u32 bits = lengths.x, u_bits = lengths.y;
      const u32 n = ceil_div(bits, 32), s = n * 32 - bits;
      u32 limbs = ceil_div(u_bits + s, 32);
      if constexpr (Source::DIVIDES_POWER) {
        const bool has_room = fits(o, divisor, bits, n);
        each_lane(active && !has_room && team.rank == 0, [&](u32 from) {
          fail(Group<32>(nullptr), o, row_of(o, first, record[Lane::ROW], from));
        });
        active = active && has_room;
        if (!has_room) limbs = 0;
      }
      if (words * WORD - n == WORD && team.rank == 0) GPUINT_RARE(LaneFullLimb);
      store_negative(team, v, record);
      record[Lane::LAYOUT] = LaneLayout(team, words * WORD - n, s).bits;
      // The same for all teams of a warp: unnecessary first quotients are zero.
      blocks = __reduce_max_sync(~0u, limbs > n ? ceil_div(limbs - n, SHORT_BLOCK) : 0);
      // In flight during the reciprocal.
      GPUINT_UNROLL(K)
      for (u32 w = 0; w < OWN_WORDS; ++w)
        read_dividend(o, row, own_word + static_cast<i32>(w + BLOCK_WORDS * blocks), r + w * WORD);
      u32* const quotient = output_row<S>(o, 0, row);
      if (quotient != nullptr && active) clear_from(team, quotient, BLOCK_WORDS * blocks);
      if (blocks > 0) store_inverse(team, active, divisor, n, s, record);
    }
    if (blocks > 0) divide_blocks(o, first, active, record, blocks, scale, r);
    return finish(o, first, active, record, scale, r);
  }

  // Computes and stores all blocks of a quotient; r: the dividend from the first block's remainder
  // to the last's.
  GPUINT_DEVICE static void divide_blocks(const Operands& o, const u64& first, bool active,
                                          const u32* record, u32 blocks, u32 scale, u32 (&r)[K]) {
    const u64 row = Source::row(o, first + record[Lane::ROW]);
    const bool lowest = record[Lane::RANK] == 0;
    u32* const results = output_row<S>(o, 0, row);
    const bool stores = lowest && active && results != nullptr;
    // Addresses of the next limbs of the dividend and of the block of quotient, decremented block
    // by block: computing them from `block` takes more instructions. Without a quotient to store,
    // `quotient` is an address of the dividend, which no store uses.
    i32 word = static_cast<i32>(BLOCK_WORDS * blocks - scale);
    const u32* const dividend = input_row<S>(o, 0, row);
    const u32* next_at = dividend + word * static_cast<i32>(WORD);
    u32* quotient = (stores ? results : const_cast<u32*>(dividend)) + SHORT_BLOCK * blocks;
    const bool skips_lowest = SKIPS_LOWEST && __all_sync(~0u, scale >= BLOCK_WORDS) != 0;
    GPUINT_UNROLL(1)
    for (u32 block = blocks; block-- > 0;) {
      // The next limbs of the dividend are loaded from global memory during the estimate.
      u32 next[SHORT_BLOCK] = {};
      next_at -= SHORT_BLOCK, quotient -= SHORT_BLOCK;
      if constexpr (Source::DIVIDES_POWER) {
        read_dividend(o, row, word - 2, next);
        read_dividend(o, row, word - 1, next + WORD);
      } else {
        if (word >= 2) ptx::load_and_prefetch_line(next_at, next);
        if (word >= 1) ptx::load_and_prefetch_line(next_at + WORD, next + WORD);
      }
      word -= BLOCK_WORDS;
      u32 q[9];
      estimate_in_team<K>(r, record, active, q);
      if (stores) {
        write_word<S>(quotient, 0, q);
        write_word<S>(quotient, WORD, q + WORD);
      }
      u32 low[SHORT_BLOCK];
      GPUINT_UNROLL(8)
      for (u32 i = 0; i < SHORT_BLOCK; ++i) {
        low[i] = __shfl_up_sync(~0u, r[K - SHORT_BLOCK + i], 1);
        low[i] = lowest ? next[i] : low[i];
      }
      // Prevents the compiler from keeping the divisor's limbs in registers, which are scarce.
      __syncwarp();
      u32 carry_out[2], beyond[TILES<K, TILE>];
      add_columns<K, TILE>(r, low, record + Lane::NEGATIVE, q, carry_out, beyond, skips_lowest);
      carry_out[0] = __shfl_up_sync(~0u, carry_out[0], 1),
      carry_out[1] = __shfl_up_sync(~0u, carry_out[1], 1);
      if (lowest) carry_out[0] = carry_out[1] = 0;
      const bool is_left = add_carry_out(r, carry_out, beyond);
      const bool carry = q[8] != 0;  // of the quotient: of a rare remainder
      if (carry && active && lowest) GPUINT_RARE(LaneQuotientCarry);
      if (is_left) GPUINT_RARE(LaneCarry);
      if (__any_sync(~0u, is_left || (carry && active))) {
        resolve_carries(team_of(record), r, add_carries<TILE>(r, beyond));
        // - V B^8
        resolve_carries(team_of(record), r, add_limbs(r, record + Lane::NEGATIVE, carry) != 0);
        const u32 above = SHORT_BLOCK * (block + 1);
        if constexpr (Policy::WARP_CORRECTS) {
          const Group<32> warp(nullptr);
          warp.sync();  // the blocks above are there
          each_lane(carry && stores, [&](u32 from) {
            const u64 row = row_of(o, first, record[Lane::ROW], from);
            increment<S>(warp, output_row<S>(o, 0, row), above);
          });
        } else if (carry && stores) {
          increment<S>(output_row<S>(o, 0, row), above);
        }
      }
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
