#include "documents/latency_csv.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "codec/csv_table.h"

namespace stint {
namespace {

constexpr int64_t kLargestBatch = 65'536;
constexpr int64_t kMostInstances = 1024;
constexpr double kLongestMs = 3'600'000;

struct Group {
  std::string device;
  Rate price;
  int64_t instances = 1;
  std::vector<batching::MeasuredBatch> measured;
};

Group& group_of(std::vector<Group>& groups, std::string_view device, int64_t instances, Rate price) {
  const auto it =
      std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.device == device && g.instances == instances; });
  if (it != groups.end()) return *it;
  return groups.emplace_back(Group{std::string(device), price, instances, {}});
}

}  // namespace

Result<std::vector<batching::DeviceProfile>> read_latencies(std::string_view bytes, const std::string& source) {
  constexpr std::array<std::string_view, 2> kRequired = {"batch", "ms"};
  CsvTable table(bytes, source);
  TRY(table.read_header(kRequired, "batch and ms"));
  std::vector<Group> groups;
  while (true) {
    TRY_ASSIGN(const bool more, table.next());
    if (!more) break;
    TRY_ASSIGN(const int64_t batch, table.whole("batch", kLargestBatch));
    if (batch == 0) return table.wrong("a batch of 0");
    const std::optional<double> took = parse_number(table.text("ms"));
    if (!took || !(*took >= 1e-6) || *took > kLongestMs)
      return table.wrong("ms `{}` is no time from 0.000001 to {} ms", excerpt(table.text("ms")), kLongestMs);
    int64_t instances = 1;
    if (!table.text("instances").empty()) {
      TRY_ASSIGN(instances, table.whole("instances", kMostInstances));
      if (instances == 0) return table.wrong("0 instances");
    }
    Rate price;
    if (!table.text("price_per_hour").empty()) {
      Result<Rate> parsed = Rate::parse_per_hour(table.text("price_per_hour"));
      if (!parsed.ok() || parsed->per_hour() < Money())
        return table.wrong("price_per_hour `{}` is no price", excerpt(table.text("price_per_hour")));
      price = *parsed;
    }
    Group& group = group_of(groups, table.text("device"), instances, price);
    if (!(group.price == price)) return table.wrong("device `{}` has two prices", excerpt(table.text("device")));
    auto at = std::find_if(group.measured.begin(), group.measured.end(), [&](const auto& m) { return m.batch == batch; });
    if (at == group.measured.end()) at = group.measured.insert(at, {batch, {}});
    at->times.push_back(Duration::nanoseconds(std::llround(*took * 1e6)));
  }
  if (groups.empty()) return invalid("{}: a header and no rows; measure some batch sizes, 1 among them", source);
  std::vector<batching::DeviceProfile> profiles;
  for (Group& g : groups) {
    Result<batching::LatencyProfile> latency = batching::LatencyProfile::create(std::move(g.measured));
    if (!latency.ok()) return invalid("{}: device `{}`: {}", source, excerpt(g.device), latency.error().message);
    profiles.push_back({g.device, g.price, g.instances, std::move(*latency)});
  }
  return profiles;
}

}  // namespace stint
