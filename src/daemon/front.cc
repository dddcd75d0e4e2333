#include "daemon/front.h"

#include "base/text.h"
#include "daemon/api/page.h"
#include "host/clock.h"
#include "host/disk_room.h"
#include "host/secret.h"
#include "store/govern_postgres.h"

namespace stint {
namespace {

// Of a server of 1024 connections and bodies of 4 MiB at most. Programs of one machine share its address.
constexpr size_t kMostConnectionsOfAddress = 512;
constexpr size_t kMostRequestsOfUser = 256;
constexpr size_t kMostStreamsOfUser = 64;
constexpr uint64_t kMostBodyBytes = uint64_t{256} << 20;
constexpr uint64_t kMostBodyBytesOfUser = uint64_t{64} << 20;
/// Larger bodies are read on a thread beside: one of 4 MiB takes as long as thousands of requests.
constexpr size_t kReadOnServersThread = size_t{16} << 10;

/// Queues are configured in a file, clients governed here: each top of a queue's path is one, from the first start on.
void make_clients_known(Governor& governor, const std::vector<std::string>& clients) {
  for (const std::string& name : clients) {
    if (governor.client(name)) continue;
    const Instant at = now();
    governor.change(Client{.name = name, .created = at},
                    {.at = at,
                     .method = "START",
                     .target = "/v1/clients/" + name,
                     .client = name,
                     .status = 200,
                     .detail = "named by the configuration"},
                    nullptr);
  }
}

/// Refuses while the disk has less room than the daemon's own records may need.
std::function<Status()> room_check(const std::string& folder, Bytes reserve) {
  if (reserve == Bytes()) return {};
  return [folder, reserve]() -> Status {
    const auto room = disk_room(folder);
    if (!room || room->free >= reserve) return {};
    return make_error(
        ErrorCode::kUnavailable,
        "the disk of the daemon's records is nearly full: {} MiB are free, {} MiB are kept for them (--disk-reserve): no new "
        "job comes in until there is room; what runs goes on",
        room->free.count() >> 20, reserve.count() >> 20);
  };
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const size_t colon = text.rfind(':');
  const auto port = colon == std::string_view::npos ? std::nullopt : parse_int(text.substr(colon + 1));
  std::string_view address = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  const bool bracketed = address.size() >= 2 && address.front() == '[' && address.back() == ']';
  if (bracketed) address = address.substr(1, address.size() - 2);
  const bool six = address.find(':') != std::string_view::npos;
  if (!port || *port < 0 || *port > 65'535 || address.empty() || six != bracketed)
    return invalid("'{}' is no address to listen on: give one such as 127.0.0.1:8470 or [::1]:8470", excerpt(text));
  return ListenAddress{std::string(address), static_cast<uint16_t>(*port)};
}

Result<std::unique_ptr<Front>> Front::open(Service& service, FrontOptions options) {
  TRY_ASSIGN(const ListenAddress listen, parse_listen_address(options.listen));
  std::unique_ptr<Front> front(new Front());
  AuditHeadsOptions heads = options.audit_heads;
  // What is taken out of the log must stand in heads that the daemon of another machine has, too.
  front->keeps_all_reads_ = !options.log.empty() && heads.file.empty();
  if (front->keeps_all_reads_ && options.audit_policy.keep_reads != Duration())
    front->news_.emplace_back(
        "audit_log.keep_reads is not followed: with the log in PostgreSQL name a file of signed heads that all its daemons can "
        "write (--audit-heads, --audit-key)");
  if (heads.file.empty()) heads.file = options.state_folder + "/audit-heads.jsonl";
  if (heads.key_file.empty()) heads.key_file = options.state_folder + "/audit.key";
  std::optional<SealKey> key;
  if (!options.secrets_key.empty()) {
    TRY_ASSIGN(key, SealKey::read(options.secrets_key));
  }
  TRY_ASSIGN(OpenedGovernance governance, open_governance({options.state_folder, options.log, options.log_epoch}, key));
  if (!governance.news.empty()) front->news_.push_back(std::move(governance.news));
  TRY_ASSIGN(front->governor_, Governor::open(std::move(governance.store), std::move(heads)));
  front->job_logs_ = options.job_logs;
  front->reconfigure(options.clients, options.audit_policy, options.log_keeping, options.client_rules);
  const std::string token_file = options.state_folder + "/admin.token";
  TRY(check_secret_file(token_file));
  TRY_ASSIGN(const bool made, ensure_operator(*front->governor_, token_file, now()));
  if (made) front->new_token_file_ = token_file;
  const bool by_https = !options.tls.certificate_file.empty() ||
                        (options.oidc && options.oidc->login && options.oidc->login->public_url.starts_with("https://"));
  front->sessions_ = std::make_unique<PageSessions>(by_https);
  std::function<Result<Principal>(std::string_view, Instant)> by_provider;
  if (options.oidc) {
    front->provider_ = std::make_unique<IdentityProvider>(*options.oidc);
    if (options.oidc->login) {
      TRY_ASSIGN(front->login_, LoginDesk::open(*options.oidc, *front->provider_, *front->governor_, *front->sessions_,
                                                key ? &*key : nullptr, [] { return now(); }));
    }
    by_provider = [provider = front->provider_.get()](std::string_view token, Instant at) {
      return provider->by_token(token, at);
    };
  }
  front->logs_ = std::make_unique<LogReader>(options.backend);
  if (options.tasks)
    front->log_keeper_ = std::make_unique<LogKeeper>(
        service, *front->governor_,
        LogKeeperOptions{.tasks = options.tasks,
                         .clock = [] { return now(); },
                         .say = [](const std::string& problem) { fmt::print(stderr, "stint: logs of jobs: {}\n", problem); }},
        front->rules_of_logs(options.log_keeping, options.client_rules));
  front->api_ = std::make_unique<Api>(
      service, *front->governor_,
      ApiOptions{.read_log = [logs = front->logs_.get()](const LogQuery& query,
                                                         LogReader::Answer answer) { logs->read(query, std::move(answer)); },
                 .clock = [] { return now(); },
                 .room_for_work = room_check(options.state_folder, options.disk_reserve),
                 .version = options.version,
                 .by_provider = std::move(by_provider),
                 .job_key = options.job_key,
                 .provider_shows_factor = options.oidc && options.oidc->second_factor,
                 .login = front->login_.get(),
                 .sessions = front->sessions_.get(),
                 .findings = std::move(options.findings),
                 .audits = options.audits,
                 .statements = options.statements,
                 .allocations = options.allocations,
                 .bills = options.bills,
                 .power = options.power,
                 .replicas = options.replicas,
                 .log_keeper = front->log_keeper_.get(),
                 .alerts = options.alerts,
                 .telemetry = options.telemetry,
                 .cluster = options.cluster,
                 .off = options.off});
  HttpServerOptions http;
  http.address = listen.address;
  http.port = listen.port;
  http.tls = std::move(options.tls);
  http.plain_beyond_loopback = options.plain_beyond_loopback;
  http.max_peer_connections = kMostConnectionsOfAddress;
  http.max_user_requests = kMostRequestsOfUser;
  http.max_user_streams = kMostStreamsOfUser;
  http.bodies = ByteBudget::of(kMostBodyBytes);
  http.max_user_body_bytes = kMostBodyBytesOfUser;
  http.gate = [api = front->api_.get()](const HttpRequest& head) { return api->admit(head); };
  front->readers_ = std::make_unique<WorkerPool>(1);
  TRY_ASSIGN(HttpServer server,
             HttpServer::start(std::move(http), [api = front->api_.get(), login = front->login_.get(),
                                                 readers = front->readers_.get()](HttpRequest request, Responder responder) {
               if (auto page = page_reply(request)) return responder.reply(std::move(*page));
               if (login != nullptr && login->take(request, responder)) return;
               if (request.body.size() <= kReadOnServersThread) return api->handle(std::move(request), std::move(responder));
               readers->submit([api, held = std::make_shared<HttpRequest>(std::move(request)), responder] {
                 api->handle(std::move(*held), responder);
               });
             }));
  front->server_ = std::make_unique<HttpServer>(std::move(server));
  return front;
}

LogRules Front::rules_of_logs(const LogKeeping& keeping, const std::vector<ClientRules>& clients) const {
  const auto disk = disk_room(job_logs_);
  return log_rules(keeping, clients, disk ? std::optional(disk->size) : std::nullopt);
}

void Front::reconfigure(const std::vector<std::string>& clients, const AuditPolicy& audit_policy, const LogKeeping& log_keeping,
                        const std::vector<ClientRules>& client_rules) {
  if (log_keeper_) log_keeper_->set_rules(rules_of_logs(log_keeping, client_rules));
  AuditPolicy policy = audit_policy;
  if (keeps_all_reads_) policy.keep_reads = Duration();
  governor_->set_policy(policy);
  make_clients_known(*governor_, clients);
}

Status Front::reload_certificates() { return server_ ? server_->reload_certificates() : Status(); }

void Front::close_doors() {
  server_.reset();
  readers_.reset();
}

// In this order: no request comes in any more; the service has been stopped and calls back no more; the last records are written.
Front::~Front() {
  close_doors();
  logs_.reset();
  api_.reset();
  log_keeper_.reset();
  login_.reset();
  sessions_.reset();
  provider_.reset();
  governor_.reset();
}

std::string Front::url() const { return server_ ? server_->url() : ""; }

}  // namespace stint
