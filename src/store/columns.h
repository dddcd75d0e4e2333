// How model values lie in columns: one Column<T> per type, and the visitors that walk the fields of a row
// (store/rows.h) to name, bind and read them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "base/time.h"
#include "base/units.h"
#include "model/bill.h"
#include "model/fleet.h"
#include "model/price.h"
#include "model/workload.h"
#include "store/sqlite.h"

namespace stint {

/// Column<T>: how many columns a T takes (`width`), the suffix of the second one, the SQL literal that says
/// "not known" (`unknown`, where there is one), bind() and read(). read() gives none when the stored value cannot be a T.
template <typename T>
struct Column;

struct OneColumn {
  static constexpr int width = 1;
  static constexpr std::string_view second_suffix{};
};

template <>
struct Column<std::string> : OneColumn {
  static constexpr std::string_view unknown = "''";
  template <typename S>
  static void bind(S& s, int i, const std::string& v) {
    s.bind(i, std::string_view(v));
  }
  static std::optional<std::string> read(const Statement& s, int i) { return std::string(s.bytes(i)); }
};

template <>
struct Column<int64_t> : OneColumn {
  static constexpr std::string_view unknown = "0";
  template <typename S>
  static void bind(S& s, int i, int64_t v) {
    s.bind(i, v);
  }
  static std::optional<int64_t> read(const Statement& s, int i) { return s.integer(i); }
};

template <>
struct Column<int> : OneColumn {
  static constexpr std::string_view unknown = "0";
  template <typename S>
  static void bind(S& s, int i, int v) {
    s.bind(i, int64_t{v});
  }
  static std::optional<int> read(const Statement& s, int i) {
    const int64_t v = s.integer(i);
    if (v < INT32_MIN || v > INT32_MAX) return std::nullopt;
    return static_cast<int>(v);
  }
};

template <>
struct Column<bool> : OneColumn {
  static constexpr std::string_view unknown = "0";
  template <typename S>
  static void bind(S& s, int i, bool v) {
    s.bind(i, int64_t{v});
  }
  static std::optional<bool> read(const Statement& s, int i) { return s.integer(i) != 0; }
};

template <>
struct Column<Bytes> : OneColumn {
  static constexpr std::string_view unknown = "0";
  template <typename S>
  static void bind(S& s, int i, Bytes v) {
    s.bind(i, v.count());
  }
  static std::optional<Bytes> read(const Statement& s, int i) { return Bytes::of(s.integer(i)); }
};

template <>
struct Column<Instant> : OneColumn {
  template <typename S>
  static void bind(S& s, int i, Instant v) {
    s.bind(i, v.ns());
  }
  static std::optional<Instant> read(const Statement& s, int i) { return Instant::from_ns(s.integer(i)); }
};

template <>
struct Column<Duration> : OneColumn {
  template <typename S>
  static void bind(S& s, int i, Duration v) {
    s.bind(i, v.count_ns());
  }
  static std::optional<Duration> read(const Statement& s, int i) { return Duration::nanoseconds(s.integer(i)); }
};

template <>
struct Column<Currency> : OneColumn {
  template <typename S>
  static void bind(S& s, int i, Currency v) {
    s.bind(i, v.code());
  }
  static std::optional<Currency> read(const Statement& s, int i) {
    const auto currency = Currency::parse(s.bytes(i));
    return currency ? std::optional(*currency) : std::nullopt;
  }
};

template <>
struct Column<Money> {
  static constexpr int width = 2;
  static constexpr std::string_view second_suffix = "_currency";
  template <typename S>
  static void bind(S& s, int i, Money v) {
    s.bind(i, v.count_nanos());
    s.bind(i + 1, v.currency().code());
  }
  static std::optional<Money> read(const Statement& s, int i) {
    const auto currency = Currency::parse(s.bytes(i + 1));
    if (!currency) return std::nullopt;
    return Money::nanos(s.integer(i), *currency);
  }
};

template <>
struct Column<Rate> {
  static constexpr int width = 2;
  static constexpr std::string_view second_suffix = "_currency";
  template <typename S>
  static void bind(S& s, int i, Rate v) {
    Column<Money>::bind(s, i, v.per_hour());
  }
  static std::optional<Rate> read(const Statement& s, int i) {
    const auto money = Column<Money>::read(s, i);
    return money ? std::optional(Rate::per_hour(*money)) : std::nullopt;
  }
};

template <>
struct Column<GpuShare> {
  static constexpr int width = 2;
  static constexpr std::string_view second_suffix = "_total";
  template <typename S>
  static void bind(S& s, int i, GpuShare v) {
    s.bind(i, v.parts());
    s.bind(i + 1, v.total());
  }
  static std::optional<GpuShare> read(const Statement& s, int i) {
    if (s.integer(i) < 0 || s.integer(i + 1) <= 0) return std::nullopt;
    return GpuShare::of(s.integer(i), s.integer(i + 1));
  }
};

template <typename T>
struct Column<std::optional<T>> {
  static constexpr int width = Column<T>::width;
  static constexpr std::string_view second_suffix = Column<T>::second_suffix;
  static constexpr std::string_view unknown = "NULL";
  template <typename S>
  static void bind(S& s, int i, const std::optional<T>& v) {
    if (v) return Column<T>::bind(s, i, *v);
    for (int k = 0; k < width; ++k)
      s.bind_null(i + k);
  }
  static std::optional<std::optional<T>> read(const Statement& s, int i) {
    if (s.is_null(i)) return std::optional<T>();
    const auto value = Column<T>::read(s, i);
    if (!value) return std::nullopt;
    return value;
  }
};

/// Enumerations lie as their names, so that the file reads well and survives renumbering.
template <typename E, E kLast>
struct NamedColumn : OneColumn {
  static constexpr std::string_view unknown = "'unknown'";
  template <typename S>
  static void bind(S& s, int i, E v) {
    s.bind(i, name_of(v));
  }
  static std::optional<E> read(const Statement& s, int i) {
    const std::string_view text = s.bytes(i);
    for (int k = 0; k <= static_cast<int>(kLast); ++k)
      if (name_of(static_cast<E>(k)) == text) return static_cast<E>(k);
    return std::nullopt;
  }
};
template <>
struct Column<Market> : NamedColumn<Market, Market::kOwned> {};
template <>
struct Column<WorkloadKind> : NamedColumn<WorkloadKind, WorkloadKind::kNotebook> {};
template <>
struct Column<RunState> : NamedColumn<RunState, RunState::kNodeFail> {};
template <>
struct Column<ChargeCategory> : NamedColumn<ChargeCategory, ChargeCategory::kAdjustment> {};
template <>
struct Column<SpendKind> : NamedColumn<SpendKind, SpendKind::kOther> {};
template <>
struct Column<CommitmentTerm> : NamedColumn<CommitmentTerm, CommitmentTerm::kThreeYears> {};
template <>
struct Column<PaymentOption> : NamedColumn<PaymentOption, PaymentOption::kAllUpfront> {};

/// Lists as JSON text.
template <>
struct Column<std::vector<Tag>> : OneColumn {
  static std::string to_json(const std::vector<Tag>& v);
  template <typename S>
  static void bind(S& s, int i, const std::vector<Tag>& v) {
    s.bind(i, std::string_view(to_json(v)));
  }
  /// Without what is no tag of the bill: kSourceColumnsTag.
  static std::optional<std::vector<Tag>> read(const Statement& s, int i);
  /// That one, out of the stored text.
  static std::string source_columns(std::string_view stored);
};
template <>
struct Column<std::vector<RunAllocation>> : OneColumn {
  static std::string to_json(const std::vector<RunAllocation>& v);
  template <typename S>
  static void bind(S& s, int i, const std::vector<RunAllocation>& v) {
    s.bind(i, std::string_view(to_json(v)));
  }
  static std::optional<std::vector<RunAllocation>> read(const Statement& s, int i);
};

// ── Visitors: called as visit("name", field) for every field of a row, in the order of its columns. ──

/// Collects the names of all columns.
struct NameColumns {
  std::vector<std::string> names;
  template <typename T>
  void operator()(std::string_view name, const T&) {
    names.emplace_back(name);
    if constexpr (Column<T>::width == 2) names.push_back(std::string(name) + std::string(Column<T>::second_suffix));
  }
};

/// For rows that are merged: `a = the new value, unless it says nothing`.
struct MergeClauses {
  std::vector<std::string> clauses;
  template <typename T>
  void operator()(std::string_view name, const T&) {
    const auto clause = [&](const std::string& column) {
      clauses.push_back(
          fmt::format("{0} = CASE WHEN excluded.{1} IS {2} THEN {0} ELSE excluded.{0} END", column, name, Column<T>::unknown));
    };
    clause(std::string(name));
    if constexpr (Column<T>::width == 2) clause(std::string(name) + std::string(Column<T>::second_suffix));
  }
};

/// Binds from parameter `next` on.
template <typename S>
struct BindColumns {
  S& statement;
  int next = 1;
  template <typename T>
  void operator()(std::string_view, const T& value) {
    Column<T>::bind(statement, next, value);
    next += Column<T>::width;
  }
};

/// Reads from column `next` on; `damaged` names the first column that cannot be read.
struct ReadColumns {
  const Statement& statement;
  int next = 0;
  std::optional<std::string> damaged;
  template <typename T>
  void operator()(std::string_view name, T& value) {
    if (auto read = Column<T>::read(statement, next))
      value = std::move(*read);
    else if (!damaged)
      damaged = std::string(name);
    next += Column<T>::width;
  }
};

}  // namespace stint
