#include "daemon/identity/login_desk.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/text.h"
#include "daemon/api/page.h"
#include "daemon/identity/fair_queue.h"
#include "daemon/json_values.h"
#include "host/file.h"
#include "host/http_client.h"
#include "host/sealed.h"
#include "host/secret.h"

namespace stint {
namespace {

using TokenJson = nlohmann::json;

constexpr size_t kMostAnswerBytes = size_t{1} << 20;
constexpr size_t kMostWaiting = 64;
/// So many may log in within kLoginLasts. Of those who have: strangers take no place among them.
constexpr size_t kMostUsed = 100'000;

/// An error's words as they begin a page.
std::string sentence(std::string_view words) {
  std::string text(words);
  const bool is_address = words.starts_with("http");
  if (!text.empty() && !is_address && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

/// "10.0.0.7" of "10.0.0.7:51234"; of IPv6 the network, as one has as many addresses as they like.
std::string address_of_peer(const std::string& peer) {
  std::string address = peer.substr(0, peer.rfind(':'));
  if (std::ranges::count(address, ':') < 4) return address;
  size_t groups = 0;
  for (size_t at = 0; at < address.size(); ++at)
    if (address[at] == ':' && ++groups == 4) return address.substr(0, at);
  return address;
}

HttpReply not_logged_in(const Error& why) {
  return page_notice(why.code == ErrorCode::kUnavailable ? 503 : 403, "Not logged in", sentence(why.message));
}

}  // namespace

struct LoginDesk::Impl {
  /// Somebody who has come back with a code.
  struct Arrival {
    Responder responder;
    LoginTicket ticket;
    std::string code, peer;
  };

  Impl(OidcConfig the_config, const IdentityProvider& the_provider, Governor& the_governor, PageSessions& the_sessions,
       std::function<Instant()> the_clock)
      : config(std::move(the_config)),
        provider(the_provider),
        governor(the_governor),
        sessions(the_sessions),
        clock(std::move(the_clock)) {}

  const OidcConfig config;
  const IdentityProvider& provider;
  Governor& governor;
  PageSessions& sessions;
  const std::function<Instant()> clock;
  std::string secret;
  const LoginTickets tickets;

  std::mutex lock;  // guards what follows
  std::condition_variable wake;
  FairQueue<Arrival> arrivals{kMostWaiting};  ///< by address: who comes back with codes made up, again and again, is one of many
  std::set<std::string> waiting;              ///< states of those, and of the one that is being looked at
  std::map<std::string, Instant> used;        ///< states of those who have logged in, until they would have ended by themselves
  Instant last_refused;
  bool stopping = false;
  std::thread thread;

  const OidcLogin& login() const { return *config.login; }
  bool is_secure() const { return login().public_url.starts_with("https://"); }
  /// What a login that has begun must remember: it comes back from another site.
  std::string login_cookie(std::string_view value, Duration life) const {
    return page_cookie("login", value, life, "Lax", is_secure());
  }

  void begin(const Responder& responder);
  void come_back(const HttpRequest& request, const Responder& responder);
  void run();
  /// @return whether they are in.
  bool finish(const Arrival& arrival);
  Result<TokenJson> tokens_for(const Arrival& arrival) const;
  Result<Principal> who_is(const Arrival& arrival) const;
  void refuse(const Responder& responder, const std::string& peer, const Error& why);
};

void LoginDesk::Impl::begin(const Responder& responder) {
  const Result<OidcEndpoints> endpoints = provider.endpoints();
  if (!endpoints.ok()) return responder.reply(not_logged_in(endpoints.error()));
  const LoginTicket ticket = tickets.make(clock());
  HttpReply reply{.status = 303, .content_type = "text/plain", .headers = {}, .body = {}};
  reply.headers = {{"Location", authorization_url(config, *endpoints, ticket)},
                   {"Set-Cookie", login_cookie(ticket.cookie, kLoginLasts)},
                   {"Referrer-Policy", "no-referrer"}};
  responder.reply(std::move(reply));
}

void LoginDesk::Impl::come_back(const HttpRequest& request, const Responder& responder) {
  const Instant now = clock();
  const auto shown = cookie_of(request, page_cookie_name("login", is_secure()));
  const auto ticket = shown ? tickets.of_cookie(*shown, now) : std::nullopt;
  if (!ticket)
    return refuse(responder, request.peer,
                  make_error(ErrorCode::kInvalidInput,
                             "this browser has begun no login, or more than {} minutes ago, or before the daemon was started",
                             kLoginLasts.whole_seconds() / 60));
  const Result<std::string> code = code_of_callback(request.parts, config, *ticket);
  if (!code.ok()) return refuse(responder, request.peer, code.error());
  const auto too_many = [this](const Arrival& whom) {
    refuse(whom.responder, whom.peer, make_error(ErrorCode::kUnavailable, "too many people log in at this moment: try again"));
  };
  std::unique_lock guard(lock);
  std::erase_if(used, [now](const auto& entry) { return entry.second <= now; });
  if (used.contains(ticket->state) || waiting.contains(ticket->state)) {
    guard.unlock();
    return refuse(responder, request.peer, invalid("this login has been used before"));
  }
  Arrival arrival{responder, *ticket, *code, request.peer};
  if (used.size() >= kMostUsed) {
    guard.unlock();
    return too_many(arrival);
  }
  waiting.insert(ticket->state);
  const std::optional<Arrival> left_out = arrivals.push(address_of_peer(request.peer), std::move(arrival));
  if (left_out) waiting.erase(left_out->ticket.state);
  guard.unlock();
  if (left_out) too_many(*left_out);
  wake.notify_one();
}

void LoginDesk::Impl::run() {
  std::unique_lock guard(lock);
  for (;;) {
    wake.wait(guard, [this] { return stopping || !arrivals.empty(); });
    if (stopping) return;
    const Arrival arrival = arrivals.pop();
    guard.unlock();
    const bool is_in = finish(arrival);
    guard.lock();
    waiting.erase(arrival.ticket.state);
    // A code that the provider did not take is no login: whoever makes them up must leave no trace in memory.
    if (is_in) used.emplace(arrival.ticket.state, clock() + kLoginLasts);
  }
}

Result<TokenJson> LoginDesk::Impl::tokens_for(const Arrival& arrival) const {
  TRY_ASSIGN(const OidcEndpoints endpoints, provider.endpoints());
  HttpOptions options;
  options.timeout = kProviderPatience;
  options.max_body_bytes = kMostAnswerBytes;
  options.ca_file = config.ca_file;
  std::vector<HttpField> form = {{"grant_type", "authorization_code"},
                                 {"code", arrival.code},
                                 {"redirect_uri", login().redirect_url()},
                                 {"code_verifier", arrival.ticket.verifier}};
  if (secret.empty() || endpoints.secret_in_form) form.emplace_back("client_id", login().client_id);
  if (!secret.empty() && endpoints.secret_in_form) form.emplace_back("client_secret", secret);
  if (!secret.empty() && !endpoints.secret_in_form) {
    options.credentials.user = escape_url(login().client_id);  // RFC 6749, section 2.3.1
    options.credentials.password = escape_url(secret);
  }
  HttpClient client(options);
  TRY_ASSIGN(const HttpResponse response, client.post_form(endpoints.token, form));
  const TokenJson answer = TokenJson::parse(response.body, nullptr, false);
  if (response.status != 200 || !answer.is_object() || text_member(answer, "id_token").empty()) {
    const std::string error = answer.is_object() ? text_member(answer, "error") : "";
    return make_error(response.status >= 500 ? ErrorCode::kUnavailable : ErrorCode::kInvalidInput,
                      "the identity provider did not take the code of this login: it answered {}{}", response.status,
                      error.empty() ? "" : fmt::format(" ({})", excerpt(error)));
  }
  return answer;
}

Result<Principal> LoginDesk::Impl::who_is(const Arrival& arrival) const {
  TRY_ASSIGN(const TokenJson tokens, tokens_for(arrival));
  TRY_ASSIGN(const std::string claims, provider.verified_claims(text_member(tokens, "id_token")));
  TRY_ASSIGN(const OidcEndpoints endpoints, provider.endpoints());
  std::string userinfo;
  const std::string access = text_member(tokens, "access_token");
  if (wants_userinfo(claims, config) && !endpoints.userinfo.empty() && !access.empty()) {
    HttpOptions options;
    options.timeout = kProviderPatience;
    options.max_body_bytes = kMostAnswerBytes;
    options.ca_file = config.ca_file;
    options.credentials.bearer_token = access;
    TRY_ASSIGN(const HttpResponse response, HttpClient(options).get(endpoints.userinfo));
    if (response.status == 200) userinfo = response.body;
  }
  TRY_ASSIGN(const Principal who, principal_of_login(claims, userinfo, config, arrival.ticket, clock()));
  const auto user = governor.user(who.user);
  if (user && user->disabled) return invalid("you are {}, who is disabled here: ask whoever runs this daemon", who.user);
  return who;
}

bool LoginDesk::Impl::finish(const Arrival& arrival) {
  const Result<Principal> who = who_is(arrival);
  if (!who.ok()) {
    refuse(arrival.responder, arrival.peer, who.error());
    return false;
  }
  AuditEntry entry{.at = clock(),
                   .actor = who->user,
                   .peer = arrival.peer,
                   .method = "GET",
                   .target = "/login/callback",
                   .status = 303,
                   .detail = fmt::format("logged in by {} until {}", config.issuer, format_utc(*who->expires))};
  HttpReply reply{.status = 303, .content_type = "text/plain", .headers = {}, .body = {}};
  const Instant now = clock();
  reply.headers = {{"Location", "/"},
                   sessions.open(*who, now, std::min(*who->expires, now + login().session)),
                   {"Set-Cookie", login_cookie("", Duration())},
                   {"Referrer-Policy", "no-referrer"}};
  governor.record(std::move(entry), [responder = arrival.responder, reply = std::move(reply)](const Status& durable) mutable {
    responder.reply(durable.ok() ? std::move(reply) : not_logged_in(durable.error()));
  });
  return true;
}

/// The person is told; the audit log, too, but at most once a second: unknown callers must not fill the disk.
void LoginDesk::Impl::refuse(const Responder& responder, const std::string& peer, const Error& why) {
  HttpReply reply = not_logged_in(why);
  const int status = reply.status;
  responder.reply(std::move(reply));
  const Instant now = clock();
  {
    const std::lock_guard guard(lock);
    if (now - last_refused < kRefusedRecordEvery) return;
    last_refused = now;
  }
  governor.record({.at = now,
                   .peer = peer,
                   .method = "GET",
                   .target = "/login/callback",
                   .status = status,
                   .detail = excerpt(why.message, 300)},
                  nullptr);
}

LoginDesk::LoginDesk(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->thread = std::thread([desk = impl_.get()] { desk->run(); });
}

Result<std::unique_ptr<LoginDesk>> LoginDesk::open(OidcConfig config, const IdentityProvider& provider, Governor& governor,
                                                   PageSessions& sessions, const SealKey* secrets_key,
                                                   std::function<Instant()> clock) {
  TRY_ASSIGN(std::string secret, read_secret_file(config.login->client_secret_file, secrets_key));
  auto impl = std::make_unique<Impl>(std::move(config), provider, governor, sessions, std::move(clock));
  impl->secret = std::move(secret);
  return std::unique_ptr<LoginDesk>(new LoginDesk(std::move(impl)));
}

LoginDesk::~LoginDesk() {
  {
    const std::lock_guard guard(impl_->lock);
    impl_->stopping = true;
  }
  impl_->wake.notify_all();
  impl_->thread.join();
}

bool LoginDesk::take(const HttpRequest& request, const Responder& responder) {
  const std::vector<std::string>& path = request.parts.segments;
  if (request.method != "GET" || path.empty() || path[0] != "login") return false;
  if (path.size() == 1) {
    impl_->begin(responder);
    return true;
  }
  if (path.size() != 2 || path[1] != "callback") return false;
  impl_->come_back(request, responder);
  return true;
}

const std::string& LoginDesk::provider_name() const { return impl_->login().name; }

}  // namespace stint
