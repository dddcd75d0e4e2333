// Machines of EC2 from a command line, by the Capacity that the daemon uses, for tests/clouds/test_machines.py.
//
//   ec2_tool OWNER create ZONE MARKET NAME… | list | destroy NAME… | prices ZONE
// Prints `NAME OUTCOME DETAIL`, `NAME ID STATE` or `POOL PRICE`, one a line. PAGE = machines of one answer of EC2, TYPE = their type.
#include <fmt/format.h>

#include <cstdlib>

#include "backends/capacity/ec2_capacity.h"
#include "base/check.h"

namespace stint {
namespace {

std::string variable(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value == nullptr ? fallback : value;
}

CapacityHeard all_of(Ec2Capacity& capacity, size_t answers) {
  CapacityHeard all;
  for (;;) {
    capacity.wait();
    CapacityHeard heard = capacity.hear({});
    std::ranges::move(heard.answers, std::back_inserter(all.answers));
    std::ranges::move(heard.lists, std::back_inserter(all.lists));
    std::ranges::move(heard.offers, std::back_inserter(all.offers));
    if (all.answers.size() >= answers) return all;
  }
}

int run(const std::vector<std::string>& words) {
  const std::string owner = words.at(0), verb = words.at(1);
  const std::string zone = verb == "create" || verb == "prices" ? words.at(2) : "us-east-1a";
  CapacityPool pool{.name = "pool"};
  pool.machine.instance_type = variable("TYPE", "p4d.24xlarge");
  pool.machine.region = ec2_region_of_zone(zone);
  pool.machine.zone = zone;
  pool.machine.market = verb == "prices" || (verb == "create" && words.at(3) == "spot") ? Market::kSpot : Market::kOnDemand;
  Ec2Settings settings{.places = {{.region = pool.machine.region, .image = variable("IMAGE", "ami-12c6146b")}},
                       .tags = {{"team", "ml"}}};
  Ec2Capacity capacity(settings, {pool}, owner, {}, {.page = std::atoi(variable("PAGE", "1000").c_str())});
  if (verb == "create") {
    const std::vector<std::string> names(words.begin() + 4, words.end());
    capacity.create({.call = 1, .names = names, .pool = "pool", .machine = pool.machine, .owner = owner, .ends_after = kHour},
                    Instant());
    for (const CapacityAnswer& answer : all_of(capacity, names.size()).answers)
      fmt::print("{} {} {}\n", answer.name, name_of(answer.outcome), answer.detail);
  } else if (verb == "destroy") {
    DestroyOrder order{.call = 2, .targets = {}};
    for (size_t i = 2; i < words.size(); ++i)
      order.targets.push_back({.name = words[i], .id = {}});
    capacity.destroy(order, Instant());
    for (const CapacityAnswer& answer : all_of(capacity, order.targets.size()).answers)
      fmt::print("{} {} {}\n", answer.name, name_of(answer.outcome), answer.detail);
  } else if (verb == "prices") {
    capacity.offer(Instant());
    for (const CapacityOffer& offer : all_of(capacity, 0).offers)
      fmt::print("{} {}\n", offer.pool, offer.rate->per_hour().to_decimal());
  } else {
    capacity.list(3, Instant());
    const CapacityHeard heard = all_of(capacity, 0);
    CHECK(heard.lists.size() == 1, "{} lists", heard.lists.size());
    for (const ListedMachine& machine : heard.lists.front().machines)
      fmt::print("{} {} {}\n", machine.name, machine.id,
                 machine.state == ListedState::kComing  ? "coming"
                 : machine.state == ListedState::kReady ? "ready"
                                                        : "going");
    return heard.lists.front().complete ? 0 : 1;
  }
  return 0;
}

}  // namespace
}  // namespace stint

int main(int argc, char** argv) { return stint::run({argv + 1, argv + argc}); }
