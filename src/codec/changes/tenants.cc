// Tenant rules in CSV: `pattern,client,project,team,environment,workload` (docs/formats.md). The first rule that
// matches a holder gives its tenant, so the order of rows counts.
#include <array>

#include "base/text.h"
#include "codec/csv_importer.h"

namespace stint {
namespace {

constexpr std::array<std::string_view, 1> kTenantsRequired = {"pattern"};
constexpr std::array<std::string_view, 6> kKinds = {"namespace/", "account/", "user/", "node/", "pod/", "job/"};

/// Whether a rule's pattern can match any holder at all.
bool names_a_kind(std::string_view pattern) {
  if (pattern.starts_with('*') || pattern.starts_with('?')) return true;
  for (const std::string_view kind : kKinds)
    if (pattern.starts_with(kind) && pattern.size() > kind.size()) return true;
  return false;
}

class TenantsImporter final : public CsvImporter {
 public:
  TenantsImporter(const ImportOptions& options, Sink& sink) : CsvImporter({}, options, sink) {}

 private:
  Status read_header(const CsvRecord& record) override {
    TRY_ASSIGN(const CsvHeader header, CsvHeader::create(record, kTenantsRequired));
    pattern_ = header.find("pattern");
    bool any = false;
    for (size_t i = 0; i < kTenantDimensions.size(); ++i) {
      dimensions_[i] = header.find(name_of(kTenantDimensions[i]));
      any |= dimensions_[i] >= 0;
    }
    if (!any) return invalid("line {}: none of the columns client, project, team, environment, workload is there", record.line);
    return {};
  }

  void read_row(const CsvRecord& record) override {
    TenantRule rule{.pattern = std::string(trim(record.at(pattern_))), .tenant = {}};
    if (!names_a_kind(rule.pattern))
      return reject(
          record,
          fmt::format("pattern: '{}' matches nothing: begin it with namespace/, account/, user/, node/, pod/NAMESPACE/ or job/",
                      excerpt(rule.pattern)));
    for (size_t i = 0; i < kTenantDimensions.size(); ++i)
      get(rule.tenant, kTenantDimensions[i]) = trim(record.at(dimensions_[i]));
    if (rule.tenant.empty())
      return reject(
          record, fmt::format("pattern '{}': no client, project, team, environment or workload is given", excerpt(rule.pattern)));
    sink().tenant_rule(rule);
  }

  int pattern_ = -1;
  std::array<int, kTenantDimensions.size()> dimensions_{};
};

}  // namespace

std::unique_ptr<Importer> make_tenants_importer(const ImportOptions& options, Sink& sink) {
  return std::make_unique<TenantsImporter>(options, sink);
}

}  // namespace stint
