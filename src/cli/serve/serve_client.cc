#include "cli/serve/serve_client.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "codec/json_mistake.h"
#include "codec/serving/infer_wire.h"
#include "daemon/front.h"
#include "host/file.h"
#include "host/http_client.h"
#include "serve/random_values.h"

namespace stint {
namespace {

/// Of a dimension that requests set.
constexpr int64_t kFreeSize = 16;

/// Seconds since any fixed moment.
std::optional<double> time_in(std::string_view text) {
  const std::string_view plain = trim(text);
  if (const std::optional<double> number = parse_number(plain)) return number;
  // Date and time of day: the traces' own form, parts of a second of any length.
  if (plain.size() < 19 || plain[4] != '-' || plain[13] != ':') return std::nullopt;
  const std::optional<double> seconds = parse_number(plain.substr(17));
  std::string whole(plain.substr(0, 17));
  whole[10] = 'T';
  const Result<Instant> minute = parse_instant(whole + "00Z");
  if (!seconds || !minute.ok()) return std::nullopt;
  return static_cast<double>(minute->seconds()) + *seconds;
}

}  // namespace

Result<Duration> parse_time_limit(const std::string& option, const std::string& text) {
  if (text.ends_with("ms")) {
    const std::optional<double> ms = parse_number(text.substr(0, text.size() - 2));
    if (!ms || !(*ms > 0) || *ms > 3.6e6) return invalid("{} {}: expected a time such as 50ms or 2s", option, excerpt(text));
    return Duration::from_seconds(*ms / 1e3);
  }
  Result<Duration> parsed = parse_duration(text);
  if (!parsed.ok()) return invalid("{} {}: expected a time such as 50ms or 2s", option, excerpt(text));
  return parsed;
}

Result<batching::ArrivalPlan> trace_arrivals(const std::string& file) {
  TRY_ASSIGN(const std::string text, read_all(file));
  batching::ArrivalPlan plan;
  plan.kind = batching::ArrivalPlan::Kind::kTrace;
  std::optional<size_t> column;
  double last = 0;
  int64_t line_number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++line_number;
    const std::vector<std::string_view> fields = split(line, ',');
    if (trim(line).empty()) continue;
    if (!column) {
      // The header's line has no time; the first line that has one says in which column.
      const auto found = std::ranges::find_if(fields, [](std::string_view f) { return time_in(f).has_value(); });
      if (found == fields.end()) continue;
      column = static_cast<size_t>(found - fields.begin());
      last = *time_in(*found);
      continue;
    }
    const std::optional<double> at = *column < fields.size() ? time_in(fields[*column]) : std::nullopt;
    if (!at) return invalid("{}:{}: no time in column {}", file, line_number, *column + 1);
    if (*at < last) return invalid("{}:{}: times must ascend: sort the trace", file, line_number);
    plan.trace.push_back(Duration::nanoseconds(std::llround((*at - last) * 1e9)));
    last = *at;
  }
  if (plan.trace.size() < 2) return invalid("{}: fewer than three arrival times", file);
  return plan;
}

Result<ServeClient> ServeClient::create(const std::string& server) {
  TRY_ASSIGN(const ListenAddress address, parse_listen_address(server.starts_with("http://") ? server.substr(7) : server));
  ServeClient client;
  client.address_ = address.address;
  client.port_ = address.port;
  return client;
}

Result<ServedTensors> ServeClient::tensors_of(const std::string& model, const serve::Sizes& sizes) const {
  const bool six = address_.find(':') != std::string::npos;
  const std::string url =
      fmt::format("http://{}{}{}:{}/v2/models/{}", six ? "[" : "", address_, six ? "]" : "", port_, escape_url(model));
  TRY_ASSIGN(const HttpResponse answer, HttpClient().get(url));
  if (answer.status != 200) return invalid("{}: status {}: {}", url, answer.status, excerpt(answer.body, 200));
  const auto json = nlohmann::json::parse(answer.body, nullptr, false);
  ServedTensors tensors{model, {}};
  serve::Sizes left = sizes;
  try {
    for (const auto& input : json.at("inputs")) {
      ServedTensors::Input read;
      read.name = input.at("name").get<std::string>();
      const Result<DataType> type = read_data_type(input.at("datatype").get<std::string>());
      if (!type.ok()) return invalid("{}: input {}: {}", model, read.name, type.error().message);
      read.type = *type;
      const auto shape = input.at("shape").get<std::vector<int64_t>>();
      if (shape.empty() || shape[0] != -1) return invalid("{}: input {}: a free batch is expected", model, read.name);
      for (size_t place = 1; place < shape.size(); ++place) {
        const auto said = sizes.find(fmt::format("{}.{}", read.name, place));
        read.item_shape.push_back(shape[place] >= 1 ? shape[place] : said == sizes.end() ? kFreeSize : said->second);
        if (shape[place] < 1 && said != sizes.end()) left.erase(said->first);
      }
      tensors.inputs.push_back(std::move(read));
    }
  } catch (const nlohmann::json::exception& e) {
    return invalid("{}: not the metadata of a model: {}", url, json_complaint(e.what()));
  }
  if (!left.empty()) return invalid("--shape {}: {} has no such free dimension", left.begin()->first, model);
  return tensors;
}

Result<std::string> ServeClient::infer_request(const ServedTensors& tensors, int64_t items, bool binary,
                                               std::optional<Duration> timeout, Prng& prng) const {
  std::vector<std::vector<int64_t>> shapes;
  std::vector<std::vector<std::byte>> values;
  for (const ServedTensors::Input& input : tensors.inputs) {
    std::vector<int64_t>& shape = shapes.emplace_back(1, items);
    shape.insert(shape.end(), input.item_shape.begin(), input.item_shape.end());
    int64_t count = 1;
    for (const int64_t size : shape)
      count *= size;
    values.push_back(serve::random_values(input.type, static_cast<size_t>(count), prng));
  }
  std::vector<InferPart> parts;
  for (size_t i = 0; i < shapes.size(); ++i)
    parts.push_back({tensors.inputs[i].name, tensors.inputs[i].type, shapes[i], values[i], binary});
  TRY_ASSIGN(const InferMessage message, write_infer_request(parts, timeout));
  return serve::infer_post(tensors.model, fmt::format("{}:{}", address_, port_), message);
}

}  // namespace stint
