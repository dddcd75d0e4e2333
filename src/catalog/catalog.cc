#include "catalog/catalog.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <tuple>

#include "base/text.h"
#include "catalog/tables.h"

namespace stint {
namespace {

using TypeKey = std::pair<std::string_view, std::string_view>;

TypeKey type_key(const PriceRow& p) { return {p.provider, p.instance_type}; }
TypeKey type_key(const InstanceType& t) { return {t.provider, t.name}; }

auto full_key(const PriceRow& p) { return std::tie(p.provider, p.instance_type, p.region, p.market, p.term, p.payment); }

bool by_full_key(const PriceRow& a, const PriceRow& b) { return full_key(a) < full_key(b); }

/// Lower case without "nvidia " and "tesla ", separators as one '-': sources differ in these only.
std::string folded(std::string_view name) {
  std::string out;
  for (const char c : to_lower(trim(name))) {
    const bool separator = c == ' ' || c == '_' || c == '-';
    if (!separator)
      out += c;
    else if (!out.empty() && out.back() != '-')
      out += '-';
  }
  for (const std::string_view prefix : {"nvidia-", "tesla-", "geforce-"})
    if (out.starts_with(prefix)) out.erase(0, prefix.size());
  return out;
}

/// Prices in different currencies are not compared by amount: they are ordered by currency, so that a choice is stable.
bool cheaper(const PriceRow& a, const PriceRow& b) {
  const Money x = a.rate.per_hour(), y = b.rate.per_hour();
  return x.currency() == y.currency() ? x < y : x.currency() < y.currency();
}

bool fits(const PriceRow& row, const PriceQuery& query) {
  return row.market == query.market && row.term == query.term && (query.region.empty() || row.region == query.region);
}

std::string market_text(Market market, CommitmentTerm term) {
  return term == CommitmentTerm::kNone ? std::string(name_of(market)) : fmt::format("{} {}", name_of(term), name_of(market));
}

/// "a, b, c and 12 more".
std::string list_some(const std::set<std::string>& names) {
  constexpr size_t kShown = 5;
  std::vector<std::string> shown(names.begin(),
                                 std::next(names.begin(), static_cast<std::ptrdiff_t>(std::min(kShown, names.size()))));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

}  // namespace

const Catalog& Catalog::built_in() {
  static const Catalog kCatalog = [] {
    auto parsed = parse(embedded_gpus_csv(), embedded_instances_csv(), embedded_prices_csv());
    CHECK(parsed.ok(), "the built-in catalogue is unsound: {}", parsed.error().message);
    return std::move(parsed).value();
  }();
  return kCatalog;
}

Result<Catalog> Catalog::parse(std::string_view gpus_csv, std::string_view instances_csv, std::string_view prices_csv) {
  Catalog c;
  TRY_ASSIGN(c.gpus_, parse_gpus(gpus_csv));
  TRY_ASSIGN(c.instances_, parse_instances(instances_csv));
  TRY_ASSIGN(c.prices_, parse_prices(prices_csv));
  TRY(c.index());
  return c;
}

Status Catalog::index() {
  for (uint32_t i = 0; i < gpus_.size(); ++i) {
    std::vector<std::string> names = gpus_[i].aliases;
    names.push_back(gpus_[i].model);
    for (const std::string& name : names) {
      std::vector<uint32_t>& owners = gpu_names_[folded(name)];
      if (owners.empty() || owners.back() != i) owners.push_back(i);
    }
  }
  std::sort(instances_.begin(), instances_.end(), [](const auto& a, const auto& b) { return type_key(a) < type_key(b); });
  for (size_t i = 0; i < instances_.size(); ++i) {
    if (i > 0 && type_key(instances_[i - 1]) == type_key(instances_[i]))
      return invalid("instances.csv: {} of {} stands twice", instances_[i].name, instances_[i].provider);
    if (!instances_[i].gpu_model.empty() && find_gpu(instances_[i].gpu_model) == nullptr)
      return invalid("instances.csv: {} has a {}, which gpus.csv does not know", instances_[i].name, instances_[i].gpu_model);
  }
  by_name_.resize(instances_.size());
  std::iota(by_name_.begin(), by_name_.end(), 0U);
  std::stable_sort(by_name_.begin(), by_name_.end(),
                   [&](uint32_t a, uint32_t b) { return instances_[a].name < instances_[b].name; });
  std::stable_sort(prices_.begin(), prices_.end(), by_full_key);
  const auto twice =
      std::adjacent_find(prices_.begin(), prices_.end(), [](const auto& a, const auto& b) { return full_key(a) == full_key(b); });
  if (twice != prices_.end())
    return invalid("prices.csv: the {} price of {} in {} stands twice", market_text(twice->market, twice->term),
                   twice->instance_type, twice->region);
  return {};
}

Catalog Catalog::with_prices(std::span<const PriceRow> rows) const {
  // Stable sort and "last of a key wins": imported rows come after the built-in ones, later imports after earlier ones.
  Catalog c = *this;
  c.prices_.insert(c.prices_.end(), rows.begin(), rows.end());
  std::stable_sort(c.prices_.begin(), c.prices_.end(), by_full_key);
  size_t kept = 0;
  for (size_t i = 0; i < c.prices_.size(); ++i) {
    if (i + 1 < c.prices_.size() && full_key(c.prices_[i]) == full_key(c.prices_[i + 1])) continue;
    if (kept != i) c.prices_[kept] = std::move(c.prices_[i]);
    ++kept;
  }
  c.prices_.resize(kept);
  return c;
}

Result<Catalog> Catalog::with_measurements(std::span<const GpuMeasurement> rows) const {
  std::vector<const GpuMeasurement*> ascending;
  for (const GpuMeasurement& row : rows)
    ascending.push_back(&row);
  std::stable_sort(ascending.begin(), ascending.end(), [](const auto* a, const auto* b) { return a->as_of < b->as_of; });
  Catalog c = *this;
  for (const GpuMeasurement* row : ascending) {
    const GpuFacts* known = c.find_gpu(row->gpu_model);
    if (known == nullptr) return invalid("'{}' was measured, but the catalogue has no such GPU", excerpt(row->gpu_model));
    MeasuredRates& rates = c.gpus_[static_cast<size_t>(known - c.gpus_.data())].measured;
    switch (row->rate) {
      case GpuRate::kFp32: rates.fp32_tflops = row->median; break;
      case GpuRate::kTf32: rates.tf32_tflops = row->median; break;
      case GpuRate::k16Bit: rates.half_tflops = row->median; break;
      case GpuRate::kMemory: rates.memory_gb_s = row->median; break;
    }
    rates.source = row->source;
    rates.as_of = row->as_of;
  }
  return c;
}

const GpuFacts* Catalog::find_gpu(std::string_view name, Bytes memory) const {
  const auto it = gpu_names_.find(folded(name));
  if (it == gpu_names_.end()) return nullptr;
  const std::vector<uint32_t>& owners = it->second;
  if (memory.count() <= 0) return &gpus_[owners.front()];
  const auto distance = [&](uint32_t i) { return std::abs(gpus_[i].memory.to_gibi() - memory.to_gibi()); };
  return &gpus_[*std::min_element(owners.begin(), owners.end(),
                                  [&](uint32_t a, uint32_t b) { return distance(a) < distance(b); })];
}

const InstanceType* Catalog::find_instance(std::string_view provider, std::string_view name) const {
  if (provider.empty()) return find_instance(name);
  const TypeKey key{provider, name};
  const auto it = std::lower_bound(instances_.begin(), instances_.end(), key,
                                   [](const InstanceType& t, const TypeKey& k) { return type_key(t) < k; });
  return it != instances_.end() && type_key(*it) == key ? &*it : nullptr;
}

const InstanceType* Catalog::find_instance(std::string_view name) const {
  const auto it = std::lower_bound(by_name_.begin(), by_name_.end(), name,
                                   [&](uint32_t i, std::string_view n) { return instances_[i].name < n; });
  if (it == by_name_.end() || instances_[*it].name != name) return nullptr;
  const auto next = it + 1;
  if (next != by_name_.end() && instances_[*next].name == name) return nullptr;  // two providers have it
  return &instances_[*it];
}

std::span<const PriceRow> Catalog::price_range(std::string_view provider, std::string_view instance_type) const {
  const TypeKey key{provider, instance_type};
  const auto first =
      std::lower_bound(prices_.begin(), prices_.end(), key, [](const PriceRow& p, const TypeKey& k) { return type_key(p) < k; });
  const auto last =
      std::upper_bound(first, prices_.end(), key, [](const TypeKey& k, const PriceRow& p) { return k < type_key(p); });
  return {first, last};
}

std::vector<const PriceRow*> Catalog::prices_of(std::string_view provider, std::string_view instance_type) const {
  std::vector<const PriceRow*> rows;
  for (const PriceRow& row : price_range(provider, instance_type))
    rows.push_back(&row);
  return rows;
}

Result<PriceRow> Catalog::price(const PriceQuery& query) const {
  std::string_view provider = query.provider;
  if (provider.empty())
    if (const InstanceType* type = find_instance(query.instance_type); type != nullptr) provider = type->provider;
  const PriceRow* best = nullptr;
  for (const PriceRow& row : price_range(provider, query.instance_type))
    if (fits(row, query) && (best == nullptr || cheaper(row, *best))) best = &row;
  if (best != nullptr) return *best;
  PriceQuery asked = query;
  asked.provider = provider;
  return no_price(asked);
}

Error Catalog::no_price(const PriceQuery& query) const {
  const std::string wanted = market_text(query.market, query.term);
  std::set<std::string> regions;
  std::set<std::string> markets_here;
  const std::span<const PriceRow> rows = price_range(query.provider, query.instance_type);
  for (const PriceRow& row : rows) {
    if (row.market == query.market && row.term == query.term) regions.insert(row.region);
    if (query.region.empty() || row.region == query.region) markets_here.insert(market_text(row.market, row.term));
  }
  std::string known;
  if (!regions.empty())
    known = fmt::format("known in {}", list_some(regions));
  else if (!markets_here.empty())
    known = fmt::format("known there: {}", list_some(markets_here));
  else
    known = rows.empty() ? "no price of this type is known" : "this type is priced only elsewhere and on other markets";
  return make_error(ErrorCode::kNotFound, "no {} price of {}{} in {}; {}. Import one: stint import prices FILE", wanted,
                    query.provider.empty() ? "" : fmt::format("{} ", query.provider), query.instance_type,
                    query.region.empty() ? std::string_view("any region") : query.region, known);
}

}  // namespace stint
