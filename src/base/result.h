// Result<T>: a value, or an error that says what, where and what to do next.
//
// Expected failures (bad input, absent file, unknown price) travel as Result; broken invariants are
// CHECKs. Exceptions of third-party libraries are caught where the library is called.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/check.h"

namespace stint {

/// A new code only where a caller acts differently on it.
enum class ErrorCode {
  kInvalidInput,  ///< malformed, contradictory or out of range; the message names file and line
  kNotFound,      ///< no such file, type, price, column
  kUnavailable,   ///< the outside (server, device, library) is absent or does not answer
  kConflict,      ///< contradicts what is already stored
  kInternal,      ///< the outside failed in a way that can only be reported
};

struct Error {
  ErrorCode code = ErrorCode::kInvalidInput;
  std::string message;
};

template <typename... Args>
[[nodiscard]] Error make_error(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, fmt::format(format, std::forward<Args>(args)...)};
}

/// The usual one: the input is wrong.
template <typename... Args>
[[nodiscard]] Error invalid(fmt::format_string<Args...> format, Args&&... args) {
  return Error{ErrorCode::kInvalidInput, fmt::format(format, std::forward<Args>(args)...)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  using Value = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] T& value() & {
    CHECK(ok(), "value() of a failed result: {}", std::get<1>(state_).message);
    return std::get<0>(state_);
  }
  [[nodiscard]] const T& value() const& { return const_cast<Result*>(this)->value(); }
  [[nodiscard]] T&& value() && { return std::move(value()); }
  [[nodiscard]] T& operator*() & { return value(); }
  [[nodiscard]] const T& operator*() const& { return value(); }
  [[nodiscard]] T* operator->() { return &value(); }
  [[nodiscard]] const T* operator->() const { return &value(); }

  [[nodiscard]] const Error& error() const& {
    CHECK(!ok(), "error() of a good result");
    return std::get<1>(state_);
  }
  [[nodiscard]] Error&& error() && {
    CHECK(!ok(), "error() of a good result");
    return std::get<1>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

/// Success or an error, no value.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  [[nodiscard]] bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  [[nodiscard]] const Error& error() const {
    CHECK(error_.has_value(), "error() of a good result");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace stint

#define STINT_CONCAT_(a, b) a##b
#define STINT_CONCAT(a, b) STINT_CONCAT_(a, b)

/// TRY(expr): returns the error of a Result or Status from the enclosing function.
#define TRY(expression)                                                                              \
  do {                                                                                               \
    if (auto stint_try_ = (expression); !stint_try_.ok()) return ::stint::Error(stint_try_.error()); \
  } while (false)

/// TRY_ASSIGN(auto x, expr): x is the value, or the enclosing function returns the error.
#define TRY_ASSIGN(target, expression) TRY_ASSIGN_(STINT_CONCAT(stint_result_, __LINE__), target, expression)
#define TRY_ASSIGN_(name, target, expression)     \
  auto name = (expression);                       \
  if (!name.ok()) return std::move(name).error(); \
  target = std::move(name).value()
