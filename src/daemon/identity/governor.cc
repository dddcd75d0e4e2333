#include "daemon/identity/governor.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include "daemon/identity/second_factor.h"
#include "host/clock.h"
#include "host/secret.h"
#include "store/govern_file.h"

namespace stint {
namespace {

constexpr std::string_view kPrefix = "stint_";

/// The place of `name` in a list ordered by `key`.
template <typename T>
auto place_of(std::vector<T>& list, std::string T::* key, std::string_view name) {
  return std::lower_bound(list.begin(), list.end(), name, [key](const T& a, std::string_view b) { return a.*key < b; });
}

template <typename T>
void put(std::vector<T>& list, std::string T::* key, const T& value) {
  const auto place = place_of(list, key, value.*key);
  if (place != list.end() && (*place).*key == value.*key)
    *place = value;
  else
    list.insert(place, value);
}

template <typename T>
std::optional<T> find(const std::vector<T>& list, std::string T::* key, std::string_view name) {
  const auto place = place_of(const_cast<std::vector<T>&>(list), key, name);
  if (place == list.end() || (*place).*key != name) return std::nullopt;
  return *place;
}

void take_over(GovernState& state, const GovernChange& change) {
  if (const auto* user = std::get_if<User>(&change)) put(state.users, &User::name, *user);
  if (const auto* client = std::get_if<Client>(&change)) put(state.clients, &Client::name, *client);
  if (const auto* token = std::get_if<Token>(&change)) put(state.tokens, &Token::id, *token);
  if (const auto* factor = std::get_if<SecondFactor>(&change)) {
    put(state.second_factors, &SecondFactor::user, *factor);
    std::erase_if(state.second_factors, [](const SecondFactor& f) { return f.secret.empty(); });
  }
}

bool is_good(const Token& token, Instant now) { return !token.revoked && now < token.expires; }

}  // namespace

NewToken make_token(const std::string& user, Scopes scopes, Instant now, Duration life, std::string note) {
  NewToken made;
  made.secret = std::string(kPrefix) + random_hex(32);
  made.token = {.id = random_hex(8),
                .hash = sha256_hex(made.secret),
                .user = user,
                .scopes = scopes,
                .note = std::move(note),
                .created = now,
                .expires = now + life,
                .revoked = std::nullopt};
  return made;
}

struct Governor::Impl {
  struct Work {
    std::optional<GovernChange> change;
    AuditEntry entry;
    Done done;
    std::function<void(GovernStore&)> read;  ///< in place of all the above
  };

  explicit Impl(std::unique_ptr<GovernStore> opened) : store(std::move(opened)) {}

  // Of the thread.
  std::unique_ptr<GovernStore> store;
  GovernState durable;     ///< as far as is known
  bool is_unsure = false;  ///< a write has failed, and what is durable could not be read since: nothing is written before
  AuditRow last;
  std::optional<AuditHeadsFile> heads;
  std::chrono::steady_clock::time_point next_head;
  std::string audit_problem;  ///< not changed once open
  int64_t thinned_to = 0;     ///< no read before it is past its time
  std::chrono::steady_clock::time_point next_thinning;

  mutable std::mutex lock;  ///< guards what follows
  GovernState state;
  std::vector<std::pair<std::string, std::string>> ids_by_hash;  ///< ascending
  std::vector<AuditHead> known_heads;
  std::deque<Work> waiting;
  ReadSampler reads;
  Duration keep_reads;
  bool stopping = false;
  std::condition_variable more;
  std::thread thread;

  Status reload();
  void go_back();
  void index_tokens();
  void put_in(Work work);
  void run();
  Status write(const std::deque<Work>& works);
  Status open_heads(AuditHeadsOptions options);
  void add_head();
  void thin();
  Result<bool> thin_some(Instant before);
  [[nodiscard]] std::optional<Principal> principal_of(std::string_view user, const Token* token) const;
};

Status Governor::Impl::reload() {
  TRY_ASSIGN(GovernState loaded, store->load());
  TRY_ASSIGN(last, store->last_audit());
  durable = std::move(loaded);
  go_back();
  return {};
}

/// What is not durable is believed no longer, but for what is still to be written.
void Governor::Impl::go_back() {
  const std::lock_guard guard(lock);
  state = durable;
  for (const Work& work : waiting)
    if (work.change) take_over(state, *work.change);
  index_tokens();
}

void Governor::Impl::index_tokens() {
  ids_by_hash.clear();
  for (const Token& token : state.tokens)
    ids_by_hash.emplace_back(token.hash, token.id);
  std::sort(ids_by_hash.begin(), ids_by_hash.end());
}

void Governor::Impl::put_in(Work work) {
  {
    const std::lock_guard guard(lock);
    if (work.change) {
      take_over(state, *work.change);
      if (std::holds_alternative<Token>(*work.change)) index_tokens();
    }
    waiting.push_back(std::move(work));
  }
  more.notify_one();
}

Status Governor::Impl::write(const std::deque<Work>& works) {
  if (is_unsure)
    return make_error(ErrorCode::kUnavailable, "what of the last change is durable cannot be told yet: ask again in a moment");
  TRY(store->begin());
  for (const Work& work : works) {
    if (work.read) continue;
    if (work.change) TRY(std::visit([this](const auto& value) { return store->put(value); }, *work.change));
    AuditRow next = chain(last, work.entry);
    TRY(store->append(next));
    last = std::move(next);
  }
  return store->commit();
}

Status Governor::Impl::open_heads(AuditHeadsOptions options) {
  TRY_ASSIGN(heads, AuditHeadsFile::open(std::move(options)));
  known_heads = heads->heads();
  TRY_ASSIGN(thinned_to, store->taken_out_up_to());
  HeadCheck check(known_heads);
  Status checked;
  for (const AuditHead& head : known_heads)
    TRY(store->read_audit(head.records - 1, 1, "", [&](const AuditRow& row) {
      if (checked.ok()) checked = check.record(row.sequence, row.hash);
      return Status();
    }));
  if (checked.ok()) checked = check.finish(last.sequence, {});
  if (!checked.ok()) audit_problem = checked.error().message;
  return {};
}

/// One that cannot be written is tried again at the next time: the log goes on.
void Governor::Impl::add_head() {
  if (!heads) return;
  next_head = std::chrono::steady_clock::now() + std::chrono::nanoseconds(heads->every().count_ns());
  if (last.sequence == 0 || (!heads->heads().empty() && heads->heads().back().hash == last.hash)) return;
  if (const Status added = heads->add({now(), last.sequence, last.hash}); !added.ok()) {
    fmt::print(stderr, "stint: {}\n", added.error().message);
    return;
  }
  const std::lock_guard guard(lock);
  known_heads = heads->heads();
}

/// Reads past their time, a part of them: a head says what goes, and then it goes. Where that fails, the next time finds them again.
/// @return whether there may be more
Result<bool> Governor::Impl::thin_some(Instant before) {
  constexpr int64_t kAtATime = 20'000;
  std::vector<AuditGap> gaps;
  AuditRow end;
  bool over = false;
  TRY(store->read_audit(thinned_to, kAtATime, "", [&](const AuditRow& row) {
    const std::optional<RecordFacts> facts = facts_of(row.record);
    over = over || (facts && facts->at >= before);
    if (over) return Status();
    const bool follows = !gaps.empty() && gaps.back().last + 1 == row.sequence;
    if (facts && facts->read && follows)
      gaps.back().last = row.sequence;
    else if (facts && facts->read)
      gaps.push_back({row.sequence, row.sequence});
    end = row;
    return Status();
  }));
  if (!gaps.empty()) {
    TRY(heads->add({now(), end.sequence, end.hash, gaps_hash(gaps, thinned_to, end.sequence), thinned_to}));
    TRY(store->begin());
    for (const AuditGap& gap : gaps)
      TRY(store->take_out(gap.first, gap.last));
    TRY(store->commit());
  }
  const bool full = end.sequence - thinned_to >= kAtATime;
  thinned_to = std::max(thinned_to, end.sequence);
  return full && !over;
}

void Governor::Impl::thin() {
  constexpr auto kEvery = std::chrono::hours(1);
  constexpr auto kGoOn = std::chrono::milliseconds(100);  // others' records go between
  Duration keep;
  {
    const std::lock_guard guard(lock);
    keep = keep_reads;
  }
  const auto at = std::chrono::steady_clock::now();
  if (keep == Duration() || at < next_thinning) return;
  next_thinning = at + kEvery;
  if (!heads || !audit_problem.empty()) return;
  const Result<bool> more_there = thin_some(now() - keep);
  if (more_there.ok()) {
    if (*more_there) next_thinning = at + kGoOn;
    const std::lock_guard guard(lock);
    known_heads = heads->heads();
    return;
  }
  store->roll_back();
  fmt::print(stderr, "stint: reads of the audit log past their time are still there: {}\n", more_there.error().message);
}

void Governor::Impl::run() {
  add_head();
  for (;;) {
    std::deque<Work> works;
    {
      std::unique_lock guard(lock);
      const auto wanted = [this] { return stopping || !waiting.empty(); };
      auto wake = std::chrono::steady_clock::now() + std::chrono::minutes(1);  // what was counted is told
      if (heads) wake = std::min(wake, next_head);
      if (heads && keep_reads != Duration()) wake = std::min(wake, next_thinning);
      more.wait_until(guard, wake, wanted);
    }
    if (is_unsure) is_unsure = !reload().ok();
    {
      const std::lock_guard guard(lock);
      works.swap(waiting);
      if (reads.counts())
        for (AuditEntry& entry : reads.due(now(), stopping))
          works.push_back({std::nullopt, std::move(entry), nullptr, nullptr});
      if (works.empty() && stopping) break;
    }
    Status written;
    if (std::any_of(works.begin(), works.end(), [](const Work& work) { return !work.read; })) {
      written = write(works);
      if (!written.ok()) {
        store->roll_back();
        // Nor may a record follow one that is perhaps not there.
        is_unsure = !reload().ok();
        if (is_unsure) go_back();
      }
      for (const Work& work : works)
        if (written.ok() && work.change) take_over(durable, *work.change);
    }
    for (const Work& work : works) {
      if (work.read)
        work.read(*store);
      else if (work.done)
        work.done(written);
    }
    thin();
    if (heads && (heads->heads().empty() || std::chrono::steady_clock::now() >= next_head)) add_head();
  }
  add_head();
}

std::optional<Principal> Governor::Impl::principal_of(std::string_view user, const Token* token) const {
  const auto known = find(state.users, &User::name, user);
  if (!known || known->disabled) return std::nullopt;
  return Principal{known->name, token == nullptr ? "" : token->id, known->grants,
                   token == nullptr ? Scopes::all() : token->scopes, std::nullopt};
}

Governor::Governor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  impl_->thread = std::thread([this] { impl_->run(); });
}

Governor::~Governor() {
  {
    const std::lock_guard guard(impl_->lock);
    impl_->stopping = true;
  }
  impl_->more.notify_one();
  impl_->thread.join();
}

Result<std::unique_ptr<Governor>> Governor::open(const std::string& path, std::optional<AuditHeadsOptions> heads,
                                                 const std::string& secrets_key) {
  std::optional<SealKey> key;
  if (!secrets_key.empty()) {
    TRY_ASSIGN(key, SealKey::read(secrets_key));
  }
  TRY_ASSIGN(GovernFile file, GovernFile::open(path, std::move(key)));
  return open(std::make_unique<GovernFile>(std::move(file)), std::move(heads));
}

Result<std::unique_ptr<Governor>> Governor::open(std::unique_ptr<GovernStore> store, std::optional<AuditHeadsOptions> heads) {
  auto impl = std::make_unique<Impl>(std::move(store));
  TRY(impl->reload());
  if (heads) TRY(impl->open_heads(std::move(*heads)));
  return std::unique_ptr<Governor>(new Governor(std::move(impl)));
}

std::optional<Principal> Governor::by_token(std::string_view secret, Instant now) const {
  const std::string hash = sha256_hex(secret);  // comparing hashes gives nothing away by how long it takes
  const std::lock_guard guard(impl_->lock);
  const auto found = std::lower_bound(impl_->ids_by_hash.begin(), impl_->ids_by_hash.end(), hash,
                                      [](const auto& a, const std::string& b) { return a.first < b; });
  if (found == impl_->ids_by_hash.end() || found->first != hash) return std::nullopt;
  const auto token = find(impl_->state.tokens, &Token::id, found->second);
  if (!token || !is_good(*token, now)) return std::nullopt;
  return impl_->principal_of(token->user, &*token);
}

std::optional<Principal> Governor::by_certificate(std::string_view name) const {
  const std::lock_guard guard(impl_->lock);
  return impl_->principal_of(name, nullptr);
}

std::optional<Principal> Governor::still(const Principal& principal, Instant now) const {
  if (principal.over && *principal.over) return std::nullopt;
  const std::lock_guard guard(impl_->lock);
  if (principal.expires) {
    const auto known = find(impl_->state.users, &User::name, principal.user);
    if (now >= *principal.expires || (known && known->disabled)) return std::nullopt;
    return principal;
  }
  if (principal.token.empty()) return impl_->principal_of(principal.user, nullptr);
  const auto token = find(impl_->state.tokens, &Token::id, principal.token);
  if (!token || !is_good(*token, now)) return std::nullopt;
  auto who = impl_->principal_of(token->user, &*token);
  if (who) who->over = principal.over;
  return who;
}

std::optional<User> Governor::user(std::string_view name) const {
  const std::lock_guard guard(impl_->lock);
  return find(impl_->state.users, &User::name, name);
}

std::optional<Client> Governor::client(std::string_view name) const {
  const std::lock_guard guard(impl_->lock);
  return find(impl_->state.clients, &Client::name, name);
}

std::optional<Token> Governor::token(std::string_view id) const {
  const std::lock_guard guard(impl_->lock);
  return find(impl_->state.tokens, &Token::id, id);
}

std::optional<SecondFactor> Governor::second_factor(std::string_view user) const {
  const std::lock_guard guard(impl_->lock);
  return find(impl_->state.second_factors, &SecondFactor::user, user);
}

void Governor::show_code(std::string_view code, AuditEntry entry, Done done) {
  Status verdict = invalid("no one-time codes are set up: stint user totp enable");
  {
    const std::lock_guard guard(impl_->lock);
    std::optional<GovernChange> change;
    if (const auto factor = find(impl_->state.second_factors, &SecondFactor::user, entry.actor)) {
      CodeCheck checked = check_code(*factor, code, entry.at);
      verdict = checked.verdict;
      entry.detail = checked.detail;
      change = std::move(checked.after);
      take_over(impl_->state, *change);
    }
    entry.status = verdict.ok() ? 200 : 403;
    impl_->waiting.push_back(
        {std::move(change), std::move(entry),
         [verdict, done = std::move(done)](const Status& durable) { done(durable.ok() ? verdict : durable); }, nullptr});
  }
  impl_->more.notify_one();
}

std::vector<AuditHead> Governor::audit_heads() const {
  const std::lock_guard guard(impl_->lock);
  return impl_->known_heads;
}

const std::string& Governor::audit_problem() const { return impl_->audit_problem; }

GovernState Governor::state() const {
  const std::lock_guard guard(impl_->lock);
  return impl_->state;
}

void Governor::change(GovernChange change, AuditEntry entry, Done done) {
  impl_->put_in({std::move(change), std::move(entry), std::move(done), nullptr});
}

void Governor::record(AuditEntry entry, Done done) { impl_->put_in({std::nullopt, std::move(entry), std::move(done), nullptr}); }

void Governor::record_read(AuditEntry entry) {
  {
    const std::lock_guard guard(impl_->lock);
    if (!impl_->reads.take(entry)) return;
    impl_->waiting.push_back({std::nullopt, std::move(entry), nullptr, nullptr});
  }
  impl_->more.notify_one();
}

void Governor::set_policy(const AuditPolicy& policy) {
  {
    const std::lock_guard guard(impl_->lock);
    impl_->reads.set(policy.reads_per_minute);
    impl_->keep_reads = policy.keep_reads;
  }
  impl_->more.notify_one();
}

void Governor::read_audit(int64_t after, int64_t limit, std::string client,
                          std::function<void(Result<std::vector<AuditRow>>)> done) {
  impl_->put_in({std::nullopt, {}, nullptr, [=](GovernStore& store) {
                   std::vector<AuditRow> rows;
                   const Status read = store.read_audit(after, limit, client, [&rows](const AuditRow& row) {
                     rows.push_back(row);
                     return Status();
                   });
                   if (read.ok())
                     done(std::move(rows));
                   else
                     done(read.error());
                 }});
}

Result<bool> ensure_operator(Governor& governor, const std::string& path, Instant now) {
  const GovernState state = governor.state();
  const auto operates = [&state](const Token& token) {
    const auto user = find(state.users, &User::name, token.user);
    return user && !user->disabled && token.scopes == Scopes::all() &&
           std::any_of(user->grants.begin(), user->grants.end(), [](const Grant& g) { return g.role == Role::kOperator; });
  };
  for (const Token& token : state.tokens)
    if (is_good(token, now) && operates(token)) return false;
  const NewToken made = make_token("admin", Scopes::all(), now, Duration::hours(90 * 24), "made by the daemon");
  const AuditEntry entry{.at = now,
                         .actor = "admin",
                         .method = "START",
                         .target = "/v1/tokens",
                         .status = 201,
                         .detail = fmt::format("token {}: no operator had a good one", made.token.id)};
  std::promise<Status> durable;
  // Written first: a token that cannot be read is of no use, a secret whose token is not there does no harm.
  TRY(write_secret(path, made.secret + "\n"));
  governor.change(User{"admin", {{Role::kOperator, ""}, {Role::kAuditor, ""}}, false, now}, entry, nullptr);
  governor.change(made.token, entry, [&durable](Status status) { durable.set_value(std::move(status)); });
  TRY(durable.get_future().get());
  return true;
}

}  // namespace stint
