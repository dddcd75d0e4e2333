#include "backends/starter/starter_messages.h"

#include <array>
#include <limits>

#include "backends/starter/strict_json.h"

namespace stint {
namespace {

using StarterJson = nlohmann::json;

constexpr int64_t kAnyWhole = std::numeric_limits<int64_t>::max();
constexpr int64_t kAnyInt = std::numeric_limits<int32_t>::max();
constexpr int64_t kMostGpuIndex = 1023;
constexpr size_t kMostOrders = 100'000;

constexpr std::array kOrderKinds = {OrderKind::kStart, OrderKind::kSignal, OrderKind::kStop, OrderKind::kForget};
constexpr std::array kStarterCauses = {EndCause::kItself, EndCause::kStopped, EndCause::kTimeLimit, EndCause::kOutOfMemory,
                                       EndCause::kNotStarted};
constexpr std::array<std::pair<ReportKind, std::string_view>, 3> kReportKinds = {
    {{ReportKind::kStarted, "started"}, {ReportKind::kEnded, "ended"}, {ReportKind::kLost, "lost"}}};
constexpr std::array<std::pair<RefusalKind, std::string_view>, 4> kRefusalKinds = {{{RefusalKind::kNotNow, "not_now"},
                                                                                    {RefusalKind::kNotSo, "not_so"},
                                                                                    {RefusalKind::kNotKnown, "not_known"},
                                                                                    {RefusalKind::kRuns, "runs"}}};
constexpr std::array<std::pair<ErrorCode, std::string_view>, 5> kErrorCodes = {{{ErrorCode::kInvalidInput, "invalid"},
                                                                                {ErrorCode::kNotFound, "not_found"},
                                                                                {ErrorCode::kUnavailable, "unavailable"},
                                                                                {ErrorCode::kConflict, "conflict"},
                                                                                {ErrorCode::kInternal, "internal"}}};

template <typename Kind, size_t N>
std::string word_of(const std::array<std::pair<Kind, std::string_view>, N>& words, Kind kind) {
  for (const auto& [known, word] : words)
    if (known == kind) return std::string(word);
  return "";
}
template <typename Kind, size_t N>
Kind kind_of(const std::array<std::pair<Kind, std::string_view>, N>& words, const std::string& word, const char* field) {
  for (const auto& [kind, known] : words)
    if (known == word) return kind;
  StrictObject::wrong(field);
}

LaunchKey key_from(StrictObject& from) {
  const auto key = parse_key(from.text("key"));
  if (!key) StrictObject::wrong("key");
  return *key;
}
Instant instant_from(StrictObject& from, const char* name) { return Instant::from_ns(from.whole(name, 0, kAnyWhole)); }
Duration duration_from(StrictObject& from, const char* name) { return Duration::nanoseconds(from.whole(name, 0, kAnyWhole)); }
Bytes bytes_from(StrictObject& from, const char* name) { return Bytes::of(from.whole(name, 0, kAnyWhole)); }

/// Names of devices: they are compared, and shown to a program of the operator's.
std::string device_name_from(StrictObject& from, const char* name) {
  std::string text = from.text(name);
  constexpr std::string_view kMay = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-+._/:";
  if (text.size() > 128 || text.find_first_not_of(kMay) != std::string::npos || text.find("..") != std::string::npos)
    StrictObject::wrong(name);
  return text;
}

std::string word_from(const StarterJson& value, const char* field) {
  if (!value.is_string()) StrictObject::wrong(field);
  return value.get<std::string>();
}

StarterJson launch_json(const Launch& launch) {
  // All its members: one that is added has to be said here, or to be named as the starter's own or another backend's.
  const auto& [key, node, gpus, gpu_milli, tenancy, cpu_milli, memory, memory_share, command, script, image, environment, folder,
               output_path, error_path, run_as, queue, owner, gang, time_limit, grace, simulated, others_job] = launch;
  (void)key, (void)image, (void)run_as, (void)queue, (void)simulated, (void)others_job;
  StarterJson of_gpus = StarterJson::array(), variables = StarterJson::array();
  for (const GrantedGpu& gpu : gpus)
    of_gpus.push_back({{"index", gpu.index}, {"uuid", gpu.uuid}, {"mig_uuid", gpu.mig_uuid}});
  for (const auto& [name, value] : environment)
    variables.push_back(StarterJson::array({name, value}));
  return {{"node", node},
          {"gpus", std::move(of_gpus)},
          {"gpu_milli", gpu_milli},
          {"shares_gpus", tenancy == Tenancy::kShared},
          {"cpu_milli", cpu_milli},
          {"memory_bytes", memory.count()},
          {"memory_share_bytes", memory_share.count()},
          {"command", command},
          {"script", script},
          {"environment", std::move(variables)},
          {"folder", folder},
          {"output_path", output_path},
          {"error_path", error_path},
          {"owner", owner},
          {"gang", gang ? StarterJson{{"rank", gang->rank},
                                      {"world_size", gang->world_size},
                                      {"local_rank", gang->local_rank},
                                      {"local_world_size", gang->local_world_size},
                                      {"master_address", gang->master_address},
                                      {"master_port", gang->master_port}}
                        : StarterJson()},
          {"time_limit_ns", time_limit.count_ns()},
          {"grace_ns", grace.count_ns()}};
}

GangPlace gang_from(const StarterJson& json) {
  StrictObject from(json);
  GangPlace gang{.rank = static_cast<int32_t>(from.whole("rank", 0, kAnyInt)),
                 .world_size = static_cast<int32_t>(from.whole("world_size", 1, kAnyInt)),
                 .local_rank = static_cast<int32_t>(from.whole("local_rank", 0, kAnyInt)),
                 .local_world_size = static_cast<int32_t>(from.whole("local_world_size", 1, kAnyInt)),
                 .master_address = from.text("master_address"),
                 .master_port = static_cast<int32_t>(from.whole("master_port", 0, 65535))};
  from.finish();
  return gang;
}

Launch launch_from(const StarterJson& json, const LaunchKey& key) {
  StrictObject from(json);
  Launch launch;
  launch.key = key;
  launch.node = from.text("node");
  for (const StarterJson& one : from.list("gpus")) {
    StrictObject gpu(one);
    launch.gpus.push_back({.index = static_cast<int>(gpu.whole("index", -1, kMostGpuIndex)),
                           .uuid = device_name_from(gpu, "uuid"),
                           .mig_uuid = device_name_from(gpu, "mig_uuid")});
    gpu.finish();
  }
  launch.gpu_milli = static_cast<int32_t>(from.whole("gpu_milli", 0, kAnyInt));
  launch.tenancy = from.flag("shares_gpus") ? Tenancy::kShared : Tenancy::kAlone;
  launch.cpu_milli = from.whole("cpu_milli", 0, kAnyInt);
  launch.memory = bytes_from(from, "memory_bytes");
  launch.memory_share = bytes_from(from, "memory_share_bytes");
  for (const StarterJson& word : from.list("command"))
    launch.command.push_back(word_from(word, "command"));
  launch.script = from.text("script");
  for (const StarterJson& pair : from.list("environment")) {
    if (!pair.is_array() || pair.size() != 2) StrictObject::wrong("environment");
    launch.environment.emplace_back(word_from(pair[0], "environment"), word_from(pair[1], "environment"));
  }
  launch.folder = from.text("folder");
  launch.output_path = from.text("output_path");
  launch.error_path = from.text("error_path");
  launch.owner = from.text("owner");
  if (const StarterJson& gang = from.take("gang"); !gang.is_null()) launch.gang = gang_from(gang);
  launch.time_limit = duration_from(from, "time_limit_ns");
  launch.grace = duration_from(from, "grace_ns");
  from.finish();
  return launch;
}

StarterJson order_json(const Order& order) {
  StarterJson json = {{"order", name_of(order.kind)}, {"key", format_key(order.key)}, {"at_ns", order.at.ns()}};
  if (order.kind == OrderKind::kStart && order.launch) json["launch"] = launch_json(*order.launch);
  if (order.kind == OrderKind::kSignal) json["signal"] = order.signal;
  if (order.kind == OrderKind::kStop) json["grace_ns"] = order.grace.count_ns();
  return json;
}

Order order_from(const StarterJson& json) {
  StrictObject from(json);
  Order order;
  const std::string word = from.text("order");
  const auto kind = std::ranges::find_if(kOrderKinds, [&](OrderKind k) { return name_of(k) == word; });
  if (kind == kOrderKinds.end()) StrictObject::wrong("order");
  order.kind = *kind;
  order.key = key_from(from);
  order.at = instant_from(from, "at_ns");
  if (order.kind == OrderKind::kStart) order.launch = launch_from(from.take("launch"), order.key);
  if (order.kind == OrderKind::kSignal) order.signal = static_cast<int>(from.whole("signal", 1, 64));
  if (order.kind == OrderKind::kStop) order.grace = duration_from(from, "grace_ns");
  from.finish();
  return order;
}

StarterJson json_of_request(const StarterHello& hello) {
  return {{"do", "hello"}, {"version", kStarterVersion}, {"role", hello.role == StarterRole::kOrders ? "orders" : "questions"}};
}
StarterJson json_of_request(const StarterOrders& orders) {
  StarterJson list = StarterJson::array();
  for (const Order& order : orders.orders)
    if (order.kind != OrderKind::kDismiss) list.push_back(order_json(order));
  return {{"do", "orders"}, {"orders", std::move(list)}};
}
StarterJson json_of_request(const StarterDrain& drain) { return {{"do", "drain"}, {"now_ns", drain.now.ns()}}; }
StarterJson json_of_request(const StarterReadLog& read) {
  return {{"do", "read_log"},          {"key", format_key(read.query.key)}, {"output", read.query.output},
          {"error", read.query.error}, {"offset", read.query.offset},       {"limit", read.query.limit},
          {"ended", read.query.ended}};
}
StarterJson json_of_request(const StarterKeptLogs&) { return {{"do", "kept_logs"}}; }
StarterJson json_of_request(const StarterCutLog& cut) { return {{"do", "cut_log"}, {"key", format_key(cut.key)}}; }
StarterJson json_of_request(const StarterShortenLog& cut) {
  return {{"do", "shorten_log"}, {"key", format_key(cut.key)}, {"most_bytes", cut.most.count()}};
}
StarterJson json_of_request(const StarterOwner& owner) { return {{"do", "owner"}, {"pid", owner.pid}}; }

StarterRequest request_from(StrictObject& from) {
  const std::string what = from.text("do");
  if (what == "hello") {
    if (from.whole("version", 0, kAnyInt) != kStarterVersion)
      throw std::runtime_error("another version: install the same Stint for both, and restart both");
    const std::string role = from.text("role");
    if (role != "orders" && role != "questions") StrictObject::wrong("role");
    return StarterHello{role == "orders" ? StarterRole::kOrders : StarterRole::kQuestions};
  }
  if (what == "orders") {
    StarterOrders orders;
    const StarterJson& list = from.list("orders");
    if (list.size() > kMostOrders) StrictObject::wrong("orders");
    for (const StarterJson& order : list)
      orders.orders.push_back(order_from(order));
    return orders;
  }
  if (what == "drain") return StarterDrain{instant_from(from, "now_ns")};
  if (what == "read_log") {
    LogQuery query{.key = key_from(from), .output = from.flag("output"), .error = from.flag("error")};
    query.offset = from.whole("offset", -kAnyWhole, kAnyWhole);
    query.limit = from.whole("limit", 0, kMostStarterLog);
    query.ended = from.flag("ended");
    return StarterReadLog{query};
  }
  if (what == "kept_logs") return StarterKeptLogs{};
  if (what == "cut_log") return StarterCutLog{key_from(from)};
  if (what == "shorten_log") {
    const LaunchKey key = key_from(from);
    return StarterShortenLog{.key = key, .most = bytes_from(from, "most_bytes")};
  }
  if (what == "owner") return StarterOwner{from.whole("pid", 1, kAnyInt)};
  StrictObject::wrong("do");
}

std::string text_of(const StarterJson& json) { return json.dump(-1, ' ', false, StarterJson::error_handler_t::replace); }

StarterJson event_json(const Report& report) {
  StarterJson json = {{"kind", word_of(kReportKinds, report.kind)},
                      {"key", format_key(report.key)},
                      {"at_ns", report.at.ns()},
                      {"code", report.status.code},
                      {"signal", report.status.signal},
                      {"cause", name_of(report.cause)},
                      {"detail", report.detail}};
  if (report.usage)
    json["usage"] = {{"cpu_ns", report.usage->cpu_time.count_ns()}, {"peak_bytes", report.usage->peak_memory.count()}};
  return json;
}
StarterJson event_json(const Refusal& refusal) {
  return {{"kind", "refused"},
          {"order", name_of(refusal.order)},
          {"why", word_of(kRefusalKinds, refusal.kind)},
          {"key", format_key(refusal.key)},
          {"at_ns", refusal.at.ns()},
          {"detail", refusal.detail}};
}

BackendEvent event_from(const StarterJson& json) {
  StrictObject from(json);
  const std::string kind = from.text("kind");
  if (kind == "refused") {
    Refusal refusal;
    const std::string order = from.text("order");
    const auto known = std::ranges::find_if(kOrderKinds, [&](OrderKind k) { return name_of(k) == order; });
    if (known == kOrderKinds.end()) StrictObject::wrong("order");
    refusal.order = *known;
    refusal.kind = kind_of(kRefusalKinds, from.text("why"), "why");
    refusal.key = key_from(from);
    refusal.at = instant_from(from, "at_ns");
    refusal.detail = from.text("detail");
    from.finish();
    return refusal;
  }
  Report report;
  report.kind = kind_of(kReportKinds, kind, "kind");
  report.key = key_from(from);
  report.at = instant_from(from, "at_ns");
  report.status = {.code = static_cast<int>(from.whole("code", -kAnyInt, kAnyInt)),
                   .signal = static_cast<int>(from.whole("signal", 0, kAnyInt))};
  const std::string cause = from.text("cause");
  const auto known = std::ranges::find_if(kStarterCauses, [&](EndCause c) { return name_of(c) == cause; });
  if (known == kStarterCauses.end()) StrictObject::wrong("cause");
  report.cause = *known;
  report.detail = from.text("detail");
  if (from.has("usage")) {
    StrictObject usage(from.take("usage"));
    report.usage = TaskUsage{.cpu_time = duration_from(usage, "cpu_ns"), .peak_memory = bytes_from(usage, "peak_bytes")};
    usage.finish();
  }
  from.finish();
  return report;
}

/// What `read` makes of an answer's fields; the starter's error where it is one.
template <typename T, typename Read>
Result<T> read_answer(std::string_view json, Read read) {
  try {
    const StarterJson parsed = parse_strict_json(json);
    StrictObject from(parsed);
    if (from.has("error")) {
      const ErrorCode code = kind_of(kErrorCodes, from.text("code"), "code");
      return Error{code, from.text("error")};
    }
    T value = read(from);
    from.finish();
    return value;
  } catch (const std::exception& e) {
    return make_error(ErrorCode::kUnavailable, "the starter's answer cannot be read: {}", excerpt(e.what(), 200));
  }
}

}  // namespace

std::string to_json(const StarterRequest& request) {
  return text_of(std::visit([](const auto& one) { return json_of_request(one); }, request));
}

Result<StarterRequest> parse_starter_request(std::string_view json) {
  try {
    const StarterJson parsed = parse_strict_json(json);
    StrictObject from(parsed);
    StarterRequest request = request_from(from);
    from.finish();
    return request;
  } catch (const std::exception& e) {
    return invalid("{}", excerpt(e.what(), 200));
  }
}

std::string starter_error(const Error& error) {
  return text_of({{"error", error.message}, {"code", word_of(kErrorCodes, error.code)}});
}

std::string starter_done() { return text_of({{"done", true}}); }

std::string starter_notes(const std::vector<std::string>& notes) { return text_of({{"notes", notes}}); }

std::string starter_events(const StarterEvents& events) {
  StarterJson list = StarterJson::array(), running = StarterJson::array(), held = StarterJson::array();
  for (const BackendEvent& event : events.events) {
    if (const auto* report = std::get_if<Report>(&event)) list.push_back(event_json(*report));
    if (const auto* refusal = std::get_if<Refusal>(&event)) list.push_back(event_json(*refusal));
  }
  for (const LaunchKey& key : events.running)
    running.push_back(format_key(key));
  for (const HeldGpu& gpu : events.held)
    held.push_back({{"gpu", gpu.gpu}, {"why", gpu.why}});
  return text_of({{"events", std::move(list)}, {"running", std::move(running)}, {"held", std::move(held)}});
}

std::string starter_log(const LogPiece& piece) { return text_of({{"offset", piece.offset}, {"size", piece.size}}); }

std::string starter_kept(const std::vector<KeptLog>& logs) {
  StarterJson list = StarterJson::array();
  for (const KeptLog& log : logs)
    list.push_back({{"key", format_key(log.key)}, {"bytes", log.bytes.count()}});
  return text_of({{"logs", std::move(list)}});
}

std::string starter_owner(const ProcessOwner& owner) {
  return text_of({{"launch", owner.launch ? format_key(*owner.launch) : ""}, {"account", owner.account}});
}

Status read_starter_done(std::string_view json) {
  const auto done = read_answer<bool>(json, [](StrictObject& from) { return from.flag("done"); });
  return done.ok() ? Status() : Status(done.error());
}

Result<std::vector<std::string>> read_starter_notes(std::string_view json) {
  return read_answer<std::vector<std::string>>(json, [](StrictObject& from) {
    std::vector<std::string> notes;
    for (const StarterJson& note : from.list("notes"))
      notes.push_back(word_from(note, "notes"));
    return notes;
  });
}

Result<StarterEvents> read_starter_events(std::string_view json) {
  return read_answer<StarterEvents>(json, [](StrictObject& from) {
    StarterEvents events;
    for (const StarterJson& event : from.list("events"))
      events.events.push_back(event_from(event));
    for (const StarterJson& name : from.list("running")) {
      const auto key = parse_key(word_from(name, "running"));
      if (!key) StrictObject::wrong("running");
      events.running.push_back(*key);
    }
    for (const StarterJson& one : from.list("held")) {
      StrictObject gpu(one);
      const auto index = static_cast<int>(gpu.whole("gpu", -1, kMostGpuIndex));
      events.held.push_back({.gpu = index, .why = gpu.text("why")});
      gpu.finish();
    }
    return events;
  });
}

Result<LogPiece> read_starter_log(std::string_view json, std::string bytes) {
  return read_answer<LogPiece>(json, [&bytes](StrictObject& from) {
    LogPiece piece;
    piece.offset = from.whole("offset", 0, kAnyWhole);
    piece.size = from.whole("size", 0, kAnyWhole);
    piece.bytes = std::move(bytes);
    return piece;
  });
}

Result<std::vector<KeptLog>> read_starter_kept(std::string_view json) {
  return read_answer<std::vector<KeptLog>>(json, [](StrictObject& from) {
    std::vector<KeptLog> logs;
    for (const StarterJson& one : from.list("logs")) {
      StrictObject log(one);
      const LaunchKey key = key_from(log);
      logs.push_back({.key = key, .bytes = bytes_from(log, "bytes")});
      log.finish();
    }
    return logs;
  });
}

Result<ProcessOwner> read_starter_owner(std::string_view json) {
  return read_answer<ProcessOwner>(json, [](StrictObject& from) {
    ProcessOwner owner;
    const std::string key = from.text("launch");
    if (!key.empty() && !(owner.launch = parse_key(key))) StrictObject::wrong("launch");
    owner.account = from.text("account");
    return owner;
  });
}

}  // namespace stint
