#include "catalog/measured_pairs.h"

#include <algorithm>

#include "catalog/tables.h"

namespace stint {
namespace {

std::string without_separators(std::string text) {
  std::ranges::replace_if(text, [](char c) { return c == ',' || c == '"' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace

std::string write_pairs(std::span<const PairMeasurement> rows) {
  std::string csv = fmt::format("{}\n", fmt::join(kPairColumns, ","));
  for (const PairMeasurement& m : rows)
    csv += fmt::format("{},{},{},{},{:.6g},{:.6g},{:.6g},{},{},{}\n", without_separators(m.gpu_model), name_of(m.mode),
                       without_separators(m.workload), without_separators(m.neighbour), m.median, m.lowest, m.highest, m.repeats,
                       without_separators(m.source), format_utc(m.as_of));
  return csv;
}

MeasuredPairs::MeasuredPairs(std::span<const PairMeasurement> rows) {
  for (const PairMeasurement& row : rows) {
    const auto [known, is_new] = newest_.try_emplace({row.gpu_model, row.mode, row.workload, row.neighbour}, row);
    if (!is_new && known->second.as_of <= row.as_of) known->second = row;
  }
}

std::optional<double> MeasuredPairs::slowed(std::string_view gpu_model, SharingMode mode, std::string_view workload,
                                            std::string_view neighbour) const {
  const auto found = newest_.find({std::string(gpu_model), mode, std::string(workload), std::string(neighbour)});
  if (found == newest_.end()) return std::nullopt;
  return std::max(1.0, found->second.median);
}

}  // namespace stint
