// Owners and exceptions for gpuint.h, for C++17. It has no functions of its own for operations:
//
//     auto device = gpuint::make<gpuint::device>(gpuint_device_first);
//     auto a = gpuint::make<gpuint::batch>(gpuint_batch_splat, device, 1024, "1000000007", 100);
//     auto [q, r] = gpuint::make<gpuint::batch, gpuint::batch>(gpuint_div_rem, a, b);
//     gpuint::call(gpuint_batch_read_limbs, q, 0, 100, limbs.data(), 16);
//     std::string sum = gpuint::text(gpuint_wrapping_sum, r, 10);
#ifndef GPUINT_HPP
#define GPUINT_HPP

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "gpuint.h"

namespace gpuint {

/// A call that failed, with its message.
class error : public std::runtime_error {
 public:
  explicit error(gpuint_status status)
      : std::runtime_error(gpuint_last_error()), status_(status), row_(gpuint_last_error_row()) {}

  gpuint_status status() const noexcept { return status_; }

  /// The lowest row at fault; -1 if the fault is of no row.
  std::int64_t row() const noexcept { return row_; }

 private:
  gpuint_status status_;
  std::int64_t row_;
};

struct deleter {
  void operator()(gpuint_device* handle) const noexcept { gpuint_device_free(handle); }
  void operator()(gpuint_batch* handle) const noexcept { gpuint_batch_free(handle); }
  void operator()(gpuint_mask* handle) const noexcept { gpuint_mask_free(handle); }
  void operator()(gpuint_words* handle) const noexcept { gpuint_words_free(handle); }
  void operator()(gpuint_divisor* handle) const noexcept { gpuint_divisor_free(handle); }
  void operator()(gpuint_factor* handle) const noexcept { gpuint_factor_free(handle); }
  void operator()(gpuint_modulus* handle) const noexcept { gpuint_modulus_free(handle); }
  void operator()(gpuint_residues* handle) const noexcept { gpuint_residues_free(handle); }
  void operator()(gpuint_signed* handle) const noexcept { gpuint_signed_free(handle); }
  void operator()(gpuint_product_tree* handle) const noexcept { gpuint_product_tree_free(handle); }
  void operator()(gpuint_crt* handle) const noexcept { gpuint_crt_free(handle); }
  void operator()(gpuint_fixed_base* handle) const noexcept { gpuint_fixed_base_free(handle); }
  void operator()(gpuint_family* handle) const noexcept { gpuint_family_free(handle); }
  void operator()(gpuint_secret* handle) const noexcept { gpuint_secret_free(handle); }
  void operator()(gpuint_secret_exponents* handle) const noexcept {
    gpuint_secret_exponents_free(handle);
  }
  void operator()(gpuint_secret_modulus* handle) const noexcept {
    gpuint_secret_modulus_free(handle);
  }
  void operator()(gpuint_secret_factor* handle) const noexcept {
    gpuint_secret_factor_free(handle);
  }
};

/// Owners of handles.
using device = std::unique_ptr<gpuint_device, deleter>;
using batch = std::unique_ptr<gpuint_batch, deleter>;
using mask = std::unique_ptr<gpuint_mask, deleter>;
using words = std::unique_ptr<gpuint_words, deleter>;
using divisor = std::unique_ptr<gpuint_divisor, deleter>;
using factor = std::unique_ptr<gpuint_factor, deleter>;
using modulus = std::unique_ptr<gpuint_modulus, deleter>;
using residues = std::unique_ptr<gpuint_residues, deleter>;
using signed_batch = std::unique_ptr<gpuint_signed, deleter>;
using product_tree = std::unique_ptr<gpuint_product_tree, deleter>;
using crt = std::unique_ptr<gpuint_crt, deleter>;
using fixed_base = std::unique_ptr<gpuint_fixed_base, deleter>;
using family = std::unique_ptr<gpuint_family, deleter>;
using secret = std::unique_ptr<gpuint_secret, deleter>;
using secret_exponents = std::unique_ptr<gpuint_secret_exponents, deleter>;
using secret_modulus = std::unique_ptr<gpuint_secret_modulus, deleter>;
using secret_factor = std::unique_ptr<gpuint_secret_factor, deleter>;

/// Converts to the argument of gpuint.h: an owner to its handle, other values unchanged.
template <class T>
T* raw(const std::unique_ptr<T, deleter>& owner) {
  return owner.get();
}
template <class T>
T raw(T value) {
  return value;
}

/// Throws an `error` unless the status is that of success.
inline void check(gpuint_status status) {
  if (status != GPUINT_STATUS_OK) throw error(status);
}

/// Calls a function.
template <class Function, class... Arguments>
void call(Function function, const Arguments&... arguments) {
  check(function(raw(arguments)...));
}

/// Calls a function that stores one handle or several, and returns the owner or a tuple of owners.
template <class... Owners, class Function, class... Arguments>
auto make(Function function, const Arguments&... arguments) {
  std::tuple<typename Owners::pointer...> handles;
  std::apply([&](auto&... handle) { call(function, arguments..., &handle...); }, handles);
  if constexpr (sizeof...(Owners) == 1) {
    return (Owners(std::get<0>(handles)), ...);
  } else {
    return std::apply([](auto... handle) { return std::tuple<Owners...>(Owners(handle)...); },
                      handles);
  }
}

/// Calls a function that stores a text, and returns the text.
template <class Function, class... Arguments>
std::string text(Function function, const Arguments&... arguments) {
  std::string text(255, '\0');
  std::size_t length = 0;
  const auto store = [&] {
    return function(raw(arguments)..., text.data(), text.size() + 1, &length);
  };
  gpuint_status status = store();
  if (status == GPUINT_STATUS_BUFFER_TOO_SMALL) {
    text.resize(length);
    status = store();
  }
  check(status);
  text.resize(length);
  return text;
}

}  // namespace gpuint

#endif  // GPUINT_HPP
