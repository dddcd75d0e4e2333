#include "daemon/live/live_config.h"

#include <simdjson.h>

#include "base/text.h"
#include "daemon/json_fields.h"

namespace stint {
namespace {

constexpr Duration kShortestScrape = Duration::seconds(1);

/// An address as a text, or an object with more about it. @param defaults  of what it does not say.
Result<ScrapeTarget> read_target(simdjson::dom::element element, const std::string& where, ScrapeTarget target) {
  std::string_view text;
  if (element.get(text) == simdjson::SUCCESS) {
    target.url = text;
  } else {
    JsonFields fields(element, where);
    target.url = fields.text("url");
    target.node = fields.text("node");
    target.token_file = fields.text("token_file");
    target.ca_file = fields.text("ca_file");
    target.every = fields.duration("every", target.every);
    target.timeout = fields.duration("timeout", target.timeout);
    TRY(fields.finish());
  }
  if (!target.url.starts_with("http://") && !target.url.starts_with("https://"))
    return invalid("{}: '{}' is no http or https address, such as http://gpu-0:9400/metrics", where, excerpt(target.url));
  if (target.every < kShortestScrape || target.timeout < Duration::milliseconds(100))
    return invalid("{}: every is at least 1s, timeout at least 0.1 s", where);
  return target;
}

Result<std::vector<ScrapeTarget>> read_targets(JsonFields& fields, std::string_view name, const ScrapeTarget& defaults) {
  std::vector<ScrapeTarget> targets;
  if (!fields.has(name)) return targets;
  simdjson::dom::array array;
  if (fields.raw(name).get(array) != simdjson::SUCCESS) {
    fields.wrong(name, "a list of addresses");
    return targets;
  }
  for (const simdjson::dom::element element : array) {
    TRY_ASSIGN(ScrapeTarget target,
               read_target(element, fmt::format("{}: {} {}", fields.where(), name, targets.size() + 1), defaults));
    targets.push_back(std::move(target));
  }
  return targets;
}

}  // namespace

Result<LiveConfig> read_live_config(JsonFields& fields) {
  LiveConfig config;
  config.local = fields.flag("local", config.local);
  config.node = fields.text("node");
  config.nvml_library = fields.text("nvml_library");
  config.every = fields.duration("every", config.every);
  if (config.every < Duration::milliseconds(100)) fields.wrong("every", "at least 0.1 s");
  const ScrapeTarget defaults{.every = fields.duration("scrape_every", Duration::seconds(15)),
                              .timeout = fields.duration("scrape_timeout", Duration::seconds(5))};
  TRY_ASSIGN(config.exporters, read_targets(fields, "exporters", defaults));
  TRY_ASSIGN(config.prometheus, read_targets(fields, "prometheus", defaults));
  config.history = fields.flag("history", config.history);
  config.history_every = fields.duration("history_every", config.history_every);
  if (config.history_every < Duration::seconds(1)) fields.wrong("history_every", "at least 1s");
  config.retention = fields.duration("retention", config.retention);
  if (config.retention < kHour * 24) fields.wrong("retention", "at least 24h");
  TRY(fields.finish());
  return config;
}

}  // namespace stint
