#include "daemon/alerts/alert_courier.h"

#include <algorithm>

#include "base/text.h"
#include "codec/metrics/alert_json.h"
#include "daemon/waking.h"
#include "host/clock.h"
#include "host/file.h"
#include "host/http_client.h"
#include "host/sealed.h"
#include "host/secret.h"

namespace stint {
namespace {

constexpr size_t kNoticesAtOnce = 64;
constexpr int kMostRefusals = 5;
constexpr Duration kLongestCourierSleep = Duration::minutes(1);

/// Scheme and host: what comes behind is often the secret itself.
std::string server_of(const std::string& url) {
  const size_t host = url.find("://") + 3;
  const std::string rest = url.substr(host, url.find_first_of("/?#", host) - host);
  const size_t user = rest.rfind('@');
  return url.substr(0, host) + (user == std::string::npos ? rest : rest.substr(user + 1));
}

}  // namespace

AlertCourier::AlertCourier(AlertReceiver receiver, std::string link, AlertDelivery delivery, AlertCourierOptions options)
    : receiver_(std::move(receiver)), link_(std::move(link)), delivery_(std::move(delivery)), options_(options) {
  state_.name = receiver_.name;
  state_.kind = receiver_.kind;
  state_.server = server_of(receiver_.url);
}

Result<std::unique_ptr<AlertCourier>> AlertCourier::create(AlertReceiver receiver, std::string link, AlertDelivery delivery,
                                                           AlertCourierOptions options) {
  std::unique_ptr<AlertCourier> courier(new AlertCourier(std::move(receiver), std::move(link), std::move(delivery), options));
  TRY_ASSIGN(courier->secret_, read_secret_file(courier->receiver_.secret_file, courier->options_.secrets_key.get()));
  TRY_ASSIGN(courier->token_, read_secret_file(courier->receiver_.token_file, courier->options_.secrets_key.get()));
  return courier;
}

void AlertCourier::start() {
  thread_ = std::jthread([this] { run(); });
}

AlertCourier::~AlertCourier() { stop(); }

void AlertCourier::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
}

void AlertCourier::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  wake_.notify_all();
}

AlertReceiverState AlertCourier::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void AlertCourier::run() {
  const AlertAudience audience = receiver_.audience();
  Duration pause = options_.first_pause;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      woken_ = false;
    }
    const std::vector<AlertNotice> notices = delivery_.due(audience, kNoticesAtOnce);
    const bool well = deliver(notices);
    std::unique_lock lock(mutex_);
    if (!well) {
      // What is new does not make it answer sooner.
      wake_.wait_for(lock, chrono_of(pause), [this] { return stopping_; });
      pause = std::min(pause * 2, options_.longest_pause);
      continue;
    }
    pause = options_.first_pause;
    if (!notices.empty()) continue;
    lock.unlock();
    const auto next = delivery_.next_due(audience);
    const Duration sleep = next ? std::min(*next - now(), kLongestCourierSleep) : kLongestCourierSleep;
    lock.lock();
    wake_.wait_for(lock, chrono_of(sleep), [this] { return stopping_ || woken_; });
  }
}

bool AlertCourier::deliver(const std::vector<AlertNotice>& notices) {
  if (notices.empty()) return true;
  if (receiver_.kind == AlertReceiver::Kind::kAlertmanager) return tell_alertmanager(notices);
  return std::ranges::all_of(notices, [this](const AlertNotice& notice) { return tell_webhook(notice); });
}

bool AlertCourier::tell_webhook(const AlertNotice& notice) {
  switch (post(receiver_.url, webhook_json(std::span(&notice.message, 1), link_), notice.key)) {
    case Answer::kLater: return false;
    case Answer::kNever: {
      if (++refusals_ < kMostRefusals) return false;
      const std::lock_guard lock(mutex_);
      ++state_.refused;
      break;
    }
    case Answer::kTaken: break;
  }
  refusals_ = 0;
  told({notice});
  return true;
}

bool AlertCourier::tell_alertmanager(const std::vector<AlertNotice>& notices) {
  std::vector<AlertMessage> messages;
  messages.reserve(notices.size());
  for (const AlertNotice& notice : notices)
    messages.push_back(notice.message);
  // Three repetitions may get lost before it takes them for ended, as with Prometheus.
  const Instant until = now() + receiver_.again * 4;
  const Answer answer = post(receiver_.url + "/api/v2/alerts", alertmanager_json(messages, until, link_), "");
  if (answer == Answer::kTaken) told(notices);
  return answer == Answer::kTaken;
}

AlertCourier::Answer AlertCourier::post(const std::string& url, const std::string& body, const std::string& key) {
  HttpOptions options;
  options.timeout = options.connect_timeout = options_.timeout;
  options.max_body_bytes = size_t{1} << 20;
  options.credentials.bearer_token = token_;
  HttpCall call{.method = "POST", .url = url, .headers = {}, .body = body};
  if (!key.empty()) call.headers.emplace_back("Idempotency-Key", key);
  if (!secret_.empty()) call.headers.emplace_back("X-Stint-Signature-256", "sha256=" + hmac_sha256_hex(secret_, body));
  // A new connection each time: tellings are minutes apart, and an address that has moved is found again.
  const Result<HttpResponse> response = HttpClient(std::move(options)).send(call);
  const bool taken = response.ok() && response->status / 100 == 2;
  const std::lock_guard lock(mutex_);
  if (taken) {
    ++state_.delivered;
    state_.last_delivered = now();
    state_.last_error.clear();
    return Answer::kTaken;
  }
  ++state_.failed;
  state_.last_failed = now();
  if (!response.ok()) {
    // The address may hold a secret: of it the server alone is named.
    state_.last_error = response.error().message;
    const std::string_view place = std::string_view(url).substr(0, url.find('?'));
    if (const size_t at = state_.last_error.find(place); at != std::string::npos)
      state_.last_error.replace(at, place.size(), state_.server);
    return Answer::kLater;
  }
  state_.last_error = fmt::format("{} answers with status {}: {}", state_.server, response->status, excerpt(response->body, 200));
  const bool may_change = response->status / 100 != 4 || response->status == 408 || response->status == 429;
  return may_change ? Answer::kLater : Answer::kNever;
}

void AlertCourier::told(const std::vector<AlertNotice>& notices) {
  std::vector<AlertWasTold> entries;
  for (const AlertNotice& notice : notices)
    entries.push_back({.id = notice.id, .receiver = receiver_.name, .firing = !notice.message.ends_at.has_value(), .at = now()});
  delivery_.told(std::move(entries));
}

}  // namespace stint
