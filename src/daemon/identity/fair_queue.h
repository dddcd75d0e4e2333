// A line of bounded length in which no address holds up the others: each is served in turn, and where the line is full the one that has most
// in it gives way.
//
// A value; for one thread at a time.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace stint {

template <typename T>
class FairQueue {
 public:
  explicit FairQueue(size_t most) : most_(most) {}

  /// @return what found no place: this one, or the newest of the address that has most waiting
  std::optional<T> push(const std::string& address, T item) {
    std::optional<T> out;
    if (size_ >= most_) {
      const auto longest = std::ranges::max_element(lines_, {}, [](const auto& line) { return line.second.size(); });
      const auto own = lines_.find(address);
      if (longest->second.size() <= (own == lines_.end() ? 0 : own->second.size()) + 1) return item;
      out = std::move(longest->second.back());
      longest->second.pop_back();
      --size_;  // it had two at the least: its line stays
    }
    lines_[address].push_back(std::move(item));
    ++size_;
    return out;
  }

  /// The oldest of the address whose turn it is: the next in order behind the one served last. Not when empty().
  T pop() {
    auto line = lines_.upper_bound(served_);
    if (line == lines_.end()) line = lines_.begin();
    served_ = line->first;
    T item = std::move(line->second.front());
    line->second.pop_front();
    if (line->second.empty()) lines_.erase(line);
    --size_;
    return item;
  }

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }

 private:
  size_t most_;
  size_t size_ = 0;
  std::map<std::string, std::deque<T>> lines_;  ///< none is empty
  std::string served_;
};

}  // namespace stint
