// What a forecast shows: series by series the past, what is coming and how sure that is, and what it means for capacity.
#pragma once

#include <string>
#include <vector>

#include "advise/plan/capacity_outlook.h"
#include "report/table.h"
#include "telemetry/demand_series.h"
#include "telemetry/forecast.h"

namespace stint {

struct ForecastRow {
  DemandSeries series;
  Forecast forecast;
  std::vector<CapacityOutlook> outlooks;  ///< none: nothing to hold it against
};

struct ForecastView {
  std::string source;              ///< the file, in words
  std::vector<ForecastRow> rows;   ///< not empty
  std::vector<std::string> notes;  ///< what was left out or assumed
};

/// A picture and a table per series, then how it would have done before.
std::string forecast_text(const ForecastView& view, Screen screen);
/// See docs/formats.md, "Forecast".
std::string forecast_json(const ForecastView& view);
/// One self-contained page without scripts.
std::string forecast_html(const ForecastView& view);

}  // namespace stint
