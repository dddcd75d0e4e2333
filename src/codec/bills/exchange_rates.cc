// Exchange rates in CSV (docs/formats.md), in two layouts. That of the European Central Bank's eurofxref files has a day a row and a
// column for each currency, each rate being what one euro is worth:
//   Date,USD,JPY,…            2026-11-20,1.1512,178.31,…,
// The other has a rate a row: `date,base,currency,rate`, also under the names of the bank's data portal (TIME_PERIOD,
// CURRENCY_DENOM, CURRENCY, OBS_VALUE). A rate that is "N/A", "NaN" or empty was not fixed on that day.
#include <array>
#include <vector>

#include "base/text.h"
#include "codec/csv_importer.h"
#include "model/exchange_rate.h"

namespace stint {
namespace {

using Names = std::array<std::string_view, 2>;
constexpr Names kRateDay = {"date", "time_period"}, kRateBase = {"base", "currency_denom"}, kRateOther = {"currency", "currency"},
                kRateValue = {"rate", "obs_value"};

/// "2026-11-20", and "20 November 2026" as the bank's file of one day has it.
Result<Instant> parse_rate_day(std::string_view text) {
  constexpr std::array<std::string_view, 12> kMonths = {"January", "February", "March",     "April",   "May",      "June",
                                                        "July",    "August",   "September", "October", "November", "December"};
  const auto parts = split(text, ' ');
  if (parts.size() == 3)
    for (size_t month = 0; month < kMonths.size(); ++month)
      if (equals_ignoring_case(parts[1], kMonths[month]) && parts[0].size() <= 2)
        return parse_instant(fmt::format("{}-{:02}-{:0>2}", parts[2], month + 1, parts[0]));
  if (text.size() != 10) return invalid("'{}' is no date: write it like 2026-11-20", excerpt(text));
  return parse_instant(text);
}

bool is_not_fixed(std::string_view text) {
  return text.empty() || equals_ignoring_case(text, "N/A") || equals_ignoring_case(text, "NaN");
}

/// @return error when it is no decimal number above zero and up to kMaxExchangeRate.
Result<Money> parse_rate(std::string_view text, Currency currency) {
  TRY_ASSIGN(const Money price, Money::parse(text, currency));
  if (price.count_nanos() <= 0 || price > Money::units(kMaxExchangeRate, currency))
    return invalid("'{}' is no exchange rate: write what one unit of the base is worth, above 0 and up to {}", excerpt(text),
                   kMaxExchangeRate);
  return price;
}

class ExchangeRatesImporter final : public CsvImporter {
 public:
  ExchangeRatesImporter(const ImportOptions& options, Sink& sink) : CsvImporter({}, options, sink) {}

 private:
  Status read_header(const CsvRecord& record) override {
    TRY_ASSIGN(const CsvHeader header, CsvHeader::create(record, {}));
    day_ = header.find_any(kRateDay);
    if (day_ < 0) return invalid("line {}: the header lacks the column date", record.line);
    value_ = header.find_any(kRateValue);
    return value_ >= 0 ? read_header_by_rate(record, header) : read_header_by_day(record, header);
  }

  Status read_header_by_rate(const CsvRecord& record, const CsvHeader& header) {
    base_ = header.find_any(kRateBase);
    other_ = header.find_any(kRateOther);
    if (base_ < 0 || other_ < 0)
      return invalid("line {}: the header lacks the column {}", record.line, base_ < 0 ? "base" : "currency");
    return {};
  }

  Status read_header_by_day(const CsvRecord& record, const CsvHeader& header) {
    for (size_t i = 0; i < header.size(); ++i) {
      if (static_cast<int>(i) == day_ || header.names()[i].empty()) continue;
      const auto currency = Currency::parse(header.names()[i]);
      if (!currency) return invalid("line {}: column {}: {}", record.line, i + 1, currency.error().message);
      columns_.emplace_back(static_cast<int>(i), *currency);
    }
    if (columns_.empty()) return invalid("line {}: the header names no currency beside the date", record.line);
    return {};
  }

  void read_row(const CsvRecord& record) override {
    const Status read = value_ >= 0 ? read_rate(record) : read_day(record);
    if (!read.ok()) reject(record, read.error().message);
  }

  Status read_rate(const CsvRecord& record) {
    TRY_ASSIGN(const Instant day, parse_rate_day(trim(record.at(day_))));
    TRY_ASSIGN(const Currency base, Currency::parse(trim(record.at(base_))));
    TRY_ASSIGN(const Currency other, Currency::parse(trim(record.at(other_))));
    if (base == other) return invalid("a rate from {} to itself", base.code());
    if (is_not_fixed(trim(record.at(value_)))) return {};
    TRY_ASSIGN(const Money price, parse_rate(trim(record.at(value_)), other));
    sink().exchange_rate({day, base, price});
    return {};
  }

  /// All rates of a row or none.
  Status read_day(const CsvRecord& record) {
    TRY_ASSIGN(const Instant day, parse_rate_day(trim(record.at(day_))));
    std::vector<ExchangeRate> rates;
    for (const auto& [column, currency] : columns_) {
      const std::string_view text = trim(record.at(column));
      if (is_not_fixed(text) || currency == euro_) continue;
      const auto price = parse_rate(text, currency);
      if (!price) return invalid("{}: {}", currency.code(), price.error().message);
      rates.push_back({day, euro_, *price});
    }
    for (const ExchangeRate& rate : rates)
      sink().exchange_rate(rate);
    return {};
  }

  int day_ = -1, base_ = -1, other_ = -1, value_ = -1;
  std::vector<std::pair<int, Currency>> columns_;  // of a file with a day a row
  const Currency euro_ = Currency::parse("EUR").value();
};

}  // namespace

std::unique_ptr<Importer> make_exchange_rates_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<ExchangeRatesImporter>(options, sink);
}

}  // namespace stint
