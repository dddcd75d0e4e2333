#include "daemon/alerts/alert_desk.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include "base/text.h"
#include "daemon/alerts/alert_journal.h"
#include "daemon/waking.h"
#include "host/clock.h"
#include "host/event_clock.h"

namespace stint {
namespace {

/// What happens is looked at together with what else happens within this time.
constexpr Duration kGathered = Duration::milliseconds(500);
constexpr Duration kLongestDeskSleep = Duration::minutes(1);
constexpr size_t kMostUnwritten = 10'000;
constexpr size_t kMostSilences = 1'000;

bool matters(const EventView& event) { return event.kind.starts_with("node.") || event.kind == "job.ended"; }

/// What goes into the stream of events.
EventView notice_of(const BookedAlert& alert, const std::string& queue) {
  EventView notice;
  notice.kind = alert.firing() ? "alert.fired" : "alert.ended";
  notice.node = alert.who.node;
  if (const auto job = parse_public_id(alert.who.name); job && alert.who.scope == AlertScope::kJob) {
    notice.job_number = job->number + job->index.value_or(0);
    notice.array_index = job->index;
  }
  notice.queue = queue.empty() ? alert.client : queue;
  const auto summary = alert.message.annotations.find("summary");
  notice.detail = fmt::format("{}: {}", alert.rule, summary == alert.message.annotations.end() ? "" : summary->second);
  if (!alert.who.gpu.empty()) notice.detail += fmt::format(" ({})", alert.who.gpu);
  return notice;
}

}  // namespace

struct AlertDesk::Impl {
  /// On the desk's thread: makes entries; `done` hears whether they are durable.
  struct Command {
    std::function<Result<std::vector<AlertEntry>>(Impl&, Instant)> make;
    std::function<void(Result<std::vector<AlertEntry>>)> done;
    bool even_if_not_durable = false;
  };
  Impl(Service& the_service, AlertConfig the_config, Options the_options)
      : service(the_service), options(the_options), clock(the_service.clock()), config(std::move(the_config)) {}

  void run();
  void follow(const Command& command);
  bool has_news();
  void look();
  void catch_up();
  void take_over(AlertConfig next);
  void restore(Instant now);
  /// @return whether it is durable. Applies either way when `even_if_not`.
  Status write(std::vector<AlertEntry> entries, bool even_if_not);
  void apply(const std::vector<AlertEntry>& entries);
  void write_anew();
  [[nodiscard]] bool needs_no_row(const AlertEntry& entry) const;
  Result<std::vector<std::unique_ptr<AlertCourier>>> make_couriers(const AlertConfig& of);
  [[nodiscard]] std::vector<AlertAudience> audiences() const;
  void enter(Command command);
  [[nodiscard]] Duration until_next(Instant now) const;

  Service& service;
  const Options options;

  // The desk's thread alone.
  std::unique_ptr<AlertFeed> feed;
  EventClock clock;
  int64_t fed_event = 0;         // the evaluator has those up to it
  int64_t glanced_event = 0;     // none up to it, that is not fed, matters
  Instant looked;                // at everything
  Instant glanced;               // whether something matters
  std::optional<Instant> again;  // something happened: to be glanced at then
  std::vector<AlertEntry> unwritten;
  size_t rows_there = 0;  // of the stream, as far as is known

  mutable std::mutex mutex;
  std::condition_variable wakeup;
  AlertConfig config;                                   // guarded
  AlertBook book;                                       // guarded; changed by the desk's thread alone
  std::deque<Command> commands;                         // guarded
  std::vector<std::unique_ptr<AlertCourier>> couriers;  // guarded
  AlertCounters counters;                               // guarded
  std::optional<AlertConfig> next_config;               // guarded: to be taken over
  bool happened = false;                                // guarded
  bool stopping = false;                                // guarded
  std::jthread thread;
};

AlertDesk::AlertDesk(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<AlertDesk>> AlertDesk::open(Service& service, AlertConfig config, const std::vector<std::string>& rows,
                                                   Options options) {
  std::unique_ptr<AlertDesk> desk(new AlertDesk(std::make_unique<Impl>(service, std::move(config), options)));
  Impl& s = *desk->impl_;
  JsonParser parser;
  for (size_t r = 0; r < rows.size(); ++r) {
    const Result<AlertEntry> entry = decode_alert_entry(parser, rows[r]);
    if (!entry.ok()) return invalid("event log, row {} of alerts: {}", r + 1, entry.error().message);
    // One whose writing was said to have failed may be there twice: the second does not follow and is passed over.
    (void)s.book.apply(*entry);
  }
  s.rows_there = rows.size();
  s.feed = std::make_unique<AlertFeed>(s.config.rules, options.live);
  TRY_ASSIGN(s.couriers, s.make_couriers(s.config));
  s.thread = std::jthread([impl = desk->impl_.get()] { impl->run(); });
  for (const auto& courier : s.couriers)
    courier->start();
  return desk;
}

AlertDesk::~AlertDesk() { stop(); }

void AlertDesk::stop() {
  Impl& s = *impl_;
  std::vector<std::unique_ptr<AlertCourier>> leaving;
  {
    const std::lock_guard lock(s.mutex);
    leaving.swap(s.couriers);
  }
  for (const auto& courier : leaving)
    courier->stop();
  leaving.clear();  // each may wait for what it has told to be written down: the desk's thread still does that
  {
    const std::lock_guard lock(s.mutex);
    s.stopping = true;
  }
  s.wakeup.notify_all();
  if (s.thread.joinable()) s.thread.join();
}

void AlertDesk::wake() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->happened = true;
  }
  impl_->wakeup.notify_all();
}

Status AlertDesk::reload(AlertConfig config) {
  Impl& s = *impl_;
  TRY_ASSIGN(std::vector<std::unique_ptr<AlertCourier>> couriers, s.make_couriers(config));
  {
    const std::lock_guard lock(s.mutex);
    couriers.swap(s.couriers);
    s.next_config = std::move(config);
  }
  s.wakeup.notify_all();
  couriers.clear();  // the old ones have told what they tell before the new ones begin
  const std::lock_guard lock(s.mutex);
  for (const auto& courier : s.couriers)
    courier->start();
  return {};
}

Result<std::vector<std::unique_ptr<AlertCourier>>> AlertDesk::Impl::make_couriers(const AlertConfig& of) {
  AlertDelivery delivery;
  delivery.due = [this](const AlertAudience& audience, size_t limit) {
    const std::lock_guard lock(mutex);
    return book.due(audience, stint::now(), limit);
  };
  delivery.next_due = [this](const AlertAudience& audience) {
    const std::lock_guard lock(mutex);
    return book.next_due(audience, stint::now());
  };
  delivery.told = [this](std::vector<AlertWasTold> told) {
    std::vector<AlertEntry> entries(told.begin(), told.end());
    std::promise<void> written;
    enter({.make = [&entries](Impl&, Instant) { return std::move(entries); },
           .done = [&written](const auto&) { written.set_value(); },
           .even_if_not_durable = true});
    written.get_future().wait();
  };
  std::vector<std::unique_ptr<AlertCourier>> made;
  for (const AlertReceiver& receiver : of.receivers) {
    auto courier = AlertCourier::create(receiver, of.link, delivery, options.couriers);
    if (!courier.ok()) return invalid("alerts: receiver '{}': {}", receiver.name, courier.error().message);
    made.push_back(std::move(*courier));
  }
  return made;
}

void AlertDesk::Impl::enter(Command command) {
  bool refused = false;
  {
    const std::lock_guard lock(mutex);
    refused = stopping;
    if (!refused) commands.push_back(std::move(command));
  }
  if (refused) return command.done(make_error(ErrorCode::kUnavailable, "the daemon is stopping"));
  wakeup.notify_all();
}

std::vector<AlertAudience> AlertDesk::Impl::audiences() const {
  std::vector<AlertAudience> all;
  for (const AlertReceiver& receiver : config.receivers)
    all.push_back(receiver.audience());
  return all;
}

/// Until the next look at everything, or until what is pending falls due.
Duration AlertDesk::Impl::until_next(Instant now) const {
  Instant next = looked + config.every;
  // Minutes of samples are complete a moment after they are over.
  if (config.every == Duration::minutes(1)) next = Instant::from_seconds(looked.seconds() - looked.seconds() % 60 + 61);
  if (const auto due = feed->evaluator().next_due()) next = std::min(next, std::max(*due, looked + kGathered));
  return std::clamp(next - now, Duration(), kLongestDeskSleep);
}

void AlertDesk::Impl::run() {
  restore(clock.now());
  catch_up();
  look();
  for (;;) {
    std::deque<Command> taken;
    std::optional<AlertConfig> reloaded;
    {
      std::unique_lock lock(mutex);
      Duration sleep = until_next(clock.now());
      if (again) sleep = std::min(sleep, *again - clock.now());
      wakeup.wait_for(lock, chrono_of(sleep),
                      [this] { return stopping || (happened && !again) || next_config || !commands.empty(); });
      if (stopping && commands.empty()) return;
      taken.swap(commands);
      reloaded.swap(next_config);
      if (std::exchange(happened, false) && !again) again = glanced + kGathered;
    }
    for (const Command& command : taken)
      follow(command);
    if (reloaded) take_over(std::move(*reloaded));
    const bool something = again && *again <= clock.now() && has_news();
    if (something || reloaded || until_next(clock.now()) <= Duration()) look();
    write_anew();
  }
}

/// What happened just before the last stop or crash counts as of then, however long ago that is.
void AlertDesk::Impl::catch_up() {
  std::vector<AlertRule> rules = config.rules;
  std::erase_if(rules,
                [](const AlertRule& rule) { return rule.measure != Measure::kEvents && rule.measure != Measure::kEventShare; });
  if (options.last_at == Instant()) return;
  AlertFeed then(std::move(rules), nullptr);
  then.take(service.get([&then](const Engine& engine) { return then.look(engine, 0); }).get());
  const std::vector<AlertChange> changes = then.evaluator().evaluate(options.last_at);
  const auto client_of = [&then](const AlertSubject& who) { return then.client_of(who); };
  (void)write(book.entries_for(then.evaluator(), changes, client_of), true);
  restore(clock.now());
}

void AlertDesk::Impl::take_over(AlertConfig next) {
  {
    const std::lock_guard lock(mutex);
    config = std::move(next);
  }
  feed = std::make_unique<AlertFeed>(config.rules, options.live);
  fed_event = 0;
  const Instant now = clock.now();
  (void)write(book.entries_for_rules(config.rules, now), true);
  restore(now);
}

/// What fires by the book fires for the evaluator.
void AlertDesk::Impl::restore(Instant now) {
  for (const auto& [id, alert] : book.alerts())
    if (alert.firing()) feed->evaluator().restore(alert.rule, alert.who, alert.message.starts_at, alert.value, now);
}

/// Whether something happened that a rule looks at.
bool AlertDesk::Impl::has_news() {
  again.reset();
  glanced = clock.now();
  return service
      .get([this](const Engine& engine) {
        bool news = false;
        for (;;) {
          const auto events = engine.events_since(glanced_event, 1'000);
          if (events.empty()) return news;
          glanced_event = events.back().number;
          news |= std::ranges::any_of(events, matters);
        }
      })
      .get();
}

/// All rules over all that is known now.
void AlertDesk::Impl::look() {
  const AlertWorld world = service.get([this](const Engine& engine) { return feed->look(engine, fed_event); }).get();
  if (!world.events.empty()) glanced_event = fed_event = world.events.back().number;
  const Instant now = clock.now();
  looked = now;
  feed->take(world);
  feed->take_minutes(now);
  if (options.findings != nullptr) {
    const auto audit = options.findings->audit();  // one that is none is told where it is asked for
    feed->take_audit(audit.ok() ? audit->get() : nullptr, now);
  }
  const std::vector<AlertChange> changes = feed->evaluator().evaluate(now);
  (void)write(book.entries_for(feed->evaluator(), changes, [this](const AlertSubject& who) { return feed->client_of(who); }),
              true);
  const std::lock_guard lock(mutex);
  counters = feed->counters();
  book.prune(audiences(), now, config.keep);
}

void AlertDesk::Impl::follow(const Command& command) {
  Result<std::vector<AlertEntry>> entries = command.make(*this, clock.now());
  if (!entries.ok()) return command.done(std::move(entries));
  const Status written = write(*entries, command.even_if_not_durable);
  command.done(written.ok() || command.even_if_not_durable ? std::move(entries)
                                                           : Result<std::vector<AlertEntry>>(written.error()));
}

/// Repetitions to an Alertmanager, which knows equal alerts by itself: after a restart it is simply told again.
bool AlertDesk::Impl::needs_no_row(const AlertEntry& entry) const {
  const auto* told = std::get_if<AlertWasTold>(&entry);
  if (told == nullptr || !told->firing) return false;
  const auto receiver = std::ranges::find(config.receivers, told->receiver, &AlertReceiver::name);
  if (receiver == config.receivers.end() || receiver->kind != AlertReceiver::Kind::kAlertmanager) return false;
  const auto alert = book.alerts().find(told->id);
  return alert != book.alerts().end() && alert->second.told.contains(told->receiver);
}

Status AlertDesk::Impl::write(std::vector<AlertEntry> entries, bool even_if_not) {
  std::vector<SideRow> rows;
  std::vector<EventView> notices;
  for (const std::vector<AlertEntry>* some : {&unwritten, &entries})
    for (const AlertEntry& entry : *some) {
      if (needs_no_row(entry)) continue;
      rows.push_back({std::string(kAlertStream), encode(entry)});
      const auto note = [&](const BookedAlert& alert) { notices.push_back(notice_of(alert, feed->queue_of(alert.who))); };
      if (const auto* fired = std::get_if<AlertFired>(&entry)) note(fired->alert);
      if (const auto* ended = std::get_if<AlertEnded>(&entry))
        if (const auto at = book.alerts().find(ended->id); at != book.alerts().end()) {
          BookedAlert alert = at->second;
          alert.message.ends_at = ended->at;
          note(alert);
        }
    }
  Status durable;
  const size_t count = rows.size();
  if (count > 0) {
    std::promise<Status> done;
    service.append(std::move(rows), std::move(notices),
                   [&done](const Result<bool>& answer) { done.set_value(answer.ok() ? Status() : Status(answer.error())); });
    durable = done.get_future().get();
  }
  if (durable.ok()) {
    unwritten.clear();
    rows_there += count;
  }
  if (!durable.ok() && even_if_not && unwritten.size() + entries.size() <= kMostUnwritten)
    unwritten.insert(unwritten.end(), entries.begin(), entries.end());
  if (durable.ok() || even_if_not) apply(entries);
  return durable;
}

/// When most rows are about what was let go: the book as it is in place of them all, so that the stream does not grow for ever.
void AlertDesk::Impl::write_anew() {
  if (!unwritten.empty() || rows_there < options.rows_at_least || rows_there < 2 * book.size()) return;
  std::vector<SideRow> rows;
  for (const AlertEntry& entry : book.entries_anew())
    rows.push_back({std::string(kAlertStream), encode(entry)});
  const size_t count = rows.size();
  std::promise<bool> done;
  service.renew(std::string(kAlertStream), std::move(rows), [&done](const Result<bool>& answer) { done.set_value(answer.ok()); });
  if (done.get_future().get()) rows_there = count;
}

void AlertDesk::Impl::apply(const std::vector<AlertEntry>& entries) {
  if (entries.empty()) return;
  const std::lock_guard lock(mutex);
  bool to_tell = false;
  for (const AlertEntry& entry : entries) {
    const Status applied = book.apply(entry);
    CHECK(applied.ok(), "an entry made from the book: {}", applied.error().message);
    to_tell |= !std::holds_alternative<AlertWasTold>(entry);
  }
  if (to_tell)
    for (const auto& courier : couriers)
      courier->wake();
}

std::vector<AlertView> AlertDesk::alerts(Which which) const {
  const std::lock_guard lock(impl_->mutex);
  const Instant at = now();
  std::vector<AlertView> firing;
  std::vector<AlertView> ended;
  for (const auto& [id, alert] : impl_->book.alerts())
    if (alert.firing())
      firing.push_back({alert, impl_->book.silenced_by(alert.message.labels, at)});
    else if (which == Which::kAll)
      ended.insert(ended.begin(), {alert, {}});
  std::ranges::stable_sort(firing, {}, [](const AlertView& v) { return v.alert.message.labels.at("severity") != "critical"; });
  firing.insert(firing.end(), ended.begin(), ended.end());
  return firing;
}

std::vector<Silence> AlertDesk::silences() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<Silence> all;
  for (const auto& [id, silence] : impl_->book.silences())
    all.push_back(silence);
  return all;
}

std::vector<AlertReceiverState> AlertDesk::receivers() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<AlertReceiverState> all;
  for (const auto& courier : impl_->couriers) {
    AlertReceiverState& state = all.emplace_back(courier->state());
    state.waiting = impl_->book.waiting(courier->receiver().audience(), now());
  }
  return all;
}

std::vector<AlertRule> AlertDesk::rules() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->config.rules;
}

AlertCounters AlertDesk::counters() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->counters;
}

void AlertDesk::silence(Silence wish, std::function<void(Result<Silence>)> done) {
  auto make = [wish = std::move(wish)](Impl& s, Instant now) -> Result<std::vector<AlertEntry>> {
    if (s.book.silences().size() >= kMostSilences)
      return make_error(ErrorCode::kConflict, "{} silences are known: let some expire", kMostSilences);
    Silence silence = wish;
    silence.id = s.book.next_silence();
    silence.from = std::max(silence.from, now);
    return std::vector<AlertEntry>{AlertSilenced{std::move(silence)}};
  };
  impl_->enter({std::move(make), [done = std::move(done)](Result<std::vector<AlertEntry>> made) {
                  if (!made.ok()) return done(made.error());
                  done(std::get<AlertSilenced>(made->front()).silence);
                }});
}

void AlertDesk::expire(int64_t id, std::function<void(Result<Silence>)> done) {
  auto make = [id](Impl& s, Instant now) -> Result<std::vector<AlertEntry>> {
    if (!s.book.silences().contains(id)) return make_error(ErrorCode::kNotFound, "no silence {}", id);
    return std::vector<AlertEntry>{SilenceExpired{id, now}};
  };
  impl_->enter({std::move(make), [this, id, done = std::move(done)](Result<std::vector<AlertEntry>> made) {
                  if (!made.ok()) return done(made.error());
                  done(impl_->book.silences().at(id));
                }});
}

}  // namespace stint
