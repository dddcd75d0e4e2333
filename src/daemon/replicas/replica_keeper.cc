#include "daemon/replicas/replica_keeper.h"

#include <algorithm>
#include <filesystem>

#include "host/file.h"
#include "host/http_client.h"
#include "host/replica_proof.h"
#include "host/sealed.h"

namespace stint {
namespace {

constexpr Duration kLongestAnswer = Duration::seconds(2);
constexpr size_t kMostReplicaAnswer = size_t{4} << 20;

/// Asks the replicas of a service as the Open Inference Protocol has it, and for their metrics.
class HttpAsk {
 public:
  /// @param secret_of  of a place; empty: its server shows nothing
  HttpAsk(LiveTelemetry& telemetry, std::string token_file, std::shared_ptr<const SealKey> secrets_key,
          std::function<std::string(const std::string&)> secret_of)
      : telemetry_(telemetry),
        token_file_(std::move(token_file)),
        secrets_key_(std::move(secrets_key)),
        secret_of_(std::move(secret_of)) {}

  ReplicaHealth ask(const std::string& place, Instant now) {
    const auto known = sources_.find(place);
    const size_t source = known != sources_.end() ? known->second : add_source(place);
    Result<ReplicaHealth> health = look(place);
    if (!health.ok()) {
      telemetry_.source_failed(source, now, health.error().message);
      return {};
    }
    if (health->answer == ReplicaHealth::Answer::kStranger) {
      telemetry_.source_failed(source, now, "another program than the replica listens there");
      return std::move(*health);
    }
    telemetry_.source_succeeded(source, now);
    for (const ServiceFigures& figures : health->figures)
      telemetry_.put_service(source, now, figures);
    return std::move(*health);
  }

 private:
  size_t add_source(const std::string& place) {
    return sources_[place] = telemetry_.add_source(LiveSourceKind::kExporter, metrics_of(place));
  }
  static std::string metrics_of(const std::string& place) { return fmt::format("http://{}/metrics", place); }

  Result<ReplicaHealth> look(const std::string& place) {
    if (!stranger_) {
      HttpOptions options;
      options.connect_timeout = options.timeout = kLongestAnswer;
      options.max_body_bytes = kMostReplicaAnswer;
      TRY_ASSIGN(const std::string token, read_secret_file(token_file_, secrets_key_.get()));
      stranger_.emplace(options);
      options.credentials.bearer_token = token;
      client_.emplace(std::move(options));
    }
    // Whoever it is, it is not shown the token before it has shown who it is.
    const std::string challenge = random_hex(16);
    TRY_ASSIGN(const HttpResponse ready, stranger_->send({.method = "GET",
                                                          .url = fmt::format("http://{}/v2/health/ready", place),
                                                          .headers = {{kChallengeHeader, challenge}},
                                                          .body = {}}));
    ReplicaHealth health{.answer = ReplicaHealth::Answer::kNotReady, .figures = {}};
    if (const std::string secret = secret_of_(place); !secret.empty()) {
      const std::string* proof = ready.header(kProofHeader);
      if (proof == nullptr || *proof != replica_proof(secret, place, challenge)) {
        health.answer = ReplicaHealth::Answer::kStranger;
        return health;
      }
    }
    if (ready.status != 200) return health;
    health.answer = ReplicaHealth::Answer::kReady;
    TRY_ASSIGN(const HttpResponse told, client_->get(metrics_of(place)));
    // Of another kind of server there may be none.
    if (told.status == 200) health.figures = read_service_figures(told.body);
    return health;
  }

  LiveTelemetry& telemetry_;
  const std::string token_file_;
  const std::shared_ptr<const SealKey> secrets_key_;
  const std::function<std::string(const std::string&)> secret_of_;
  std::optional<HttpClient> stranger_, client_;  ///< without and with the token
  std::map<std::string, size_t> sources_;        ///< by place
};

}  // namespace

ReplicaKeeper::ReplicaKeeper(Service& service, LiveTelemetry& telemetry, Options options)
    : service_(service), telemetry_(telemetry), options_(std::move(options)) {}

ReplicaKeeper::~ReplicaKeeper() = default;

AskReplica ReplicaKeeper::ask_of(const ServiceConfig& config) {
  if (options_.ask) return options_.ask;
  const auto secret_of = [key = config.proof ? key() : "", name = config.name](const std::string& place) {
    return key.empty() ? std::string() : replica_secret(key, name, place);
  };
  auto asker = std::make_shared<HttpAsk>(telemetry_, config.token_file, options_.secrets_key, secret_of);
  return [asker = std::move(asker)](const std::string& place, Instant now) { return asker->ask(place, now); };
}

std::string ReplicaKeeper::key() {
  if (options_.key_file.empty()) return "";
  const Result<std::string> key = own_key(options_.key_file);
  if (!key.ok()) fmt::print(stderr, "stint: replicas cannot show who they are: {}\n", key.error().message);
  return key.ok() ? *key : "";
}

void ReplicaKeeper::configure(std::vector<ServiceConfig> services) {
  thread_.reset();
  std::vector<std::shared_ptr<ReplicaSet>> next;
  for (ServiceConfig& config : services) {
    const auto same = std::ranges::find_if(sets_, [&config](const auto& set) { return set->config() == config; });
    AskReplica ask = ask_of(config);
    if (same == sets_.end()) {
      next.push_back(std::make_shared<ReplicaSet>(service_, std::move(config), std::move(ask), options_.ask ? "" : key()));
      continue;
    }
    (*same)->ask_by(std::move(ask));
    next.push_back(*same);
  }
  for (const auto& set : sets_)
    if (std::ranges::find(next, set->config().name, [](const auto& kept) { return kept->config().name; }) == next.end())
      set->retire();
  end_others(next);
  std::vector<Recurring::Work> works;
  for (const auto& set : next)
    works.push_back([this, set] {
      if (options_.asks) set->heed(*options_.asks());
      return set->look(options_.clock());
    });
  {
    const std::lock_guard lock(mutex_);
    sets_ = std::move(next);
  }
  if (!works.empty()) thread_ = std::make_unique<Recurring>(std::move(works), 1);
}

/// Replicas of services that are configured no more.
void ReplicaKeeper::end_others(const std::vector<std::shared_ptr<ReplicaSet>>& sets) {
  for (const JobView& job : service_.get([](const Engine& engine) { return replica_jobs(engine, ""); }).get())
    if (std::ranges::find(sets, job.name, [](const auto& set) { return set->config().name; }) == sets.end())
      (void)stop_replica(service_, job.id);
}

std::vector<ReplicaSetView> ReplicaKeeper::views() const {
  std::vector<std::shared_ptr<ReplicaSet>> sets;
  {
    const std::lock_guard lock(mutex_);
    sets = sets_;
  }
  std::vector<ReplicaSetView> views;
  for (const auto& set : sets)
    views.push_back(set->view());
  return views;
}

}  // namespace stint
