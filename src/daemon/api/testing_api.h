// An API over HTTP for tests: an engine with simulated machines, the clients acme and zoo, users named after their roles.
#pragma once

#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "backends/output_order.h"
#include "base/check.h"
#include "base/text.h"
#include "daemon/allocation_desk.h"
#include "daemon/api/api.h"
#include "daemon/api/page_sessions.h"
#include "daemon/bill_book.h"
#include "daemon/finding_book.h"
#include "daemon/live/live_telemetry.h"
#include "daemon/testing_audit_runner.h"
#include "daemon/testing_daemon.h"
#include "daemon/testing_statement_runner.h"
#include "host/http_client.h"
#include "host/http_server.h"
#include "host/testing_files.h"

namespace stint {

constexpr Instant kNow = Instant::from_seconds(1'800'000'000);

/// One rule: more jobs wait than so many.
inline AlertConfig testing_alerts(int backlog) {
  const auto config = parse_alert_config(
      fmt::format(R"({{"alerts":{{"rules":[{{"name":"Backlog","measure":"fact","fact":"jobs-waiting","comparison":">",)"
                  R"("threshold":{},"summary":"Jobs wait."}}]}}}})",
                  backlog),
      "test");
  CHECK(config.ok(), "{}", config.error().message);
  return *config;
}

/// A daemon with an API: clients acme and zoo, whose users are named after their roles.
class TestingApi {
 public:
  explicit TestingApi(int backlog = 0) {
    auto log = EventLog::open(dir_ / "events.db");
    CHECK(log.ok(), "{}", log.error().message);
    log_.emplace(std::move(*log));
    auto engine = Engine::open(*log_, backend_, testing_fleet(), {}, kNow);
    CHECK(engine.ok(), "{}", engine.error().message);
    auto governor = Governor::open(dir_ / "govern.db");
    CHECK(governor.ok(), "{}", governor.error().message);
    governor_ = std::move(*governor);
    for (const char* client : {"acme", "zoo"})
      put(Client{client, false, {}, kNow});
    service_ = std::make_unique<Service>(std::move(*engine), backend_, EventClock(kNow));
    ApiOptions options;
    options.clock = [] { return kNow; };
    options.read_log = [this](const LogQuery& query, const auto& answer) {
      answer(read_log(output_files(dir_ / format_key(query.key)), query));
    };
    options.version = "1.2.3";
    auto findings = FindingBook::open(dir_ / ".");
    CHECK(findings.ok(), "{}", findings.error().message);
    options.findings = std::move(*findings);
    auto desk = AlertDesk::open(*service_, testing_alerts(backlog), {},
                                {.live = nullptr, .findings = nullptr, .last_at = {}, .couriers = {}});
    CHECK(desk.ok(), "{}", desk.error().message);
    desk_ = std::move(*desk);
    options.alerts = desk_.get();
    options.telemetry = &live_;
    options.sessions = &sessions_;
    audits_ = std::make_unique<AuditRunner>(AuditConfig{.every = Duration()}, testing_audit_runner(dir_, options));
    options.audits = audits_.get();
    statements_ = std::make_unique<StatementRunner>(StatementConfig{}, testing_statement_runner(dir_, options));
    options.statements = statements_.get();
    CHECK(statements_->begin("2026-10", "test").ok() && statements_written(*statements_), "no statements");
    // In place of stint a script that answers with how it was called.
    const std::string asked = dir_ / "allocation-program";
    put_file(asked, "#!/bin/sh\nprintf '{\"code\":200,\"status\":\"success\",\"data\":[],\"warning\":\"%s\"}' \"$*\"\n");
    std::filesystem::permissions(asked, std::filesystem::perms::owner_all);
    allocations_ = std::make_unique<AllocationDesk>(asked, dir_ / "history.db");
    options.allocations = allocations_.get();
    bills_ = std::make_unique<BillBook>(dir_ / "events.db");
    options.bills = bills_.get();
    live_.put_work({.nodes = service_->get([](const Engine& e) { return e.nodes(); }).get()});
    api_ = std::make_unique<Api>(*service_, *governor_, options);
    auto server = HttpServer::start(
        {}, [this](HttpRequest request, Responder responder) { api_->handle(std::move(request), std::move(responder)); });
    CHECK(server.ok(), "{}", server.error().message);
    server_.emplace(std::move(*server));
  }
  ~TestingApi() {
    server_.reset();
    audits_.reset();
    allocations_.reset();
    bills_.reset();
    desk_->stop();
    service_->stop();
  }

  TestingApi(const TestingApi&) = delete;
  TestingApi& operator=(const TestingApi&) = delete;

  void put(GovernChange change) {
    std::promise<Status> done;
    governor_->change(std::move(change), {.at = kNow, .actor = "test"},
                      [&](Status status) { done.set_value(std::move(status)); });
    const Status status = done.get_future().get();
    CHECK(status.ok(), "{}", status.error().message);
  }

  /// A token of a user with these roles, made when there is none yet: "submitter@acme", or several with commas.
  std::string token_of(const std::string& roles, const std::string& scopes = "all") {
    std::string& secret = tokens_[roles + " " + scopes];
    if (!secret.empty()) return secret;
    User user{.name = roles.substr(0, roles.find(',')), .created = kNow};
    for (const std::string_view role : split(roles, ','))
      user.grants.push_back(*parse_grant(role));
    put(user);
    const NewToken made = make_token(user.name, *parse_scopes(scopes), kNow, Duration::hours(1), "");
    put(made.token);
    secret = made.secret;
    return secret;
  }

  struct Answer {
    int status = 0;
    std::string body;
    std::vector<HttpField> headers;
    [[nodiscard]] nlohmann::json parsed() const { return nlohmann::json::parse(body); }
  };
  Answer call(const std::string& token, const std::string& method, const std::string& path, const std::string& body = "",
              std::vector<HttpField> headers = {}) {
    if (!token.empty()) headers.emplace_back("Authorization", "Bearer " + token);
    const auto response =
        client_.send({.method = method, .url = server_->url() + path, .headers = std::move(headers), .body = body});
    CHECK(response.ok(), "{}", response.error().message);
    return {response->status, response->body, response->headers};
  }
  Answer as(const std::string& roles, const std::string& method, const std::string& path, const std::string& body = "") {
    return call(token_of(roles), method, path, body);
  }
  std::string submit(const std::string& roles, const std::string& queue, const std::string& more = "") {
    const Answer answer = as(roles, "POST", "/v1/jobs", job_json(queue, more));
    CHECK(answer.status == 201, "{}", answer.body);
    return answer.parsed()["id"].get<std::string>();
  }
  static std::string job_json(const std::string& queue, const std::string& more = "") {
    return fmt::format(R"({{"queue":"{}","command":["sleep","1000"],"gpus":1,"simulated_duration":"10h"{}}})", queue, more);
  }

 protected:
  ScratchDir dir_;
  SimulatedBackend backend_;
  std::optional<EventLog> log_;
  std::unique_ptr<Governor> governor_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<AlertDesk> desk_;
  LiveTelemetry live_;
  PageSessions sessions_{false};
  std::unique_ptr<AuditRunner> audits_;
  std::unique_ptr<StatementRunner> statements_;
  std::unique_ptr<AllocationDesk> allocations_;
  std::unique_ptr<BillBook> bills_;
  std::unique_ptr<Api> api_;
  std::optional<HttpServer> server_;
  std::map<std::string, std::string> tokens_;
  HttpClient client_;
};

}  // namespace stint
