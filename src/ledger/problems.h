// What the ledger could not do, gathered so that a thousand lines with one cause make one sentence.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/money.h"

namespace stint {

class Problems {
 public:
  /// @param what  the same for all nodes it is true of; says the remedy.
  void add_node(const std::string& what, const std::string& node) { nodes_[what].push_back(node); }
  /// Money of GPU instances that no node was found for. @param resource  type, region and id as the bill has them.
  void add_line(const std::string& resource, Money amount);
  [[nodiscard]] std::vector<std::string> texts() const;

 private:
  struct Lines {
    size_t count = 0;
    Money amount;
  };
  std::map<std::string, std::vector<std::string>> nodes_;
  std::map<std::string, Lines> lines_;
};

}  // namespace stint
