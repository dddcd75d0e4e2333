#include "daemon/front.h"

#include "base/text.h"
#include "daemon/page.h"
#include "host/clock.h"
#include "host/secret.h"

namespace stint {
namespace {

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
  if (heads.file.empty()) heads.file = options.state_folder + "/audit-heads.jsonl";
  if (heads.key_file.empty()) heads.key_file = options.state_folder + "/audit.key";
  TRY_ASSIGN(front->governor_, Governor::open(options.state_folder + "/govern.db", std::move(heads)));
  front->make_known(options.clients);
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
      TRY_ASSIGN(front->login_,
                 LoginDesk::open(*options.oidc, *front->provider_, *front->governor_, *front->sessions_, [] { return now(); }));
    }
    by_provider = [provider = front->provider_.get()](std::string_view token, Instant at) {
      return provider->by_token(token, at);
    };
  }
  front->api_ = std::make_unique<Api>(service, *front->governor_,
                                      ApiOptions{.log_base = std::move(options.log_base),
                                                 .clock = [] { return now(); },
                                                 .version = options.version,
                                                 .by_provider = std::move(by_provider),
                                                 .login = front->login_.get(),
                                                 .sessions = front->sessions_.get(),
                                                 .findings = std::move(options.findings),
                                                 .audits = options.audits,
                                                 .statements = options.statements,
                                                 .bills = options.bills,
                                                 .power = options.power,
                                                 .replicas = options.replicas,
                                                 .alerts = options.alerts,
                                                 .telemetry = options.telemetry,
                                                 .off = options.off});
  HttpServerOptions http;
  http.address = listen.address;
  http.port = listen.port;
  http.tls = std::move(options.tls);
  http.plain_beyond_loopback = options.plain_beyond_loopback;
  TRY_ASSIGN(HttpServer server, HttpServer::start(std::move(http), [api = front->api_.get(), login = front->login_.get()](
                                                                       HttpRequest request, Responder responder) {
               if (auto page = page_reply(request)) return responder.reply(std::move(*page));
               if (login != nullptr && login->take(request, responder)) return;
               api->handle(std::move(request), std::move(responder));
             }));
  front->server_ = std::make_unique<HttpServer>(std::move(server));
  return front;
}

void Front::make_known(const std::vector<std::string>& clients) { make_clients_known(*governor_, clients); }

Status Front::reload_certificates() { return server_ ? server_->reload_certificates() : Status(); }

void Front::close_doors() { server_.reset(); }

// In this order: no request comes in any more; the service has been stopped and calls back no more; the last records are written.
Front::~Front() {
  close_doors();
  api_.reset();
  login_.reset();
  sessions_.reset();
  provider_.reset();
  governor_.reset();
}

std::string Front::url() const { return server_ ? server_->url() : ""; }

}  // namespace stint
