// MulMod, SquareMod, PowMod and DivRemBy by Fourier transforms, for powers of two from 2^15 to 2^18
// bits.
//
// Products and squares are phases (products.cuh), powers and divisions one block per row
// (barrett.cuh).
//
// Powers are computed modulo V by sliding windows (modular/pow_mod.cuh). The last residue is
// shifted and reduced.
#pragma once
#include "div/by_prepared.cuh"
#include "modular/fft/barrett.cuh"
#include "modular/fft/products.cuh"
#include "modular/modular.cuh"
#include "modular/pow_mod.cuh"
#include "transform/fft/product.cuh"

namespace gpuint {

// in[0] = u, in[2] = records; out[0] = q, out[1] = r, either may be null.
template <class S>
struct FftDivRemBy : fft_modular::Barrett<S, 0, true> {
  using Base = fft_modular::Barrett<S, 0, true>;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Base mod(o, shared);
    mod.template each_row<1>([] { return true; }, [&] { next(mod); },
                             [&] {
                               mod.write_quotient(output_row<S>(o, 0, mod.state().row));
                               mod.write_remainder(output_row<S>(o, 1, mod.state().row));
                             });
  }

 private:
  GPUINT_DEVICE static void next(const Base& mod) {
    const bool is_last = mod.state().is_last != 0;
    Base::sync();
    if (!is_last) mod.set_dividend(input_row<S>(mod.o, 0, mod.state().row));
    if (threadIdx.x == 0) {
      mod.state().is_last = 1;
      mod.state().step = is_last ? fft_modular::DONE : fft_modular::QUOTIENT;
    }
    Base::sync();
  }
};

// Bytes of the powers 2, 3, 5, .. 2^k - 1 of a row.
template <class S>
constexpr u32 FFT_POWERS = odd_powers(S::BITS) * fft_modular::Barrett<S>::SLOT * sizeof(u32);

// in[0] = a, in[1] = e, in[2] = records, out[0] = a^e mod v.
template <class S>
struct FftPowerMod : fft_modular::Barrett<S, FFT_POWERS<S>> {
  using Base = fft_modular::Barrett<S, FFT_POWERS<S>>;
  using State = typename Base::State;

  GPUINT_DEVICE static void run(const Operands& o, unsigned char* shared) {
    const Base mod(o, shared);
    mod.template each_row<0>([&] { return begin(mod); }, [&] { next(mod); },
                             [&] { mod.write_remainder(output_row<S>(o, 0, mod.state().row)); });
  }

 private:
  GPUINT_DEVICE static const u32* exponent(const Base& mod) {
    return input_row<S>(mod.o, 1, mod.o.params.broadcast_exponent != 0 ? 0 : mod.state().row);
  }

  // Power e of the table; power 1 is the operand.
  GPUINT_DEVICE static u32* made_power(const Base& mod, u32 e) {
    return mod.number(Base::MORE) + (e == 2 ? 0 : e / 2) * Base::SLOT;
  }
  GPUINT_DEVICE static const u32* power(const Base& mod, u32 e) {
    return e == 1 ? input_row<S>(mod.o, 0, mod.state().row) : made_power(mod, e);
  }

  GPUINT_DEVICE static bool begin(const Base& mod) {
    const u32 bits = mod.bits(exponent(mod));
    if (bits == 0) {
      const u32 one = mod.state().shift + 1 < S::BITS ? 1 : 0;  // 0 modulo 1
      u32* const row = output_row<S>(mod.o, 0, mod.state().row);
      for (u32 l = mod.thread(); l < S::N; l += Base::THREADS) row[l] = l == 0 ? one : 0;
      return false;
    }
    const u32 k = sliding_window_bits(bits);
    Base::sync();
    if (threadIdx.x == 0) {
      volatile State& s = mod.state();
      s.largest_digit = 0;
      s.highest_power = 1, s.window = k, s.window_end = bits;
      s.squarings_left = s.next_digit = 0;
      s.current_power = nullptr;
    }
    Base::sync();
    const u32 largest = largest_window<S>(exponent(mod), bits, k, mod.thread(), Base::THREADS);
    atomicMax(const_cast<u32*>(&mod.state().largest_digit), largest);
    return true;
  }

  GPUINT_DEVICE static void next(const Base& mod) {
    Base::sync();
    if (threadIdx.x == 0) advance(mod);
    Base::sync();
    if (mod.state().step != fft_modular::QUOTIENT) return;
    const u32* const current = mod.state().current_power;
    if (current == power(mod, 1))
      mod.set_dividend(current);
    else
      mod.set_dividend_of_residue(const_cast<u32*>(current));
  }

  // Sets the next product. First it makes the powers; `made` is the highest.
  GPUINT_DEVICE static void advance(const Base& mod) {
    volatile State& s = mod.state();
    const auto set = [&](const u32* a, const u32* b, u32* result) {
      const u32* const row = power(mod, 1);
      s.factor[0] = a, s.factor[1] = b;
      s.is_row[0] = a == row, s.is_row[1] = b == row;
      s.is_square = a == b;
      s.remainder_place = result;
      s.step = a == b ? fft_modular::PRODUCT : fft_modular::FACTOR;
      GPUINT_RARE(PowerProduct);
    };
    if (s.highest_power < s.largest_digit) {
      const u32 e = s.highest_power < 3 ? s.highest_power + 1 : s.highest_power + 2;
      s.highest_power = e;
      return set(power(mod, e == 2 ? 1 : 2), power(mod, e <= 3 ? 1 : e - 2), made_power(mod, e));
    }
    u32* const residue = mod.number(Base::RESIDUE);
    const auto begin_window = [&] {
      const SlidingWindow next = window_below<S>(exponent(mod), s.window_end, s.window);
      s.window_end = s.window_end - next.squarings;
      return next;
    };
    // The walk over the windows starts with the power of the top one.
    const u32* const current =
        s.current_power != nullptr ? s.current_power : power(mod, begin_window().digit);
    s.current_power = residue;
    if (s.squarings_left == 0 && s.next_digit == 0 && s.window_end > 0) {
      const SlidingWindow next = begin_window();
      s.squarings_left = next.squarings, s.next_digit = next.digit;
    }
    if (s.squarings_left > 0) {
      s.squarings_left = s.squarings_left - 1;
      set(current, current, residue);
    } else if (s.next_digit != 0) {
      set(current, power(mod, s.next_digit), residue);
      s.next_digit = 0;
    } else if (s.is_last == 0) {
      s.is_last = 1;
      s.current_power = current;
      s.remainder_place = residue;
      s.step = fft_modular::QUOTIENT;
    } else {
      s.step = fft_modular::DONE;
    }
  }
};

}  // namespace gpuint
