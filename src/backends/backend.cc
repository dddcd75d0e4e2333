#include "backends/backend.h"

#include <limits>

#include "base/text.h"

namespace stint {
namespace {

template <typename T>
bool read_part(std::string_view text, T& to) {
  const auto value = parse_int(text);
  if (!value || *value < 0 || *value > std::numeric_limits<T>::max()) return false;
  to = static_cast<T>(*value);
  return text == std::to_string(to);
}

}  // namespace

std::string format_key(const LaunchKey& key) { return fmt::format("{}.{}.{}", key.job, key.attempt, key.task); }

std::optional<LaunchKey> parse_key(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, '.');
  LaunchKey key;
  if (parts.size() != 3 || !read_part(parts[0], key.job) || !read_part(parts[1], key.attempt) || !read_part(parts[2], key.task))
    return std::nullopt;
  return key;
}

std::string to_text(const AttemptKey& key, std::string_view mark) { return fmt::format("{}:{}.{}", mark, key.job, key.attempt); }

std::optional<AttemptKey> parse_attempt(std::string_view text, std::string_view mark) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.substr(0, colon) != mark) return std::nullopt;
  const auto key = parse_key(fmt::format("{}.0", text.substr(colon + 1)));
  return key ? std::optional(attempt_of(*key)) : std::nullopt;
}

Status Backend::takes(const Launch& like) const {
  if (like.image.empty()) return {};
  return invalid(
      "image '{}': jobs run on the machines as they are here: leave --image away, or have the image's program run by a "
      "command; containers are for a daemon whose engine is a Kubernetes",
      excerpt(like.image));
}

Error never_started(const LaunchKey& key) {
  return make_error(ErrorCode::kNotFound, "launch {}: never started here", format_key(key));
}

std::string_view name_of(EndCause cause) {
  switch (cause) {
    case EndCause::kItself: return "itself";
    case EndCause::kStopped: return "stopped";
    case EndCause::kTimeLimit: return "time limit";
    case EndCause::kOutOfMemory: return "out of memory";
    case EndCause::kNotStarted: return "not started";
  }
  CHECK(false, "cause {}", static_cast<int>(cause));
}

std::string_view name_of(OrderKind kind) {
  switch (kind) {
    case OrderKind::kStart: return "start";
    case OrderKind::kSignal: return "signal";
    case OrderKind::kStop: return "stop";
    case OrderKind::kForget: return "forget";
    case OrderKind::kDismiss: return "dismiss";
  }
  CHECK(false, "order {}", static_cast<int>(kind));
}

std::string_view name_of(MachineCause cause) {
  switch (cause) {
    case MachineCause::kOther: return "other";
    case MachineCause::kSpot: return "spot";
    case MachineCause::kMaintenance: return "maintenance";
    case MachineCause::kBroken: return "broken";
  }
  CHECK(false, "cause {} of a machine", static_cast<int>(cause));
}

}  // namespace stint
