// The table of input formats.
#include <array>

#include "codec/importer.h"

namespace stint {
namespace {

constexpr std::array<ImportFormat, 22> kFormats = {{
    {"nvidia-smi", "nvidia-smi --query-gpu=… --format=csv, one or many samples", make_nvidia_smi_importer},
    {"dcgm", "DCGM exporter or any Prometheus text exposition", make_prometheus_text_importer},
    {"prometheus", "Prometheus query_range JSON from a file (a server: --url)", make_prometheus_range_importer},
    {"focus", "FOCUS bill, CSV, JSON lines or Parquet", make_focus_importer, {}, true},
    {"cur", "AWS Cost and Usage Report, CSV or Parquet", make_cur_importer, {}, true},
    {"azure", "Azure cost export, amortized, CSV", make_azure_importer, {}, true},
    {"azure-actual", "Azure cost export, actual, CSV", make_azure_actual_importer, {}, true},
    {"gcp", "BigQuery export of a Google Cloud bill, JSON lines or CSV", make_gcp_importer, {}, true},
    {"sacct", "Slurm accounting, sacct -P with header", make_sacct_importer},
    {"slurm", "answers of squeue, sinfo, sacct --json and scontrol show -d (a live cluster: no file)", make_slurm_importer,
     "sacct"},
    {"kubernetes", "objects of its API: kubectl get nodes,pods,… -A -o json", make_kubernetes_importer},
    {"opencost", "OpenCost allocation JSON", make_opencost_importer},
    {"inventory", "nodes, their types, markets and owners, CSV (docs/formats.md)", make_inventory_importer},
    {"tenants", "rules from namespaces, accounts and users to clients, CSV (docs/formats.md)", make_tenants_importer},
    {"skypilot", "SkyPilot catalogue vms.csv", make_skypilot_importer},
    {"prices", "price list, CSV (docs/formats.md)", make_prices_importer},
    {"aws-prices", "AWS Price List: offer file of AmazonEC2, CSV or JSON, or aws pricing get-products", make_aws_prices_importer},
    {"aws-spot-prices", "aws ec2 describe-spot-price-history, JSON", make_aws_spot_prices_importer},
    {"azure-prices", "Azure Retail Prices, JSON", make_azure_prices_importer},
    {"google-skus", "SKUs of Compute Engine as the Cloud Billing Catalog API lists them, JSON", make_google_skus_importer},
    {"exchange-rates", "exchange rates, CSV: the European Central Bank's eurofxref, or date,base,currency,rate",
     make_exchange_rates_importer},
    {"genai", "Alibaba GenAI serving trace: pod duty cycle or memory, CSV", make_genai_importer},
}};

}  // namespace

std::span<const ImportFormat> import_formats() { return kFormats; }

const ImportFormat* find_import_format(std::string_view name) {
  for (const ImportFormat& format : kFormats)
    if (format.name == name) return &format;
  return nullptr;
}

}  // namespace stint
