// Which nodes cost the same at all times: the markets that a scheduler is told of.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "sched/time_price.h"

namespace stint::sched {

/// Nodes with equal keys are one market; markets ascend by key.
/// @param key_of      of a node's number, as an optional; none = there is no such node.
/// @param windows_of  of a node's number: prices of one GPU. Asked once for each market.
template <typename KeyOf, typename WindowsOf>
std::vector<MarketPrices> markets_by(uint32_t nodes, KeyOf&& key_of, WindowsOf&& windows_of) {
  using Key = typename std::invoke_result_t<KeyOf, uint32_t>::value_type;
  std::map<Key, MarketPrices> markets;
  for (uint32_t n = 0; n < nodes; ++n) {
    std::optional<Key> key = key_of(n);
    if (!key) continue;
    const auto [market, is_new] = markets.try_emplace(std::move(*key));
    market->second.nodes.emplace_back(n);
    if (is_new) market->second.windows = windows_of(n);
  }
  std::vector<MarketPrices> all;
  for (auto& [key, market] : markets)
    all.push_back(std::move(market));
  return all;
}

}  // namespace stint::sched
