#include "host/time_zone.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <optional>

#include "host/file.h"

namespace stint {
namespace {

constexpr const char* kZoneFolder = "/usr/share/zoneinfo/";
constexpr int64_t kProbeSeconds = 12 * 3600;   // no zone changes twice within
constexpr int64_t kLastProbe = 4'102'444'800;  // 2100

bool may_be_zone_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '_' || c == '-' ||
           c == '+';
  };
  return !name.empty() && name.front() != '/' && std::ranges::all_of(name, fits);
}

/// TZ of this process for as long as it lives.
class ZoneSetting {
 public:
  explicit ZoneSetting(const std::string& name) {
    if (const char* before = std::getenv("TZ")) before_ = before;
    ::setenv("TZ", (":" + name).c_str(), 1);
    ::tzset();
  }
  ~ZoneSetting() {
    if (before_)
      ::setenv("TZ", before_->c_str(), 1);
    else
      ::unsetenv("TZ");
    ::tzset();
  }
  ZoneSetting(const ZoneSetting&) = delete;
  ZoneSetting& operator=(const ZoneSetting&) = delete;

 private:
  std::optional<std::string> before_;
};

int64_t offset_seconds(int64_t at) {
  const std::time_t time = at;
  std::tm local = {};
  return ::localtime_r(&time, &local) == nullptr ? 0 : local.tm_gmtoff;
}

}  // namespace

Result<LocalZone> find_time_zone(const std::string& name) {
  if (!may_be_zone_name(name) || !is_regular_file(kZoneFolder + name))
    return make_error(ErrorCode::kNotFound,
                      "'{}': no time zone that this machine knows: give a name below {} such as Europe/Berlin, or "
                      "hours and minutes ahead of UTC such as +02:00",
                      name, kZoneFolder);
  const ZoneSetting setting(name);
  int64_t known = offset_seconds(0);
  const int64_t before = known;
  std::vector<LocalZone::Change> changes;
  for (int64_t at = kProbeSeconds; at <= kLastProbe; at += kProbeSeconds) {
    const int64_t now = offset_seconds(at);
    if (now == known) continue;
    int64_t low = at - kProbeSeconds, high = at;  // the change lies in (low, high]
    while (high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      (offset_seconds(middle) == known ? low : high) = middle;
    }
    changes.push_back({Instant::from_seconds(high), Duration::seconds(now)});
    known = now;
  }
  return LocalZone(name, Duration::seconds(before), std::move(changes));
}

}  // namespace stint
