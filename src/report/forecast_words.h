// Words and rows about a forecast that the terminal and the page share.
#pragma once

#include <string>
#include <vector>

#include "report/forecast_view.h"

namespace stint {

/// Three digits that count, without exponent: "0.0123", "4.56", "1234".
std::string shown_amount(double value);
/// "hour", "minute", "10 s", …
std::string shown_step(Duration step);
/// "17 days", "5 hours", "40 minutes", "now".
std::string shown_wait(Duration wait);

/// The horizon in about ten equal parts. The first row is headings.
std::vector<std::vector<std::string>> forecast_parts(const ForecastRow& row);
/// "the next 3 days".
std::string forecast_horizon(const ForecastView& view);
/// A row for each series: what was, what comes, when capacity runs out. The first row is headings.
std::vector<std::vector<std::string>> forecast_summary(const ForecastView& view);
/// What the past says about the error, a sentence each.
std::vector<std::string> forecast_record(const ForecastRow& row);
/// What it means for a capacity or commitment, a sentence each.
std::vector<std::string> outlook_sentences(const ForecastRow& row, const CapacityOutlook& outlook);

}  // namespace stint
