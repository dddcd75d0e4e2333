// A binary heap of small integers by key, in which a member can be found, moved and taken out from the middle.
//
// Where a member lies is kept in an array the heap is given, so that heaps that share no member can share one array. Nothing is
// allocated once the array and the room for entries are there. Equal keys come out by lower index.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace stint::batching {

template <typename Key>
class IndexedHeap {
 public:
  static constexpr uint32_t kAbsent = UINT32_MAX;

  /// @param place  one entry per possible member, each kAbsent; outlives the heap. @param at_once  most members at the same time.
  IndexedHeap(std::span<uint32_t> place, size_t at_once) : place_(place) { entries_.reserve(at_once); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] uint32_t top() const { return entries_.front().member; }
  [[nodiscard]] const Key& top_key() const { return entries_.front().key; }

  /// Puts it in, or moves it to its new key.
  void put(uint32_t member, Key key) {
    uint32_t at = place_[member];
    if (at == kAbsent) {
      at = static_cast<uint32_t>(entries_.size());
      entries_.push_back({key, member});
      place_[member] = at;
    } else {
      entries_[at].key = key;
    }
    settle(at);
  }
  /// Takes it out; nothing happens when it is not in.
  void remove(uint32_t member) {
    const uint32_t at = place_[member];
    if (at == kAbsent) return;
    place_[member] = kAbsent;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (at == entries_.size()) return;
    entries_[at] = last;
    place_[last.member] = at;
    settle(at);
  }

 private:
  struct Entry {
    Key key;
    uint32_t member = 0;
  };
  [[nodiscard]] static bool before(const Entry& a, const Entry& b) {
    return a.key < b.key || (!(b.key < a.key) && a.member < b.member);
  }
  void swap_at(uint32_t a, uint32_t b) {
    std::swap(entries_[a], entries_[b]);
    place_[entries_[a].member] = a;
    place_[entries_[b].member] = b;
  }
  void settle(uint32_t at) {
    while (at > 0 && before(entries_[at], entries_[(at - 1) / 2])) {
      swap_at(at, (at - 1) / 2);
      at = (at - 1) / 2;
    }
    for (;;) {
      uint32_t least = at;
      for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < entries_.size(); ++child)
        if (before(entries_[child], entries_[least])) least = child;
      if (least == at) return;
      swap_at(at, least);
      at = least;
    }
  }

  std::vector<Entry> entries_;
  std::span<uint32_t> place_;  // of a member in entries_
};

}  // namespace stint::batching
