#include "catalog/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "catalog/price_doubt.h"
#include "catalog/tables.h"
#include "model/mig.h"

namespace stint {
namespace {

using testing::HasSubstr;

const Catalog& built_in() { return Catalog::built_in(); }

Money on_demand(std::string_view provider, std::string_view type, std::string_view region) {
  const auto price = built_in().price({provider, type, region});
  CHECK(price.ok(), "{}", price.error().message);
  return price->rate.per_hour();
}

Money usd(std::string_view decimal) { return *Money::parse(decimal); }

// AWS's public list, us-east-1; p3 and g4dn have not changed since 2019.
TEST(Catalog, KnowsTheListPricesOfTheUsualTypes) {
  EXPECT_EQ(on_demand("aws", "p3.2xlarge", "us-east-1"), usd("3.06"));
  EXPECT_EQ(on_demand("aws", "p3.8xlarge", "us-east-1"), usd("12.24"));
  EXPECT_EQ(on_demand("aws", "g5.4xlarge", "us-east-1"), usd("1.624"));
  EXPECT_EQ(on_demand("aws", "g4dn.xlarge", "us-east-1"), usd("0.526"));
  EXPECT_EQ(on_demand("aws", "p4d.24xlarge", "us-east-1"), usd("21.957642"));
  EXPECT_EQ(on_demand("", "p5.48xlarge", "us-east-1"), usd("55.04"));
}

TEST(Catalog, EveryRowHasSourceDateAndAPriceAboveZero) {
  for (const PriceRow& p : built_in().prices()) {
    EXPECT_GT(p.rate.per_hour().count_nanos(), 0) << p.instance_type;
    EXPECT_FALSE(p.source.empty()) << p.instance_type;
    EXPECT_GE(p.as_of, *parse_instant("2024-01-01")) << p.instance_type;
    EXPECT_NE(built_in().find_instance(p.provider, p.instance_type), nullptr)
        << p.instance_type << " is priced, but its shape is not known";
  }
  for (const InstanceType& t : built_in().instances())
    EXPECT_FALSE(built_in().price_range(t.provider, t.name).empty()) << t.name << " has no price";
}

TEST(Catalog, SpotIsBelowOnDemandWhereBothAreKnown) {
  for (const PriceRow& spot : built_in().prices()) {
    if (spot.market != Market::kSpot) continue;
    const auto list = built_in().price({spot.provider, spot.instance_type, spot.region});
    if (list.ok()) {
      EXPECT_LT(spot.rate, list->rate) << spot.instance_type << " " << spot.region;
    }
  }
}

TEST(Catalog, EstimatedPricesSayWhatTheyAreMadeOf) {
  const auto spot = built_in().price({"aws", "p4de.24xlarge", "us-east-1", Market::kSpot});
  ASSERT_TRUE(spot.ok());
  EXPECT_TRUE(spot->estimated);
  EXPECT_THAT(spot->source, HasSubstr("Spot Advisor"));
  EXPECT_EQ(spot->rate.per_hour(), scale(usd("27.44705"), 35, 100));  // 65 % below on-demand
}

// Figures quoted of 2026-07-07, of a machine an hour.
TEST(Catalog, SecondHandPricesSayThatTheyAre) {
  const auto expect = [](std::string_view type, Market market, CommitmentTerm term, std::string_view decimal) {
    const auto price = built_in().price({"aws", type, "us-east-1", market, term});
    ASSERT_TRUE(price.ok()) << price.error().message;
    EXPECT_EQ(price->rate.per_hour(), usd(decimal)) << type;
    EXPECT_THAT(price->source, HasSubstr("secondary source: instances.vantage.sh"));
    EXPECT_EQ(price->as_of, *parse_instant("2026-07-07"));
    EXPECT_EQ(doubt_of(*price, *parse_instant("2026-10-01")), PriceDoubt::kSecondary);
  };
  expect("p4d.24xlarge", Market::kSpot, CommitmentTerm::kNone, "13.11");
  expect("p4d.24xlarge", Market::kReserved, CommitmentTerm::kOneYear, "13.92");
  expect("p5.48xlarge", Market::kSpot, CommitmentTerm::kNone, "19.65");
  expect("p5.48xlarge", Market::kReserved, CommitmentTerm::kOneYear, "23.78");
}

// A price a year older than the newest of the list, or spot more than 80 % below on-demand, was no quote anybody can buy at.
TEST(Catalog, NoImplausibleOrOldRowIsShippedAsAQuote) {
  Instant newest;
  for (const PriceRow& p : built_in().prices())
    newest = std::max(newest, p.as_of);
  for (const PriceRow& p : built_in().prices()) {
    if (p.estimated) continue;
    const std::string name = fmt::format("{} {} {} {}", p.provider, p.region, p.instance_type, name_of(p.market));
    EXPECT_LE(newest - p.as_of, Duration::hours(365 * 24)) << name << " is old and says estimated=no";
    const auto list = built_in().price({p.provider, p.instance_type, p.region});
    if (p.market == Market::kSpot && list.ok()) {
      EXPECT_GE(p.rate.per_hour(), scale(list->rate.per_hour(), 20, 100)) << name << " is implausible and says estimated=no";
    }
  }
}

TEST(Catalog, ADoubtNamesTheWorstReason) {
  PriceRow row = *built_in().price({"aws", "p5.48xlarge", "us-east-1"});
  row.as_of = *parse_instant("2026-04-01");
  EXPECT_EQ(doubt_of(row, row.as_of + kPriceStaleAfter), PriceDoubt::kNone);
  EXPECT_EQ(doubt_of(row, row.as_of + kPriceStaleAfter + Duration::hours(1)), PriceDoubt::kOld);
  row.estimated = true;
  EXPECT_EQ(doubt_of(row, row.as_of + kPriceStaleAfter + Duration::hours(1)), PriceDoubt::kEstimated);
  EXPECT_EQ(name_of(PriceDoubt::kEstimated), "estimated");
}

TEST(Catalog, UnknownPriceIsAnErrorThatSaysWhereOneIsKnown) {
  const auto elsewhere = built_in().price({"aws", "p3.8xlarge", "eu-west-1"});
  ASSERT_FALSE(elsewhere.ok());
  EXPECT_EQ(elsewhere.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(elsewhere.error().message, HasSubstr("on-demand"));
  EXPECT_THAT(elsewhere.error().message, HasSubstr("p3.8xlarge"));
  EXPECT_THAT(elsewhere.error().message, HasSubstr("eu-west-1"));
  EXPECT_THAT(elsewhere.error().message, HasSubstr("known in us-east-1"));
  const auto term = built_in().price({"aws", "p3.8xlarge", "us-east-1", Market::kReserved, CommitmentTerm::kThreeYears});
  ASSERT_FALSE(term.ok());
  EXPECT_THAT(term.error().message, HasSubstr("3y reserved"));
  EXPECT_THAT(term.error().message, HasSubstr("known there: on-demand"));
  const auto type = built_in().price({"aws", "p99.huge", "us-east-1"});
  ASSERT_FALSE(type.ok());
  EXPECT_THAT(type.error().message, HasSubstr("no price of this type"));
}

TEST(Catalog, EmptyRegionIsTheCheapestOne) {
  const auto cheapest = built_in().price({"gcp", "g2-standard-4", ""});
  ASSERT_TRUE(cheapest.ok());
  for (const PriceRow& row : built_in().price_range("gcp", "g2-standard-4"))
    if (row.market == Market::kOnDemand) {
      EXPECT_LE(cheapest->rate, row.rate) << row.region;
    }
}

TEST(Catalog, ImportedPricesReplaceAndAdd) {
  PriceRow cheaper = *built_in().price({"aws", "g5.xlarge", "us-east-1"});
  cheaper.rate = *Rate::parse_per_hour("0.9");
  PriceRow newer = cheaper;
  newer.rate = *Rate::parse_per_hour("0.8");
  PriceRow added = cheaper;
  added.region = "eu-west-1";
  const Catalog laid_over = built_in().with_prices(std::vector{cheaper, added, newer});
  EXPECT_EQ(laid_over.prices().size(), built_in().prices().size() + 1);
  EXPECT_EQ(laid_over.price({"aws", "g5.xlarge", "us-east-1"})->rate.per_hour(), usd("0.8"));
  EXPECT_EQ(laid_over.price({"aws", "g5.xlarge", "eu-west-1"})->rate.per_hour(), usd("0.9"));
  EXPECT_EQ(built_in().price({"aws", "g5.xlarge", "us-east-1"})->rate.per_hour(), usd("1.006"));
}

TEST(Catalog, PricesInTwoCurrenciesAreNotCompared) {
  PriceRow euro = *built_in().price({"aws", "g5.xlarge", "us-east-1"});
  euro.region = "eu-west-1";
  euro.rate = *Rate::parse_per_hour("0.1", *Currency::parse("EUR"));
  const Catalog mixed = built_in().with_prices(std::vector{euro});
  EXPECT_TRUE(mixed.price({"aws", "g5.xlarge", ""}).ok());
}

TEST(Catalog, FindsGpusByTheNamesOfNvmlAndClouds) {
  const auto model = [](std::string_view name, Bytes memory = {}) {
    const GpuFacts* g = built_in().find_gpu(name, memory);
    return g == nullptr ? std::string("none") : g->model;
  };
  EXPECT_EQ(model("NVIDIA A100-SXM4-80GB"), "A100-80GB");
  EXPECT_EQ(model("a100-80gb"), "A100-80GB");
  EXPECT_EQ(model("Tesla V100-SXM2-16GB"), "V100-16GB");
  EXPECT_EQ(model("NVIDIA H100 80GB HBM3"), "H100-80GB");
  EXPECT_EQ(model("Tesla T4"), "T4");
  EXPECT_EQ(model("NVIDIA A10G"), "A10G");
  EXPECT_EQ(model("NVIDIA GeForce RTX 4090"), "RTX 4090");
  EXPECT_EQ(model("A100"), "A100-40GB");
  EXPECT_EQ(model("A100", Bytes::mebi(81920)), "A100-80GB");
  EXPECT_EQ(model("V100", Bytes::mebi(32510)), "V100-32GB");
  EXPECT_EQ(model("abacus"), "none");
}

TEST(Catalog, MigGeometryIsKnownWhereTheFactsClaimMig) {
  for (const MigGeometry& g : mig_geometries()) {
    const GpuFacts* facts = built_in().find_gpu(g.gpu_model);
    ASSERT_NE(facts, nullptr) << g.gpu_model;
    EXPECT_TRUE(facts->mig) << g.gpu_model;
    EXPECT_LE(g.profiles.back().memory, facts->memory) << g.gpu_model;
  }
}

TEST(Catalog, WhatCanBeCutHasAGeometry) {
  for (const GpuFacts& facts : built_in().gpus())
    EXPECT_EQ(facts.mig, find_mig_geometry(facts.model) != nullptr) << facts.model;
}

// Data sheets: a tensor rate halves when the operand doubles.
TEST(Catalog, RatesOfTensorCoresFollowTheOperandWidth) {
  for (const char* name : {"A100-80GB", "H100-80GB", "H200", "B200", "L40S"}) {
    const GpuFacts& g = *built_in().find_gpu(name);
    EXPECT_NEAR(*g.bf16_tflops / *g.tf32_tflops, 2.0, 0.05) << name;
    EXPECT_NEAR(*g.int8_tops / *g.bf16_tflops, 2.0, 0.05) << name;
  }
}

constexpr std::string_view kGpus =
    "model,aliases,vendor,architecture,memory_gib,memory_bandwidth_gb_s,fp32_tflops,tf32_tflops,fp16_tflops,bf16_tflops,fp8_"
    "tflops,"
    "int8_tops,tdp_w,link_gb_s,mig,source,as_of\nL4,NVIDIA L4,NVIDIA,Ada,24,300,30.3,60,121,121,,,72,,no,data "
    "sheet,2023-03-01\n";
constexpr std::string_view kInstances =
    "provider,instance_type,gpu_model,gpu_milli,gpu_memory_gib,vcpus,memory_gib,arch,best_for,source,as_of\n"
    "aws,g6.xlarge,L4,1000,22.4,4,16,x86_64,images,list,2026-01-01\n";
constexpr std::string_view kPrices =
    "provider,region,instance_type,market,term,payment,per_hour,currency,estimated,source,as_of\n"
    "aws,us-east-1,g6.xlarge,on-demand,,,0.8048,USD,no,list,2026-01-01\n";

std::string error_of(std::string_view gpus, std::string_view instances, std::string_view prices) {
  const auto c = Catalog::parse(gpus, instances, prices);
  return c.ok() ? "none" : c.error().message;
}

TEST(Catalog, DefectsInTheFilesAreNamedWithFileAndLine) {
  EXPECT_EQ(error_of(kGpus, kInstances, kPrices), "none");
  EXPECT_THAT(error_of("", kInstances, kPrices), HasSubstr("gpus.csv: empty"));
  EXPECT_THAT(error_of("model,memory\n", kInstances, kPrices), HasSubstr("gpus.csv:1: the header must be"));
  const auto with_row = [](std::string_view table, std::string_view row) { return std::string(table) + std::string(row) + "\n"; };
  EXPECT_THAT(error_of(kGpus, kInstances, with_row(kPrices, "aws,us-east-1,g6.xlarge,spot,,,0,USD,no,list,2026-01-01")),
              HasSubstr("prices.csv:3: per_hour '0' is not above zero"));
  EXPECT_THAT(error_of(kGpus, kInstances, with_row(kPrices, "aws,us-east-1,g6.xlarge,reserved,,,0.5,USD,no,list,2026-01-01")),
              HasSubstr("needs its term"));
  EXPECT_THAT(error_of(kGpus, kInstances, with_row(kPrices, "aws,us-east-1,g6.xlarge,on-demand,,,0.9,USD,no,list,2026-01-01")),
              HasSubstr("stands twice"));
  EXPECT_THAT(error_of(kGpus, with_row(kInstances, "aws,p9,H900,1000,22.4,4,16,x86_64,images,list,2026-01-01"), kPrices),
              HasSubstr("gpus.csv does not know"));
  EXPECT_THAT(error_of(kGpus, with_row(kInstances, "aws,p9"), kPrices), HasSubstr("instances.csv:3: 2 fields"));
  EXPECT_THAT(error_of(kGpus, kInstances, with_row(kPrices, "aws,\"us\",g6.xlarge,spot,,,1,USD,no,list,2026-01-01")),
              HasSubstr("without quotes"));
}

TEST(Catalog, ThePricesGoStaleAfterAHalfYear) {
  const PriceRow price = *built_in().price({"aws", "g5.xlarge", "us-east-1"});
  EXPECT_FALSE(is_stale(price, price.as_of + kPriceStaleAfter));
  EXPECT_TRUE(is_stale(price, price.as_of + kPriceStaleAfter + Duration::seconds(1)));
}

}  // namespace
}  // namespace stint
