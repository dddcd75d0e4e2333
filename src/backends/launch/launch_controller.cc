#include "backends/launch/launch_controller.h"

#include <algorithm>

#include "backends/launch/launch_objects.h"
#include "clouds/object_transfer.h"
#include "host/clock.h"
#include "launch/launch_script.h"

namespace stint {
namespace {

constexpr Duration kTurn = Duration::milliseconds(200);
// A machine fetches its program in its first minutes; the address is made for each by itself.
constexpr Duration kLinkLasts = kHour;
// So long it is looked for what is left, while lists cannot be had.
constexpr Duration kLookForRest = Duration::minutes(10);

std::string price_of(Rate rate) { return fmt::format("{} an hour", rate.per_hour().to_text(4)); }

std::string offer_text(const LaunchPlan& plan, const std::string& pool) {
  const LaunchOffer* offer = plan.offer(pool);
  if (offer == nullptr) return pool;
  const std::string& place = offer->place();
  return fmt::format("{}{}{}, {}", offer->instance_type, place.empty() ? "" : " in ", place, name_of(offer->market));
}

/// All that the list shows is known, each once?
bool is_known_to(const CapacityBook& book, const CapacityList& list) {
  std::set<std::string_view> names;
  return std::ranges::all_of(list.machines, [&](const ListedMachine& each) {
    return each.state == ListedState::kGoing || (book.machines().contains(each.name) && names.insert(each.name).second);
  });
}

/// Is an order under way whose outcome is not seen yet?
bool is_restless(const CapacityBook& book) {
  return std::ranges::any_of(book.machines(), [](const auto& each) {
    const MadeState state = each.second.state;
    return state == MadeState::kAsked || state == MadeState::kUnsure || state == MadeState::kEnding;
  });
}

/// Those that an offer is of: of no other is there a machine.
Result<CloudSettings> clouds_of_plan(const LaunchPlan& plan, const CloudsReader& read_clouds, const std::string& source) {
  CloudSettings clouds;
  if (plan.clouds.empty()) {
    clouds.aws = ec2_settings_of(plan);
    return clouds;
  }
  TRY_ASSIGN(clouds, read_clouds(plan.clouds, source + ": clouds"));
  const auto sells = [&plan](std::string_view provider) {
    return std::ranges::any_of(plan.offers, [&](const LaunchOffer& each) { return each.provider == provider; });
  };
  if (!sells("aws")) clouds.aws.reset();
  if (!sells("gcp")) clouds.gcp.reset();
  if (!sells("azure")) clouds.azure.reset();
  if (clouds.aws) clouds.aws->list_lag = plan.list_lag;
  return clouds;
}

}  // namespace

Ec2Settings ec2_settings_of(const LaunchPlan& plan) {
  Ec2Settings settings;
  settings.places.push_back({.region = plan.region,
                             .image = plan.image,
                             .launch_template = plan.launch_template,
                             .subnets = plan.subnets,
                             .security_groups = plan.security_groups,
                             .key_name = plan.key_name,
                             .instance_profile = plan.instance_profile});
  settings.tags = plan.tags;
  settings.lifetime = plan.lifetime;
  settings.list_lag = plan.list_lag;
  return settings;
}

Result<std::unique_ptr<LaunchController>> LaunchController::open(const std::string& folder, LaunchTalk talk,
                                                                 const CloudsReader& read_clouds,
                                                                 const Environment& environment) {
  TRY_ASSIGN(LaunchFolder mine, LaunchFolder::open(folder));
  TRY_ASSIGN(LaunchState state, read_launch(folder, now()));
  TRY_ASSIGN(const ObjectUrl url, parse_object_url(state.plan.store));
  TRY_ASSIGN(auto store, open_object_store(url, {.environment = environment}));
  TRY_ASSIGN(const CloudSettings clouds, clouds_of_plan(state.plan, read_clouds, folder + "/launch.json"));
  auto controller = std::unique_ptr<LaunchController>(
      new LaunchController(std::move(mine), std::move(state), std::move(store), url.key, std::move(talk)));
  controller->open_capacity(clouds, environment);
  return controller;
}

LaunchController::LaunchController(LaunchFolder folder, LaunchState state, std::unique_ptr<ObjectStore> store, std::string root,
                                   LaunchTalk talk)
    : folder_(std::move(folder)),
      state_(std::move(state)),
      store_(std::move(store)),
      root_(std::move(root)),
      talk_(std::move(talk)) {}

void LaunchController::open_capacity(const CloudSettings& clouds, const Environment& environment) {
  CloudCapacityOptions options{.environment = environment};
  options.user_data = [this](const std::string& machine, const std::string& provider) -> Result<std::string> {
    TRY_ASSIGN(const ObjectUrl program, parse_object_url(plan().program));
    TRY_ASSIGN(const std::string link, store_->link(program.key, kLinkLasts));
    return launch_script(
        {.machine = machine, .store = plan().store, .cloud = provider, .program = link, .program_sha256 = plan().program_sha256});
  };
  capacity_ = open_clouds(clouds, state_.book.rules().pools, plan().owner, {}, options);
}

// ---- turns ----------------------------------------------------------------------------------------------------------

/// Plan and code into the store, where they are not.
Status LaunchController::bring() {
  const std::string json = to_json(plan());
  const auto there = store_->get(launch_plan_key(root_));
  if (there.ok() && *there != json)
    return make_error(ErrorCode::kConflict, "{}: another launch has this place: give another --name or --store", plan().store);
  if (there.ok()) return {};
  if (store_->last_failure() != CloudFailure::kNotFound) return there.error();
  TRY(send_file(*store_, folder_.code_file(), launch_code_key(root_), {.size = plan().code_bytes, .sha256 = plan().code_sha256}));
  return store_->put(launch_plan_key(root_), json, {.if_there = IfThere::kRefuse, .sha256 = {}});
}

/// What the machines have told since, and what they printed.
void LaunchController::hear_machines() {
  if (now() < next_look_) return;
  next_look_ = now() + plan().look_every;
  for (const LaunchedMachine& each : record().machines()) {
    const std::string name = each.name;
    if (heard_out_.contains(name)) continue;
    const bool is_gone = each.ended.has_value();
    const auto json = store_->get(launch_report_key(root_, name));
    const bool is_none = !json.ok() && store_->last_failure() == CloudFailure::kNotFound;
    const auto report = json.ok() ? parse_launch_report(*json, name) : Result<LaunchReport>(json.error());
    if (report.ok()) {
      const auto known = reports_.find(name);
      const bool is_new = known == reports_.end();
      if (is_new || known->second.report.beat != report->beat) {
        const bool has_changed = is_new || known->second.report.state != report->state;
        reports_[name] = {.report = *report, .heard = now()};
        if (has_changed && !is_gone)
          talk_.say(fmt::format("{}: {}{}{}", name, name_of(report->state), report->detail.empty() ? "" : ": ", report->detail));
      }
      if (!pass_output_on(name, *report)) continue;
    }
    if (is_gone && (report.ok() || is_none)) heard_out_.insert(name);
  }
}

/// @return false where the store does not give all that is told of.
bool LaunchController::pass_output_on(const std::string& machine, const LaunchReport& report) {
  const auto printed = [&] { return std::ranges::find(record().machines(), machine, &LaunchedMachine::name)->printed; };
  while (printed() < report.pieces) {
    const auto bytes = store_->get(launch_output_key(root_, machine, printed() + 1));
    if (!bytes.ok()) return false;
    talk_.output(*bytes);
    state_.record.print_piece(machine);
  }
  return true;
}

LaunchSight LaunchController::sight() const {
  const bool last_words = std::ranges::all_of(
      record().machines(), [this](const LaunchedMachine& each) { return !each.ended || heard_out_.contains(each.name); });
  return {.now = now(), .plan = plan(), .record = record(), .book = state_.book, .reports = reports_, .last_words = last_words};
}

CapacityAsk LaunchController::decide() {
  LaunchDecision decided = decide_launch(sight());
  if (decided.end) {
    state_.record.finish(*decided.end);
    decided = decide_launch(sight());
  }
  if (!decided.why.empty() && std::exchange(why_, decided.why) != decided.why && !record().end()) talk_.say(decided.why);
  return std::move(decided.ask);
}

/// Orders are given once the rows that tell of them are on the disk.
Status LaunchController::turn(const CapacityAsk& ask) {
  const Instant at = now();
  const CapacityHeard heard = capacity_->hear(at);
  for (const CapacityList& list : heard.lists) {
    tell_unread(list);
    if (quiet_list_ != list.call) continue;
    quiet_list_.reset();
    // A sweep ends with what could be read, and says what could not.
    is_quiet_ = (is_sweep_ || list.unread.empty()) && is_known_to(state_.book, list);
  }
  const CapacityStep step = state_.book.step(at, ask, heard);
  state_.record.update(at, state_.book, step.news, reports_);
  if (const Status kept = folder_.append(step.rows, state_.record.take_rows()); !kept.ok()) {
    state_.book.not_given(step);
    return kept;
  }
  for (const CapacityNews& news : step.news)
    tell(news);
  if (!step.news.empty()) next_look_ = {};  // one that is gone may have told why
  for (const CreateOrder& order : step.creates)
    capacity_->create(order, at);
  for (const DestroyOrder& order : step.destroys)
    capacity_->destroy(order, at);
  const bool is_busy = is_restless(state_.book) || !step.news.empty() || !step.destroys.empty();
  if (is_busy) {
    is_quiet_ = false;
    quiet_list_.reset();
    last_news_ = at;
  }
  if (step.list) {
    if (!is_busy) quiet_list_ = step.list;
    capacity_->list(*step.list, at);
  }
  if (step.offer) capacity_->offer(at);
  return {};
}

void LaunchController::tell(const CapacityNews& news) {
  const std::string why = news.detail.empty() ? "" : ": " + news.detail;
  switch (news.event) {
    case CapacityEvent::kAsked:
      talk_.say(fmt::format("{} is bought: {}, {}", news.machine, offer_text(plan(), news.pool), price_of(news.rate)));
      break;
    case CapacityEvent::kReady: talk_.say(fmt::format("{} is there, and starts", news.machine)); break;
    case CapacityEvent::kDraining: talk_.say(fmt::format("{} is being taken back{}", news.machine, why)); break;
    case CapacityEvent::kLost:
    case CapacityEvent::kGone: talk_.say(fmt::format("{} is gone{}", news.machine, why)); break;
    case CapacityEvent::kFailed: talk_.say(fmt::format("{}{}", news.machine, why)); break;
    case CapacityEvent::kSwept: talk_.say(fmt::format("{} is ended{}", news.machine, why)); break;
    case CapacityEvent::kPoolShut:
      talk_.say(fmt::format("{} is left alone until {}", offer_text(plan(), news.pool), format_utc(*news.until)));
      break;
  }
}

/// Once as each begins to be unreadable.
void LaunchController::tell_unread(const CapacityList& list) {
  for (const UnreadProvider& each : list.unread)
    if (std::ranges::find(unread_, each.name, &UnreadProvider::name) == unread_.end())
      talk_.say(fmt::format("{} cannot be read: {}; what is there is not taken for gone", each.name, each.why));
  unread_ = list.unread;
}

std::string LaunchController::unread() const {
  std::string names;
  for (const UnreadProvider& each : unread_)
    names += (names.empty() ? "" : ", ") + each.name;
  return names;
}

Result<bool> LaunchController::run_while(const std::function<CapacityAsk()>& ask, const std::function<bool()>& is_done) {
  last_news_ = now();
  for (;;) {
    hear_machines();
    TRY(turn(ask()));
    if (is_done()) return true;
    if ((is_over() || is_sweep_) && !is_quiet_ && now() >= next_list_) {
      next_list_ = now() + plan().look_every;
      state_.book.look_now();
    }
    if ((is_over() || is_sweep_) && now() - last_news_ > kLookForRest)
      return make_error(ErrorCode::kUnavailable,
                        "{} cannot be read, so it is not known whether machines of {} are left: run stint cloud sweep "
                        "--launches later",
                        unread_.empty() ? std::string(capacity_->name()) : unread(), plan().name);
    if (talk_.pause(kTurn)) return false;
  }
}

Result<bool> LaunchController::run() {
  if (!is_over()) TRY(bring());
  return run_while([this] { return decide(); },
                   [this] {
                     return is_over() && is_quiet_ && state_.book.machines().empty() &&
                            std::ranges::all_of(record().machines(),
                                                [this](const LaunchedMachine& each) { return heard_out_.contains(each.name); });
                   });
}

Result<bool> LaunchController::stop() {
  if (!record().end()) state_.record.stop(now());
  return run();
}

/// What is there stays, but for what may never have been made; of a launch that is over nothing stays.
CapacityAsk LaunchController::ask_of_sweep() const {
  CapacityAsk ask;
  int32_t kept = 0;
  for (const auto& [name, made] : state_.book.machines()) {
    if (is_over() || made.state == MadeState::kAsked || made.state == MadeState::kUnsure)
      ask.released.push_back(name);
    else if (made.state != MadeState::kEnding)
      ++kept;
  }
  ask.wishes.push_back(wish_to_keep(plan(), kept));
  return ask;
}

Result<int64_t> LaunchController::sweep() {
  is_sweep_ = true;
  std::set<std::string> there;
  for (const auto& [name, made] : state_.book.machines())
    there.insert(name);
  const Result<bool> done = run_while([this] { return ask_of_sweep(); }, [this] { return is_quiet_; });
  if (!done.ok()) return done.error();
  const auto ended =
      std::ranges::count_if(there, [this](const std::string& name) { return !state_.book.machines().contains(name); }) +
      state_.book.counts().swept;
  if (!unread_.empty())
    return make_error(ErrorCode::kUnavailable,
                      "{} cannot be read, so machines of {} may be left there ({} ended elsewhere): run stint cloud sweep "
                      "--launches later",
                      unread(), plan().name, ended);
  return ended;
}

}  // namespace stint
