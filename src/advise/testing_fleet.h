// Hand-made fleets for the advisor's tests: June 2026 (720 hours, the 1st is a Monday), a catalogue of six types.
#pragma once

#include <gtest/gtest.h>

#include "advise/find/finder.h"

namespace stint {

inline const Interval kJune = month_of(from_civil({.year = 2026, .month = 6}));
inline constexpr size_t kJuneHours = 720;

inline Catalog test_catalog() {
  constexpr std::string_view kGpus =
      "model,aliases,vendor,architecture,memory_gib,memory_bandwidth_gb_s,fp32_tflops,tf32_tflops,fp16_tflops,bf16_tflops,fp8_"
      "tflops,int8_tops,tdp_w,"
      "link_gb_s,mig,source,as_of\n"
      "V100-16GB,,NVIDIA,Volta,16,900,15.7,,125,,,,300,300,no,data sheet,2020-01-01\n"
      "A100-40GB,,NVIDIA,Ampere,40,1555,19.5,156,312,312,,624,400,600,yes,data sheet,2020-01-01\n"
      "L4,,NVIDIA,Ada Lovelace,24,300,30.3,60,121,121,242,242,72,,no,data sheet,2023-01-01\n";
  constexpr std::string_view kInstances =
      "provider,instance_type,gpu_model,gpu_milli,gpu_memory_gib,vcpus,memory_gib,arch,best_for,source,as_of\n"
      "aws,c7i.2xlarge,,0,0,8,16,x86_64,cpu,test,2026-01-01\n"
      "aws,g6.xlarge,L4,1000,24,4,16,x86_64,serving,test,2026-01-01\n"
      "aws,p3.2xlarge,V100-16GB,1000,16,8,61,x86_64,training,test,2026-01-01\n"
      "aws,p3.8xlarge,V100-16GB,4000,16,32,244,x86_64,training,test,2026-01-01\n"
      "aws,p4d.24xlarge,A100-40GB,8000,40,96,1152,x86_64,training,test,2026-01-01\n"
      "gcp,a2-highgpu-1g,A100-40GB,1000,40,12,85,x86_64,training,test,2026-01-01\n";
  constexpr std::string_view kPrices =
      "provider,region,instance_type,market,term,payment,per_hour,currency,estimated,source,as_of\n"
      "aws,us-east-1,c7i.2xlarge,on-demand,,,0.36,USD,no,test,2026-01-01\n"
      "aws,us-east-1,g6.xlarge,on-demand,,,0.8,USD,no,test,2026-01-01\n"
      "aws,us-east-1,p3.2xlarge,on-demand,,,3.06,USD,no,test,2026-01-01\n"
      "aws,us-east-1,p3.2xlarge,reserved,1y,no-upfront,1.82,USD,no,test,2026-01-01\n"
      "aws,us-east-1,p3.8xlarge,on-demand,,,12.24,USD,no,test,2026-01-01\n"
      "aws,us-east-1,p4d.24xlarge,on-demand,,,22,USD,no,test,2026-01-01\n"
      "aws,us-east-1,p4d.24xlarge,spot,,,7,USD,no,test,2026-01-01\n"
      "gcp,us-central1,a2-highgpu-1g,on-demand,,,3.7,USD,no,test,2026-01-01\n"
      "gcp,europe-west4,a2-highgpu-1g,on-demand,,,3,USD,no,test,2026-01-01\n";
  return Catalog::parse(kGpus, kInstances, kPrices).value();
}

/// Facts written by hand; what a test does not set is a machine that is on all month and well watched.
struct TestFleet {
  Catalog catalog = test_catalog();
  FleetFacts facts{.period = kJune,
                   .months = BillingMonths(kJune),
                   .currency = {},
                   .first_hour = kJune.begin.hour_index(),
                   .hour_count = kJuneHours,
                   .nodes = {}};
  History history;
  std::vector<std::string> allowed_regions;
  CommitmentTerm longest_term = CommitmentTerm::kOneYear;
  std::vector<SavingsPlanOffer> savings_plans;
  double commit_on_days = kFewestDaysToCommit;  ///< the fleet is of a month

  struct Use {
    double mean = 20, p95 = 35, idle = 10;
    double memory_gib = 8;
  };

  /// @param type  of the test catalogue; paid at its on-demand price for every hour it is on.
  NodeFacts& add(const std::string& name, const std::string& provider, const std::string& type, WorkloadKind kind,
                 std::vector<Use> gpus) {
    const InstanceType* instance = catalog.find_instance(provider, type);
    NodeFacts node;
    node.id = NodeId(static_cast<uint32_t>(facts.nodes.size()));
    node.name = node.resource_id = name;
    node.provider = provider;
    node.region = provider == "aws" ? "us-east-1" : "us-central1";
    node.instance_type = type;
    node.gpu_model = instance->gpu_model;
    node.gpu_count = instance->whole_gpus();
    node.vcpus = instance->vcpus;
    node.market = Market::kOnDemand;
    node.kind = kind;
    node.category = category_of(kind, {});
    node.client = "acme";
    node.timeline.assign(
        facts.hour_count,
        NodeHour{.on_s = 3600, .seen_s = 3600, .active_gpus = 1, .used_gpus = 1, .reserved = false, .mean_pct = 20});
    for (const Use& use : gpus) {
      GpuLoad gpu;
      gpu.index = static_cast<int>(node.gpus.size());
      gpu.mean_pct = use.mean;
      gpu.busy_p95_pct = use.p95;
      gpu.idle_pct = use.idle;
      gpu.memory_peak = gpu.memory_p95 = Bytes::gibi(use.memory_gib);
      gpu.memory_total = instance->gpu_memory;
      gpu.covered_hours = static_cast<double>(facts.hour_count);
      gpu.in_use = use.idle < 99;
      gpu.client = "acme";
      gpu.workload = name + "-service";
      node.mean_pct = node.mean_pct.value_or(0) + use.mean / static_cast<double>(gpus.size());
      node.idle_pct = node.idle_pct.value_or(0) + use.idle / static_cast<double>(gpus.size());
      node.p95_pct = std::max(node.p95_pct.value_or(0), use.p95);
      node.memory_peak = std::max(node.memory_peak.value_or(Bytes()), *gpu.memory_peak);
      node.memory_p95 = node.memory_peak;
      node.memory_total = instance->gpu_memory;
      node.gpus.push_back(std::move(gpu));
    }
    node.coverage_pct = gpus.empty() ? 0 : 100;
    node.quality = telemetry_quality(node.coverage_pct);
    facts.nodes.push_back(std::move(node));
    pay(facts.nodes.back());
    return facts.nodes.back();
  }

  /// The node is on in these hours only; its money follows.
  template <typename On>
  void keep_on(NodeFacts& node, On on) const {
    for (size_t h = 0; h < node.timeline.size(); ++h)
      if (!on(h)) node.timeline[h] = {};
    pay(node);
  }

  void pay(NodeFacts& node) const {
    int64_t seconds = 0;
    for (const NodeHour& h : node.timeline)
      seconds += h.on_s;
    node.hours = static_cast<double>(seconds) / 3600;
    const auto row = catalog.price({.provider = node.provider, .instance_type = node.instance_type, .region = node.region});
    node.compute = scale(row->rate.per_hour(), seconds, 3600);
  }

  /// Runs one finder on fresh books.
  template <typename Finder>
  Proposals propose(Finder find) const {
    const PriceLookup prices(catalog, facts.currency);
    const Books books(facts, prices);
    return find(FleetView{facts, books, prices, history, allowed_regions, longest_term, savings_plans, nullptr, commit_on_days});
  }
  /// A price of p3.2xlarge, committed to in us-east-1.
  void commitment_price(CommitmentTerm term, PaymentOption payment, std::string_view per_hour) {
    const PriceRow row{.provider = "aws",
                       .region = "us-east-1",
                       .instance_type = "p3.2xlarge",
                       .market = Market::kReserved,
                       .term = term,
                       .payment = payment,
                       .rate = Rate::per_hour(Money::parse(per_hour).value()),
                       .estimated = false,
                       .source = "test",
                       .as_of = kJune.begin};
    catalog = catalog.with_prices(std::span(&row, 1));
  }
  Result<Money> saving(const Change& change) const {
    const PriceLookup prices(catalog, facts.currency);
    return Books(facts, prices).saving_of(change);
  }
};

inline Money usd(std::string_view text) { return Money::parse(text).value(); }

}  // namespace stint
