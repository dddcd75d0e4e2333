// Amazon EC2 as a Capacity: machines made by RunInstances, found by their tags, and ended.
//
// Each machine bears `stint:fleet`, its owner's mark, and `stint:machine`, its name. An order to make one has a token of both, so that
// EC2 makes it once however often it is told. Nothing is kept here that a restart would miss: who is where is asked of EC2 by the tags.
// Source: Amazon EC2 API Reference, "Ensuring idempotency"; a tag is there with the machine, a machine is in lists some time later.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "backends/capacity/ec2_settings.h"
#include "base/result.h"
#include "capacity/capacity.h"
#include "clouds/ec2_client.h"

namespace stint {

inline constexpr std::string_view kEc2FleetTag = "stint:fleet";
inline constexpr std::string_view kEc2MachineTag = "stint:machine";

/// What is to become of an order that failed so.
CapacityOutcome ec2_outcome(const Ec2Failure& failure);

struct Ec2CapacityOptions {
  Environment environment = process_environment();
  int page = 1'000;  ///< of lists
  /// The own part of a machine's user data, made at each order for one by that name; empty = as the settings say. Called by any thread.
  std::function<Result<std::string>(const std::string& machine)> user_data;
};

class Ec2Capacity final : public Capacity {
 public:
  /// @param heard  called from another thread when hear() has something to tell; may be none.
  Ec2Capacity(Ec2Settings settings, std::vector<CapacityPool> pools, std::string owner, std::function<void()> heard = {},
              const Ec2CapacityOptions& options = {});
  /// Waits for requests under way, half a minute at most; those that wait are not sent.
  ~Ec2Capacity() override;
  Ec2Capacity(const Ec2Capacity&) = delete;
  Ec2Capacity& operator=(const Ec2Capacity&) = delete;

  [[nodiscard]] std::string_view name() const override { return "AWS"; }
  void offer(Instant now) override;
  void create(const CreateOrder& order, Instant now) override;
  void destroy(const DestroyOrder& order, Instant now) override;
  /// Also tells which spot machines are about to be taken back, and ends machines of its owner that somebody stopped.
  void list(int64_t call, Instant now) override;
  CapacityHeard hear(Instant now) override;
  [[nodiscard]] std::optional<Instant> next_at() const override { return {}; }
  /// Waits until there is something to hear, or nothing is under way. For who has nothing else to do.
  void wait();

 private:
  struct Made {
    Ec2Client* client = nullptr;
    std::string id;
    Instant at;
  };
  void begin(std::function<CapacityHeard()> work);
  void work();
  [[nodiscard]] Ec2Client* client_of(std::string_view region) const;
  [[nodiscard]] CapacityAnswer make(int64_t call, const std::string& machine_name, const std::string& pool,
                                    const Machine& machine, const std::optional<Duration>& ends_after);
  [[nodiscard]] CapacityHeard end(const DestroyOrder& order);
  [[nodiscard]] CapacityHeard list_all(int64_t call);
  [[nodiscard]] CapacityHeard prices();
  [[nodiscard]] Result<std::vector<Ec2Instance>> ours(Ec2Client& client, const std::vector<std::string>& names);

  const Ec2Settings settings_;
  const std::vector<CapacityPool> pools_;
  const std::string owner_;
  const std::function<void()> heard_;
  const std::function<Result<std::string>(const std::string&)> user_data_;
  AwsCredentialChain credentials_;
  std::map<std::string, std::unique_ptr<Ec2Client>, std::less<>> clients_;  ///< by region
  std::mutex lock_;
  std::condition_variable work_there_, news_;
  bool stopping_ = false;                            // guarded
  std::deque<std::function<CapacityHeard()>> todo_;  // guarded
  size_t under_way_ = 0;                             // guarded
  CapacityHeard answers_;                            // guarded
  std::map<std::string, Made> made_;                 // guarded: by name, of this process; lists may not show them yet
  std::vector<std::thread> threads_;
};

}  // namespace stint
