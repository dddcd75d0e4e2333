// Values as bytes and back, for snapshots that the same program reads again: numbers as they lie in memory, everything else by
// its parts. Not a format between machines: whoever keeps such bytes keeps a version and a checksum beside them.
//
// The parts of a type are named once, for both directions: `Parts::of(archive, value)` calls archive(part, part, …).
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace stint {

/// Copied as it lies in memory.
template <typename T>
concept Flat = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>;

template <typename Parts>
class PackedWriter {
 public:
  static constexpr bool kReads = false;
  /// @param room  bytes to be expected.
  explicit PackedWriter(size_t room = 0) { bytes_.reserve(room); }

  template <typename... T>
  void operator()(const T&... parts) {
    (put(parts), ...);
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  void raw(const void* from, size_t size) { bytes_.append(static_cast<const char*>(from), size); }

  template <typename T>
  void put(const T& value) {
    if constexpr (Flat<T>)
      raw(&value, sizeof value);
    else
      Parts::of(*this, const_cast<T&>(value));  // which only reads when it is given a writer
  }
  void put(const std::string& text) {
    put(text.size());
    raw(text.data(), text.size());
  }
  template <typename T>
  void put(const std::vector<T>& values) {
    put_all(values);
  }
  template <typename T>
  void put(const std::deque<T>& values) {
    put_all(values);
  }
  template <typename T, size_t N>
    requires(!Flat<T>)
  void put(const std::array<T, N>& values) {
    for (const T& value : values)
      put(value);
  }
  template <typename T>
    requires(!Flat<T>)
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <typename A, typename B>
    requires(!Flat<std::pair<A, B>>)
  void put(const std::pair<A, B>& pair) {
    put(pair.first);
    put(pair.second);
  }
  template <typename K, typename V, typename... Of>
  void put(const std::map<K, V, Of...>& values) {
    put_all(values);
  }
  template <typename K, typename... Of>
  void put(const std::set<K, Of...>& values) {
    put_all(values);
  }
  template <typename Values>
  void put_all(const Values& values) {
    using T = typename Values::value_type;
    put(values.size());
    put(static_cast<uint32_t>(sizeof(T)));
    for (const T& value : values)
      put(value);
  }

  std::string bytes_;
};

/// Reads what a PackedWriter with the same Parts wrote. Never past the end: bytes that are no such thing make it fail.
template <typename Parts>
class PackedReader {
 public:
  static constexpr bool kReads = true;

  explicit PackedReader(std::string_view bytes) : left_(bytes) {}
  template <typename... T>
  void operator()(T&... parts) {
    (get(parts), ...);
  }
  /// Everything was there, and nothing is left.
  [[nodiscard]] bool finished() const { return ok_ && left_.empty(); }
  [[nodiscard]] bool ok() const { return ok_; }
  void fail() {
    ok_ = false;
    left_ = {};
  }

 private:
  bool raw(void* to, size_t size) {
    if (size > left_.size()) {
      fail();
      return false;
    }
    std::memcpy(to, left_.data(), size);
    left_.remove_prefix(size);
    return true;
  }

  template <typename T>
  void get(T& value) {
    if constexpr (Flat<T>)
      raw(static_cast<void*>(&value), sizeof value);
    else
      Parts::of(*this, value);
  }
  /// Nothing takes less than a byte, so that a wrong count cannot ask for more memory than there are bytes.
  size_t count(size_t smallest) {
    size_t n = 0;
    get(n);
    if (n > left_.size() / smallest) fail();
    return ok_ ? n : 0;
  }
  void get(std::string& text) {
    const size_t n = count(1);
    text.assign(left_.substr(0, n));
    left_.remove_prefix(n);
  }
  template <typename T>
  void get(std::vector<T>& values) {
    get_all(values);
  }
  template <typename T>
  void get(std::deque<T>& values) {
    get_all(values);
  }
  template <typename T, size_t N>
    requires(!Flat<T>)
  void get(std::array<T, N>& values) {
    for (T& value : values)
      get(value);
  }
  template <typename T>
    requires(!Flat<T>)
  void get(std::optional<T>& value) {
    bool has = false;
    get(has);
    value.reset();
    if (has && ok_) get(value.emplace(Parts::template fresh<T>()));
  }
  template <typename A, typename B>
    requires(!Flat<std::pair<A, B>>)
  void get(std::pair<A, B>& pair) {
    get(pair.first);
    get(pair.second);
  }
  template <typename K, typename V, typename... Of>
  void get(std::map<K, V, Of...>& values) {
    get_each(values, [&] {
      std::pair<K, V> entry;
      get(entry);
      return entry;
    });
  }
  template <typename K, typename... Of>
  void get(std::set<K, Of...>& values) {
    get_each(values, [&] {
      K key{};
      get(key);
      return key;
    });
  }
  /// Keys ascend, as they were written.
  template <typename Values, typename Next>
  void get_each(Values& values, Next next) {
    const size_t n = count(1);
    uint32_t size = 0;
    get(size);
    if (size != sizeof(typename Values::value_type)) fail();
    values.clear();
    for (size_t i = 0; i < n && ok_; ++i)
      values.insert(values.end(), next());
    if (values.size() != n) fail();  // one key twice
  }
  template <typename Values>
  void get_all(Values& values) {
    using T = typename Values::value_type;
    const size_t n = count(Flat<T> ? sizeof(T) : 1);
    uint32_t size = 0;
    get(size);
    if (size != sizeof(T)) fail();  // written by a program in which the type is another
    values.clear();
    if constexpr (requires { values.reserve(n); }) {
      if (ok_ && Flat<T>) values.reserve(n);
    }
    for (size_t i = 0; i < n && ok_; ++i)
      get(values.emplace_back(Parts::template fresh<T>()));
  }

  std::string_view left_;
  bool ok_ = true;
};

}  // namespace stint
