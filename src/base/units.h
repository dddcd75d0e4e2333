// Bytes and shares of a GPU: integers with a unit in the type.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "base/check.h"

namespace stint {

class Bytes {
 public:
  constexpr Bytes() = default;
  static constexpr Bytes of(int64_t n) { return Bytes(n); }
  static constexpr Bytes mebi(int64_t n) { return Bytes(n << 20); }
  static constexpr Bytes gibi(int64_t n) { return Bytes(n << 30); }
  /// Rounded to the byte; for data sheets that give 79.6 GiB.
  static constexpr Bytes gibi(double n) { return Bytes(static_cast<int64_t>(n * 1073741824.0 + 0.5)); }
  [[nodiscard]] constexpr int64_t count() const { return n_; }
  [[nodiscard]] constexpr double to_gibi() const { return static_cast<double>(n_) / 1073741824.0; }
  constexpr auto operator<=>(const Bytes&) const = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.n_ + b.n_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.n_ - b.n_); }
  friend constexpr Bytes operator*(Bytes a, int64_t k) { return Bytes(a.n_ * k); }

 private:
  explicit constexpr Bytes(int64_t n) : n_(n) {}
  int64_t n_ = 0;
};

/// Integer parts of a named total: 3 of 7 MIG slices, 500 of 1000 milli-GPU. Never 0.33.
class GpuShare {
 public:
  static constexpr int64_t kMilliPerGpu = 1000;
  constexpr GpuShare() = default;  // nothing of one GPU
  /// @param parts  0 … total. @param total  > 0.
  static constexpr GpuShare of(int64_t parts, int64_t total) { return GpuShare(parts, total); }
  static constexpr GpuShare milli(int64_t m) { return GpuShare(m, kMilliPerGpu); }
  static constexpr GpuShare whole() { return GpuShare(1, 1); }
  [[nodiscard]] constexpr int64_t parts() const { return parts_; }
  [[nodiscard]] constexpr int64_t total() const { return total_; }
  [[nodiscard]] constexpr double fraction() const { return static_cast<double>(parts_) / static_cast<double>(total_); }
  /// Equal as fractions: 1/2 == 500/1000.
  friend constexpr bool operator==(GpuShare a, GpuShare b) { return a.parts_ * b.total_ == b.parts_ * a.total_; }
  friend constexpr auto operator<=>(GpuShare a, GpuShare b) { return a.parts_ * b.total_ <=> b.parts_ * a.total_; }

 private:
  constexpr GpuShare(int64_t parts, int64_t total) : parts_(parts), total_(total) {}
  int64_t parts_ = 0;
  int64_t total_ = 1;
};

}  // namespace stint
