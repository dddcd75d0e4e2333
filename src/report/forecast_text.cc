#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/forecast_words.h"
#include "report/short_text.h"

namespace stint {
namespace {

constexpr size_t kPictureWidth = 88;
constexpr size_t kPictureHeight = 9;
constexpr size_t kLabelWidth = 9;

/// One column of the picture: a stretch of the past or of the coming time. Absent = nothing known.
struct PictureColumn {
  bool coming = false;
  std::optional<double> mean;
  double low = 0, high = 0;
};

template <typename Take>
void add_columns(size_t count, size_t columns, std::vector<PictureColumn>& out, Take&& take) {
  for (size_t c = 0; c < columns; ++c) {
    const size_t begin = c * count / columns;
    const size_t end = std::max(begin + 1, (c + 1) * count / columns);
    PictureColumn column;
    double sum = 0;
    double known = 0;
    for (size_t i = begin; i < std::min(end, count); ++i)
      take(i, column, sum, known);
    if (known > 0) column.mean = sum / known;
    out.push_back(column);
  }
}

std::vector<PictureColumn> columns_of(const ForecastRow& row, Screen screen) {
  const auto& values = row.series.values;
  const auto& points = row.forecast.points;
  // The past is shown three times as long as what is coming, as far as there is so much.
  const size_t past = std::min(values.size(), points.size() * 3);
  const size_t room = screen.width == 0 ? kPictureWidth : std::max<size_t>(screen.width, 40) - kLabelWidth - 1;
  const size_t width = std::min({kPictureWidth, room, past + points.size()});
  const size_t coming = std::max<size_t>(1, width * points.size() / (past + points.size()));
  std::vector<PictureColumn> columns;
  add_columns(past, width - coming, columns, [&](size_t i, PictureColumn& column, double& sum, double& known) {
    const auto& value = values[values.size() - past + i];
    if (!value) return;
    if (known == 0) column.low = column.high = *value;
    column.low = std::min(column.low, *value);
    column.high = std::max(column.high, *value);
    sum += *value;
    known += 1;
  });
  add_columns(points.size(), coming, columns, [&](size_t i, PictureColumn& column, double& sum, double& known) {
    if (known == 0) {
      column.low = points[i].p5;
      column.high = points[i].p95;
    }
    column.coming = true;
    column.low = std::min(column.low, points[i].p5);
    column.high = std::max(column.high, points[i].p95);
    sum += points[i].expected;
    known += 1;
  });
  return columns;
}

/// Past: a bar to the mean, a shade to the highest value. Coming: a shade over the 90 % interval, a dot at the expected.
std::string picture(const ForecastRow& row, Screen screen) {
  const std::vector<PictureColumn> columns = columns_of(row, screen);
  double top = 0;
  double bottom = 0;
  for (const PictureColumn& column : columns) {
    top = std::max(top, column.high);
    bottom = std::min(bottom, column.low);
  }
  double limit = -HUGE_VAL;
  for (const CapacityOutlook& outlook : row.outlooks)
    if (outlook.limit.kind == CapacityLimit::Kind::kCapacity && outlook.limit.amount < 3 * top) limit = outlook.limit.amount;
  top = std::max(top, limit);
  if (top <= bottom) return {};
  const double cell = (top - bottom) / kPictureHeight;
  std::string out;
  for (size_t line = kPictureHeight; line-- > 0;) {
    const double low = bottom + cell * static_cast<double>(line);
    const double high = low + cell;
    const bool labelled = line + 1 == kPictureHeight || line == 0;
    out += fmt::format("{:>{}} ", labelled ? shown_amount(line == 0 ? bottom : top) : "", kLabelWidth);
    for (const PictureColumn& column : columns) {
      const bool on_limit = low < limit && limit <= high;
      const std::string_view nothing = on_limit ? "┄" : " ";
      if (!column.mean) {
        out += nothing;
      } else if (column.coming) {
        const bool expected = low <= *column.mean && (*column.mean < high || line + 1 == kPictureHeight);
        out += toned(expected ? "●" : column.low < high && column.high > low ? "▒" : nothing, Tone::kStrong, screen);
      } else {
        const double middle = (low + high) / 2;
        out += column.mean >= middle ? "█" : column.high >= middle ? "░" : nothing;
      }
    }
    out += "\n";
  }
  return out;
}

std::string table_of(const ForecastRow& row, Screen screen) {
  const std::vector<std::vector<std::string>> rows = forecast_parts(row);
  std::vector<Column> columns;
  for (const std::string& heading : rows[0])
    columns.push_back({heading, columns.empty() ? Align::kLeft : Align::kRight});
  Table table(columns);
  for (size_t r = 1; r < rows.size(); ++r)
    table.add_row(rows[r]);
  return table.render(screen, 2);
}

/// A line for each series, before their pictures and tables.
std::string summary_table(const ForecastView& view, Screen screen) {
  const std::vector<std::vector<std::string>> rows = forecast_summary(view);
  Table table({{rows[0][0]},
               {rows[0][1], Align::kLeft, 0, 3},
               {rows[0][2], Align::kRight},
               {rows[0][3], Align::kRight},
               {rows[0][4], Align::kRight},
               {rows[0][5], Align::kRight, 0, 2},
               {rows[0][6], Align::kLeft, 40, 1}});
  for (size_t r = 1; r < rows.size(); ++r)
    table.add_row(rows[r]);
  return heading("Summary: " + forecast_horizon(view), screen) + table.render(screen, 2) + "\n";
}

std::string row_text(const ForecastRow& row, Screen screen) {
  const Forecast& f = row.forecast;
  std::string out = toned(row.series.name, Tone::kStrong, screen) +
                    fmt::format(" ({}), each {}\n  {} to {}, {} of {} values known; the next {}\n\n", row.series.unit,
                                shown_step(f.step), short_utc(row.series.begin), short_utc(row.series.end()), f.known,
                                row.series.values.size(), shown_wait(f.step * static_cast<int64_t>(f.points.size())));
  if (const std::string drawn = picture(row, screen); !drawn.empty())
    out += drawn + "          █ mean and ░ peak of the past; coming: ● expected, ▒ 90 % interval" +
           (row.outlooks.empty() ? "\n\n" : "; ┄ capacity\n\n");
  out += table_of(row, screen) + "\n";
  for (const CapacityOutlook& outlook : row.outlooks)
    for (const std::string& sentence : outlook_sentences(row, outlook))
      out += wrapped(sentence, screen, 2);
  for (const std::string& sentence : forecast_record(row))
    out += wrapped(sentence, screen, 2);
  return out + "\n";
}

}  // namespace

std::string forecast_text(const ForecastView& view, Screen screen) {
  std::string out = fmt::format("Forecast from {}\n", view.source) + summary_table(view, screen);
  for (const ForecastRow& row : view.rows)
    out += row_text(row, screen);
  return fitted(out + bullets(view.notes, screen), screen);
}

}  // namespace stint
