#include "model/mig_ask.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "model/mig.h"

namespace stint {

Result<std::vector<MigAsk>> parse_mig_asks(std::string_view text) {
  constexpr int64_t kMostInstances = 1'000;
  std::vector<MigAsk> asks;
  if (trim(text).empty()) return asks;
  for (const std::string_view part : split(trim(text), ' ')) {
    const size_t x = part.find('x');
    const auto count = x == std::string_view::npos ? std::optional<int64_t>(1) : parse_int(part.substr(0, x));
    const std::string profile(x == std::string_view::npos ? part : part.substr(x + 1));
    if (!count || *count < 1 || *count > kMostInstances || profile.empty() || profile[0] < '1' || profile[0] > '7')
      return invalid("'{}' is not MIG profiles such as 2x1g.10gb", excerpt(text));
    auto known = std::ranges::find(asks, profile, &MigAsk::profile);
    if (known == asks.end()) known = asks.insert(known, {.profile = profile, .count = 0});
    if (known->count + *count > kMostInstances)
      return invalid("'{}' asks for more than {} MIG instances of a profile", excerpt(text), kMostInstances);
    known->count += static_cast<int32_t>(*count);
  }
  return asks;
}

std::vector<MigAsk> mig_asks_of(std::string_view text) {
  auto asks = parse_mig_asks(text);
  if (asks.ok()) return std::move(asks).value();
  return {{.profile = std::string(text), .count = 1}};
}

std::string mig_text(std::span<const MigAsk> asks) {
  std::string text;
  for (const MigAsk& ask : asks)
    text += fmt::format("{}{}{}", text.empty() ? "" : " ", ask.count == 1 ? "" : fmt::format("{}x", ask.count), ask.profile);
  return text;
}

int64_t compute_milli(std::string_view gpu_model, std::span<const MigAsk> asks) {
  int64_t milli = 0;
  for (const MigAsk& ask : asks)
    milli += ask.count * compute_milli(gpu_model, ask.profile);
  return milli;
}

}  // namespace stint
