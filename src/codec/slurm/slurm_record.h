// One record of scontrol's text: KEY=VALUE words (see slurm_text.cc).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stint {

struct SlurmRecord {
  uint64_t line = 0;                                           ///< of its first word
  std::map<std::string, std::string, std::less<>> fields;      ///< the first of a name counts
  std::vector<std::pair<std::string, std::string>> node_gres;  ///< Nodes=… GRES=… of -d, in order
  std::string* last = nullptr;

  /// The next word of it.
  void take(std::string_view word);
  /// Empty for absent and for Slurm's words for nothing.
  [[nodiscard]] std::string text(std::string_view name) const;
};

}  // namespace stint
