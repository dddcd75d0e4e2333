#include "backends/local/gpu_handover.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "host/beside.h"
#include "host/file.h"

namespace stint {
namespace {

using Json = nlohmann::ordered_json;
constexpr int kHandoverVersion = 1;
constexpr size_t kMostScrubSaid = 64 << 10;  // bytes that the program may print

/// It runs with the daemon's rights: whoever else may write it would have them.
Status check_program(const std::string& path) {
  struct stat status = {};
  if (!path.starts_with('/') || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
      ::access(path.c_str(), X_OK) != 0)
    return invalid("{}: scrubs no GPU: name a program that can be run by its whole path", excerpt(path));
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0 || (status.st_uid != 0 && status.st_uid != ::geteuid()))
    return invalid("{}: others than root may write it, and it runs with the daemon's rights: chown root, chmod 755", path);
  return {};
}

std::string client_of_launch(const Launch& launch) { return launch.owner.substr(0, launch.owner.find('/')); }

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.remove_suffix(1);
  return excerpt(text.substr(text.find_last_of('\n') + 1), 200);
}

}  // namespace

GpuHandover::GpuHandover(Options options) : options_(std::move(options)), clear_(options_.clear) {}

GpuHandover::~GpuHandover() {
  for (auto& [name, scrub] : scrubs_)
    scrub->stop = true;  // the future waits for it
}

Result<std::unique_ptr<GpuHandover>> GpuHandover::open(Options options) {
  if (!options.scrub.empty()) TRY(check_program(options.scrub));
  std::unique_ptr<GpuHandover> handover(new GpuHandover(std::move(options)));
  const std::string& path = handover->options_.book;
  if (::access(path.c_str(), F_OK) != 0) return handover;
  TRY_ASSIGN(const std::string text, read_all(path));
  const auto damaged = [&path] {
    return invalid(
        "{}: is damaged: take it away; every GPU then counts as left by another client, and is scrubbed where a program does it",
        path);
  };
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.value("version", 0) != kHandoverVersion || !json.contains("last") || !json["last"].is_object())
    return damaged();
  for (const auto& [gpu, client] : json["last"].items()) {
    if (!client.is_string()) return damaged();
    handover->last_[gpu] = client.get<std::string>();
  }
  return handover;
}

std::string GpuHandover::name_of(const GrantedGpu& gpu) {
  return gpu.mig_uuid.empty() ? std::to_string(gpu.index) : gpu.mig_uuid;
}

Status GpuHandover::write() {
  Json json = {{"version", kHandoverVersion}, {"last", Json::object()}};
  for (const auto& [gpu, client] : last_)
    json["last"][gpu] = client;
  return write_file_atomically(options_.book, json.dump() + "\n");
}

Status GpuHandover::take(const Launch& launch, const std::set<int>& busy, Instant now) {
  const std::string client = client_of_launch(launch);
  std::vector<GrantedGpu> free;
  for (const GrantedGpu& gpu : launch.gpus)
    if (!gpu.mig_uuid.empty() || !busy.contains(gpu.index)) free.push_back(gpu);
  // All of them, so that scrubs of several run at a time; the first reason is told.
  Status all;
  for (const GrantedGpu& gpu : free)
    if (Status one = clean(gpu, client, launch.tenancy, now); !one.ok() && all.ok()) all = std::move(one);
  TRY(all);
  const std::map<std::string, std::string> before = last_;
  for (const GrantedGpu& gpu : free)
    last_[name_of(gpu)] = client;
  if (before == last_) return {};
  const Status written = write();
  if (!written.ok()) last_ = before;
  return written;
}

Status GpuHandover::clean(const GrantedGpu& gpu, const std::string& client, Tenancy tenancy, Instant now) {
  const auto had = last_.find(name_of(gpu));
  const bool of_another = had == last_.end() || (!had->second.empty() && had->second != client);
  if (scrubs() && of_another) TRY(scrub(gpu, now));
  TRY(is_clear(gpu, tenancy, now));
  let_go(gpu);
  return {};
}

/// MIG devices are looked at when they are granted.
Status GpuHandover::is_clear(const GrantedGpu& gpu, Tenancy tenancy, Instant now) {
  if (!gpu.mig_uuid.empty()) return {};
  const Status clear = clear_.check({gpu}, tenancy);
  if (clear.ok() || clear.error().code != ErrorCode::kUnavailable) return clear;
  return hold_back(
      {.gpu = gpu, .tenancy = tenancy, .why = clear.error().message, .next = now + options_.pause, .unscrubbed = false});
}

/// Begins one, or looks what has come of it. @return ok: the GPU was scrubbed, and no client has had it since.
Status GpuHandover::scrub(const GrantedGpu& gpu, Instant now) {
  const std::string name = name_of(gpu);
  const auto not_yet = [&] {
    return make_error(ErrorCode::kUnavailable, "GPU {}: its memory is being scrubbed: another client had it", name);
  };
  std::unique_ptr<Scrub>& running = scrubs_[name];
  if (!running) {
    if (const auto held = held_.find(name); held != held_.end() && now < held->second.next)
      return make_error(ErrorCode::kUnavailable, "{}", held->second.why);
    running = std::make_unique<Scrub>();
    running->result = std::async(
        std::launch::async,
        [command = std::vector<std::string>{options_.scrub, std::to_string(gpu.index), clear_.uuid_of(gpu)},
         longest = options_.longest, &stop = running->stop] { return run_beside(command, longest, kMostScrubSaid, stop); });
    return not_yet();
  }
  if (running->result.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return not_yet();
  const Result<CommandOutput> done = running->result.get();
  scrubs_.erase(name);
  const auto failed = [&](const std::string& why) {
    return hold_back({.gpu = gpu,
                      .tenancy = Tenancy::kAlone,
                      .why = fmt::format("GPU {}: its memory was not scrubbed, and another client had it: {}", name, why),
                      .next = now + options_.pause,
                      .unscrubbed = true});
  };
  if (!done.ok()) return failed(done.error().message);
  if (done->status.shell_code() != 0)
    return failed(
        fmt::format("{} ended with code {}: {}", options_.scrub, done->status.shell_code(), last_line(done->standard_error)));
  const auto before = last_.find(name) == last_.end() ? std::nullopt : std::optional(last_[name]);
  last_[name] = "";
  const Status written = write();
  if (written.ok()) return {};
  if (before)
    last_[name] = *before;
  else
    last_.erase(name);
  return written;
}

Status GpuHandover::hold_back(Held held) {
  Held& known = held_[name_of(held.gpu)];
  const bool is_news = known.why != held.why;
  known = std::move(held);
  if (is_news && options_.tell) options_.tell(known.gpu.index, known.why);
  return make_error(ErrorCode::kUnavailable, "{}", known.why);
}

void GpuHandover::let_go(const GrantedGpu& gpu) {
  if (held_.erase(name_of(gpu)) > 0 && options_.tell) options_.tell(gpu.index, "");
}

void GpuHandover::look(Instant now) {
  std::vector<Held> due;
  for (const auto& [name, held] : held_)
    if (scrubs_.contains(name) || held.next <= now) due.push_back(held);
  for (const Held& held : due) {
    if (held.unscrubbed && !scrub(held.gpu, now).ok()) continue;
    if (is_clear(held.gpu, held.tenancy, now).ok()) let_go(held.gpu);
  }
}

}  // namespace stint
