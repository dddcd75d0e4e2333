// Machines of clouds from a command line, by the Capacity and the book that daemon and launches use, for tests/clouds.
//
//   cloud_tool OWNER create ZONE MARKET NAME… | list | destroy NAME… | offers ZONE MARKET | churn LOG SEED | sweep LOG | reconcile ROUNDS
//
// Prints `NAME OUTCOME DETAIL`, `NAME ID STATE` (`unread CLOUD WHY`) or `POOL PRICE QUOTA`, one a line. CLOUDS = aws, gcp, azure, parted by commas (aws);
// PAGE = machines of one answer, TYPE and IMAGE of a machine. `churn` wants now more machines, now less, keeps its rows in LOG and never
// ends; `sweep` goes on from there, wants none, and ends when none is left. `reconcile` takes what there is for its book's, and compares.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "backends/capacity/capacity_workers.h"
#include "backends/capacity/clouds_capacity.h"
#include "base/check.h"
#include "base/prng.h"
#include "base/text.h"
#include "capacity/capacity_book.h"
#include "host/clock.h"

namespace stint {
namespace {

std::string variable(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : value;
}

void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

struct Zone {
  std::string provider, region, zone;
};
Zone zone_of(const std::string& zone) {
  if (const std::string region = ec2_region_of_zone(zone); !region.empty()) return {"aws", region, zone};
  if (const std::string region = gce_region_of_zone(zone); !region.empty()) return {"gcp", region, zone};
  return {"azure", azure_location_of_zone(zone), zone};
}

Machine machine_in(const std::string& zone, Market market) {
  const Zone place = zone_of(zone);
  Machine machine;
  machine.provider = place.provider;
  machine.region = place.region;
  machine.zone = zone;
  machine.market = market;
  machine.node.gpu_model = "A100-40GB";
  machine.node.gpus = 8;
  machine.node.cpu_milli = 96'000;
  machine.rate = Rate::per_hour(Money::units(10));
  const char* type = place.provider == "aws" ? "p4d.24xlarge" : place.provider == "gcp" ? "a2-highgpu-8g" : "Standard_ND96asr_v4";
  machine.instance_type = variable("TYPE", type);
  return machine;
}

CloudSettings settings_of(const std::string& region) {
  const std::string clouds = variable("CLOUDS", "aws");
  CloudSettings settings;
  for (const std::string_view cloud : split(clouds, ',')) {
    if (cloud == "aws")
      settings.aws =
          Ec2Settings{.places = {{.region = region.empty() ? "us-east-1" : region, .image = variable("IMAGE", "ami-12c6146b")}},
                      .tags = {{"team", "ml"}}};
    if (cloud == "gcp")
      settings.gcp = GceSettings{
          .project = "p", .image = "projects/p/global/images/i", .service_account = "s@p.iam", .labels = {{"team", "ml"}}};
    if (cloud == "azure")
      settings.azure = AzureSettings{.subscription = "s",
                                     .resource_group = "g",
                                     .image = "Canonical:ubuntu-24_04-lts:server:latest",
                                     .places = {{.location = "eastus", .subnet = "/subscriptions/s/subnets/a"}},
                                     .ssh_key = "ssh-rsa AAAA",
                                     .identity = "/subscriptions/s/identities/i",
                                     .tags = {{"team", "ml"}}};
  }
  if (settings.aws && zone_of(region + "a").provider != "aws") settings.aws->places.front().region = "us-east-1";
  return settings;
}

CloudCapacityOptions quick() {
  return {.page = std::atoi(variable("PAGE", "0").c_str()), .user_data = {}, .look_every = Duration::milliseconds(10)};
}

CapacityHeard all_of(Capacity& capacity, size_t answers, size_t lists, size_t offers) {
  CapacityHeard all;
  const Instant until = now() + Duration::minutes(2);
  while (all.answers.size() < answers || all.lists.size() < lists || all.offers.size() < offers) {
    CHECK(now() < until, "nothing is heard");
    rest();
    add_heard(all, capacity.hear(now()));
  }
  return all;
}

// ---- a controller ---------------------------------------------------------------------------------------------------

/// The book with its rows in a file, and the clouds: what daemon and launch do, in its least form.
class Controller {
 public:
  Controller(const std::string& owner, const std::string& log) {
    std::vector<std::string> rows;
    std::ifstream in(log);
    for (std::string row; std::getline(in, row) && !in.eof();)
      rows.push_back(row);
    // A row that was cut off was never acted upon.
    std::ofstream whole(log + ".new");
    for (const std::string& row : rows)
      whole << row << "\n";
    whole.close();
    CHECK(std::rename((log + ".new").c_str(), log.c_str()) == 0, "{}", log);
    log_ = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    CHECK(log_ >= 0, "{}", log);
    rules_.owner = owner;
    rules_.settle = Duration::milliseconds(500);
    rules_.answer_within = Duration::seconds(5);
    rules_.list_every = Duration::milliseconds(500);
    rules_.again_after = rules_.stockout_for = Duration::milliseconds(200);
    rules_.lifetime = kHour;
    const CloudSettings settings = settings_of("");
    for (const char* zone : {"us-east-1a", "us-east-1b", "us-central1-a", "europe-west4-b", "eastus-1", "eastus-2"}) {
      CapacityPool pool{.name = zone, .machine = machine_in(zone, Market::kSpot), .names = {}};
      if (check_cloud_machine(settings, pool.machine).ok()) rules_.pools.push_back(std::move(pool));
    }
    auto book = CapacityBook::recover(rules_, rows, now());
    CHECK(book.ok(), "{}", book.error().message);
    book_ = std::move(*book);
    capacity_ = open_clouds(settings, rules_.pools, owner, {}, quick());
  }

  /// @return what was heard.
  CapacityHeard turn(const CapacityAsk& ask) {
    const Instant at = now();
    CapacityHeard heard = capacity_->hear(at);
    const CapacityStep step = book_.step(at, ask, heard);
    std::string rows;
    for (const std::string& row : step.rows)
      rows += row + "\n";
    CHECK(rows.empty() || ::write(log_, rows.data(), rows.size()) == static_cast<ssize_t>(rows.size()), "the log");
    CHECK(::fdatasync(log_) == 0, "the log");
    for (const CreateOrder& order : step.creates)
      capacity_->create(order, at);
    for (const DestroyOrder& order : step.destroys)
      capacity_->destroy(order, at);
    if (step.list) {
      list_ = step.list;
      capacity_->list(*step.list, at);
    }
    return heard;
  }
  CapacityBook& book() { return book_; }
  [[nodiscard]] std::optional<int64_t> last_list() const { return list_; }

 private:
  CapacityRules rules_;
  CapacityBook book_{CapacityRules()};
  std::unique_ptr<Capacity> capacity_;
  int log_ = -1;
  std::optional<int64_t> list_;
};

int churn(const std::string& owner, const std::string& log, uint64_t seed) {
  Controller controller(owner, log);
  Prng draw(seed);
  CapacityAsk ask;
  ask.wishes.push_back({.id = "w", .client = {}, .pools = {}, .names = {}, .first = {}, .limit = {}});
  for (Instant next;; rest()) {
    if (now() >= next) {
      next = now() + Duration::milliseconds(50 + static_cast<int64_t>(draw.uniform() * 200));
      ask.wishes.front().machines = static_cast<int32_t>(draw.uniform() * 5);
    }
    ask.released.clear();
    int32_t kept = 0;
    for (const auto& [name, made] : controller.book().machines())
      if (made.state != MadeState::kEnding && ++kept > ask.wishes.front().machines) ask.released.push_back(name);
    (void)controller.turn(ask);
  }
}

int sweep(const std::string& owner, const std::string& log) {
  Controller controller(owner, log);
  CapacityAsk ask;
  ask.wishes.push_back({.id = "w", .client = {}, .machines = 0, .pools = {}, .names = {}, .first = {}, .limit = {}});
  std::optional<int64_t> quiet;
  for (const Instant until = now() + Duration::minutes(2); now() < until; rest()) {
    ask.released.clear();
    for (const auto& [name, made] : controller.book().machines())
      ask.released.push_back(name);
    const CapacityHeard heard = controller.turn(ask);
    const bool is_empty = controller.book().machines().empty();
    for (const CapacityList& list : heard.lists) {
      const bool shows_none =
          std::ranges::all_of(list.machines, [](const ListedMachine& each) { return each.state == ListedState::kGoing; });
      if (is_empty && list.unread.empty() && shows_none && quiet == list.call) {
        fmt::print("{} swept\n", controller.book().counts().swept);
        return 0;
      }
    }
    if (!is_empty) quiet.reset();
    if (is_empty && (!quiet || quiet != controller.last_list())) {
      if (!quiet) controller.book().look_now();
      const CapacityHeard more = controller.turn(ask);
      quiet = more.lists.empty() ? controller.last_list() : std::nullopt;
    }
  }
  fmt::print("what is left: {}\n", controller.book().machines().size());
  return 1;
}

int64_t resident_kib() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

int reconcile(Capacity& capacity, const std::string& owner, const CapacityPool& pool, int rounds) {
  CapacityRules rules{.owner = owner, .pools = {pool}, .most_burn = {}, .client_burn = {}, .lifetime = {}};
  CapacityBook book(rules);
  capacity.list(1, now());
  const CapacityHeard first = all_of(capacity, 0, 1, 0);
  for (const ListedMachine& each : first.lists.front().machines)
    book.adopt(each.name, {.pool = pool.name, .wish = "w", .state = MadeState::kReady, .id = each.id});
  CapacityAsk ask;
  ask.wishes.push_back({.id = "w",
                        .client = {},
                        .machines = static_cast<int32_t>(first.lists.front().machines.size()),
                        .pools = {},
                        .names = {},
                        .first = {},
                        .limit = {}});
  if (const CapacityStep step = book.step(now(), ask, {}); step.list) {
    capacity.list(*step.list, now());
    (void)book.step(now(), ask, all_of(capacity, 0, 1, 0));
  }
  for (int round = 0; round < rounds; ++round) {
    const Instant begun = now();
    book.look_now();
    const CapacityStep step = book.step(now(), ask, {});
    CHECK(step.list.has_value(), "no list is asked for");
    capacity.list(*step.list, now());
    const CapacityHeard heard = all_of(capacity, 0, 1, 0);
    const Instant listed = now();
    const CapacityStep compared = book.step(now(), ask, heard);
    CHECK(compared.creates.empty() && compared.destroys.empty() && heard.lists.front().unread.empty(), "they are the same");
    fmt::print("{} machines: {} ms, {} ms of them compared; {} KiB\n", heard.lists.front().machines.size(),
               (now() - begun).count_ns() / 1'000'000, (now() - listed).count_ns() / 1'000'000, resident_kib());
  }
  return 0;
}

void print(const CapacityHeard& heard) {
  for (const CapacityAnswer& answer : heard.answers)
    fmt::print("{} {} {}\n", answer.name, name_of(answer.outcome), answer.detail);
}

int run(const std::vector<std::string>& words) {
  const std::string owner = words.at(0), verb = words.at(1);
  if (verb == "churn") return churn(owner, words.at(2), std::strtoull(words.at(3).c_str(), nullptr, 10));
  if (verb == "sweep") return sweep(owner, words.at(2));
  const std::string clouds = variable("CLOUDS", "aws");
  const bool has_zone = verb == "create" || verb == "offers";
  const std::string zone = has_zone                                       ? words.at(2)
                           : clouds.starts_with("a") && clouds != "azure" ? "us-east-1a"
                           : clouds.starts_with("gcp")                    ? "us-central1-a"
                                                                          : "eastus-1";
  CapacityPool pool{.name = "pool",
                    .machine = machine_in(zone, has_zone && words.at(3) == "spot" ? Market::kSpot : Market::kOnDemand),
                    .names = {}};
  const auto capacity = open_clouds(settings_of(pool.machine.region), {pool}, owner, {}, quick());
  if (verb == "create") {
    const std::vector<std::string> names(words.begin() + 4, words.end());
    capacity->create({.call = 1, .names = names, .pool = "pool", .machine = pool.machine, .owner = owner, .ends_after = kHour},
                     Instant());
    print(all_of(*capacity, names.size(), 0, 0));
  } else if (verb == "destroy") {
    DestroyOrder order{.call = 2, .targets = {}};
    for (size_t i = 2; i < words.size(); ++i)
      order.targets.push_back({.name = words[i], .id = {}});
    capacity->destroy(order, Instant());
    print(all_of(*capacity, order.targets.size(), 0, 0));
  } else if (verb == "offers") {
    capacity->offer(Instant());
    for (const CapacityOffer& offer : all_of(*capacity, 0, 0, 1).offers)
      fmt::print("{} {} {}\n", offer.pool, offer.rate ? offer.rate->per_hour().to_decimal() : "-",
                 offer.quota_left ? fmt::format("{}", *offer.quota_left) : "-");
  } else if (verb == "reconcile") {
    return reconcile(*capacity, owner, pool, std::atoi(words.at(2).c_str()));
  } else {
    capacity->list(3, Instant());
    const CapacityHeard heard = all_of(*capacity, 0, 1, 0);
    for (const ListedMachine& machine : heard.lists.front().machines)
      fmt::print("{} {} {}\n", machine.name, machine.id,
                 machine.state == ListedState::kComing  ? "coming"
                 : machine.state == ListedState::kReady ? "ready"
                                                        : "going");
    for (const UnreadProvider& each : heard.lists.front().unread)
      fmt::print("unread {} {}\n", each.name, each.why);
    return heard.lists.front().unread.empty() ? 0 : 1;
  }
  return 0;
}

}  // namespace
}  // namespace stint

int main(int argc, char** argv) { return stint::run({argv + 1, argv + argc}); }
