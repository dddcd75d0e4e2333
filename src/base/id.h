// Strong ids: a NodeId is not a GpuId. Values are dense indexes given out by whoever owns the table.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace stint {

template <typename Tag>
class Id {
 public:
  constexpr Id() = default;  // invalid
  explicit constexpr Id(uint32_t index) : index_(index) {}
  [[nodiscard]] constexpr uint32_t index() const { return index_; }
  [[nodiscard]] constexpr bool valid() const { return index_ != kInvalid; }
  constexpr auto operator<=>(const Id&) const = default;

 private:
  static constexpr uint32_t kInvalid = UINT32_MAX;
  uint32_t index_ = kInvalid;
};

}  // namespace stint

template <typename Tag>
struct std::hash<stint::Id<Tag>> {
  size_t operator()(stint::Id<Tag> id) const noexcept { return std::hash<uint32_t>()(id.index()); }
};
