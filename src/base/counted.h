// A number and what it counts: "1 GPU", "2 jobs".
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <string>
#include <string_view>

namespace stint {

/// The noun's plural as English mostly forms it: "jobs", "batches", "policies".
inline std::string plural_of(std::string_view noun) {
  const auto ends_in = [&](std::string_view ending) { return noun.ends_with(ending); };
  if (ends_in("s") || ends_in("x") || ends_in("ch") || ends_in("sh")) return std::string(noun) + "es";
  if (noun.size() > 1 && ends_in("y") && std::string_view("aeiou").find(noun[noun.size() - 2]) == std::string_view::npos)
    return std::string(noun.substr(0, noun.size() - 1)) + "ies";
  return std::string(noun) + "s";
}

/// "1 job", "0 jobs"; of a phrase the last word counts: "2 bill lines".
std::string counted(std::integral auto n, std::string_view noun) {
  return n == 1 ? fmt::format("1 {}", noun) : fmt::format("{} {}", n, plural_of(noun));
}

/// Where a verb goes along: "1 machine has", "2 machines have".
std::string counted(std::integral auto n, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}

}  // namespace stint
