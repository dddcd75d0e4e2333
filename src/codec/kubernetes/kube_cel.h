// Conditions on devices as DeviceClasses and ResourceClaims state them: the part of CEL that is used for that, and nothing else.
//
// Understood: device.driver, device.attributes["domain"].name, device.capacity["domain"].name; texts, whole numbers, true and false, lists;
// && || ! == != < <= > >= in; startsWith, endsWith, contains, lowerAscii, upperAscii, compareTo, isGreaterThan, isLessThan; quantity("40Gi"),
// semver("1.2.3"), has(…); matches(…) of characters, `.`, `.*`, `^` and `$`. What is missing is an error, as in CEL: `&&` and `||` pass over it where the
// other side decides.
//
// Source: Kubernetes documentation, "Dynamic Resource Allocation", "Common Expression Language in Kubernetes"; CEL specification, "Language
// Definition".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "base/result.h"

namespace stint {

struct KubeVersion {
  std::tuple<int64_t, int64_t, int64_t> parts;
  auto operator<=>(const KubeVersion&) const = default;
};
/// "1.2.3"; a "v" before it and what follows the numbers are left out. @return error for any other text.
Result<KubeVersion> parse_kube_version(std::string_view text);

using KubeAttribute = std::variant<bool, int64_t, std::string, KubeVersion>;

/// Of a ResourceSlice. Names are whole: "gpu.nvidia.com/productName".
struct KubeDevice {
  std::string name;
  std::map<std::string, KubeAttribute, std::less<>> attributes;
  std::map<std::string, int64_t, std::less<>> capacity;  ///< thousandths
  std::string why_not;  ///< it cannot be given out here: "is part of another device", "is tainted"; "" = it can
};

class KubeCondition {
 public:
  /// @return error that says what of it is not understood.
  static Result<KubeCondition> parse(std::string_view text);
  /// false also where it refers to what the device does not have.
  [[nodiscard]] bool holds(const KubeDevice& device, std::string_view driver) const;

  struct Term;

 private:
  explicit KubeCondition(std::shared_ptr<const Term> term) : term_(std::move(term)) {}
  std::shared_ptr<const Term> term_;
};

}  // namespace stint
