#include "backends/supervise/supervisor_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "host/descriptor.h"

namespace stint {

void SupervisorLog::tell(Instant at, std::string_view event, const std::string& sentence, const Fields& fields) {
  fmt::print(stderr, "stint: {}\n", sentence);
  std::fflush(stderr);
  if (events_file_.empty()) return;
  nlohmann::ordered_json json = {{"at", format_utc(at)}, {"event", event}, {"text", sentence}};
  for (const auto& [name, value] : fields)
    json[std::string(name)] = value;
  const std::string line = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  const Descriptor file(::open(events_file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (file.valid() && ::write(file.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) return;
  fmt::print(stderr, "stint: {}: cannot be written: {}: no events from here on\n", events_file_, std::strerror(errno));
  events_file_.clear();
}

}  // namespace stint
