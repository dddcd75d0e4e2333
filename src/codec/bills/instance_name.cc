#include "codec/bills/instance_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "codec/decimal.h"

namespace stint {
namespace {

bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_name(char c) { return is_digit(c) || is_lower(c) || is_upper(c) || c == '.' || c == '-' || c == '_'; }

std::string_view take_while(std::string_view& text, bool (*keep)(char)) {
  const auto stop = std::find_if_not(text.begin(), text.end(), keep);
  const std::string_view taken = text.substr(0, static_cast<size_t>(stop - text.begin()));
  text.remove_prefix(taken.size());
  return taken;
}

bool all_digits(std::string_view text) { return !text.empty() && std::all_of(text.begin(), text.end(), is_digit); }

/// `4xlarge`, `xlarge`, `large`, `metal`, `metal-24xl`.
bool is_aws_size(std::string_view size) {
  constexpr std::array<std::string_view, 8> kPlain = {"nano",  "micro",  "small", "medium",
                                                      "large", "xlarge", "metal", "metal-48xl"};
  if (std::find(kPlain.begin(), kPlain.end(), size) != kPlain.end()) return true;
  if (size.starts_with("metal-") && size.ends_with("xl")) return all_digits(size.substr(6, size.size() - 8));
  return size.ends_with("xlarge") && all_digits(size.substr(0, size.size() - 6));
}

/// `g5`, `p4d`, `m7i-flex`, `u-6tb1`, `p6-b200`: lower-case letters first, a digit somewhere.
bool is_aws_family(std::string_view family) {
  if (family.empty() || !is_lower(family.front()) || family.size() > 12) return false;
  const bool letters = std::all_of(family.begin(), family.end(), [](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
  return letters && std::any_of(family.begin(), family.end(), is_digit);
}

/// `g5.4xlarge`, and SageMaker's `ml.g5.4xlarge`; not `db.r5.large` or `cache.r6g.large`: no work is placed on those.
bool is_aws(std::string_view token) {
  if (token.starts_with("ml.")) token.remove_prefix(3);
  const size_t dot = token.find('.');
  return dot != std::string_view::npos && is_aws_family(token.substr(0, dot)) && is_aws_size(token.substr(dot + 1));
}

/// `a2-highgpu-1g`, `g2-standard-4`, `n1-highmem-96`, `a3-highgpu-8g`.
bool is_gcp(std::string_view token) {
  constexpr std::array<std::string_view, 10> kClasses = {"standard", "highmem", "highcpu", "highgpu",  "megagpu",
                                                         "ultragpu", "edgegpu", "megamem", "ultramem", "hypermem"};
  const size_t first = token.find('-');
  const size_t last = token.rfind('-');
  if (first == std::string_view::npos || first == last) return false;
  const std::string_view family = token.substr(0, first);
  const std::string_view cls = token.substr(first + 1, last - first - 1);
  std::string_view size = token.substr(last + 1);
  if (size.ends_with('g')) size.remove_suffix(1);
  return family.size() >= 2 && family.size() <= 4 && is_lower(family[0]) && is_digit(family[1]) && all_digits(size) &&
         std::find(kClasses.begin(), kClasses.end(), cls) != kClasses.end();
}

/// `VM.GPU.A10.1`, `BM.GPU4.8`, `VM.Standard.E4.Flex`.
bool is_oci(std::string_view token) {
  if (!token.starts_with("VM.") && !token.starts_with("BM.")) return false;
  return token.size() > 4 && is_upper(token[3]) && token.back() != '.' &&
         std::all_of(token.begin(), token.end(), [](char c) { return is_name(c) && c != '_' && c != '-'; });
}

bool is_azure_full(std::string_view token) {
  return token.starts_with("Standard_") && token.size() > 10 && is_upper(token[9]) &&
         std::any_of(token.begin() + 9, token.end(), is_digit);
}

/// The size part of a meter name: `NC24ads`, `D2s`, `ND96amsr`, `B2ms`, `NC6`.
bool is_azure_size(std::string_view token) {
  const std::string_view family = take_while(token, is_upper);
  const std::string_view number = take_while(token, is_digit);
  const std::string_view features = take_while(token, is_lower);
  return token.empty() && !family.empty() && family.size() <= 3 && !number.empty() && number.size() <= 3 && features.size() <= 6;
}

/// `A100`, `H100`, `T4`, `A10`, `MI300X`, `GB200`: the accelerator some Azure names carry before the version.
bool is_azure_accelerator(std::string_view token) {
  const std::string_view letters = take_while(token, is_upper);
  const std::string_view number = take_while(token, is_digit);
  if (token == "X") token = {};
  return token.empty() && !letters.empty() && letters.size() <= 2 && !number.empty();
}

bool is_version(std::string_view token) { return token.size() == 2 && token[0] == 'v' && is_digit(token[1]); }

/// Azure meters write names with blanks: `NC24ads A100 v4`, `ND96asr v4`, `NC6s v3`. Only a size with a version
/// counts: `P4 LRS` is a disk.
std::string find_azure_meter(std::string_view text) {
  std::array<std::string_view, 3> window{};
  for (std::string_view rest = text; !rest.empty();) {
    const auto start = std::find_if(rest.begin(), rest.end(), is_name);
    rest.remove_prefix(static_cast<size_t>(start - rest.begin()));
    const std::string_view token = take_while(rest, is_name);
    window = {window[1], window[2], token};
    if (!is_version(window[2]) || trim(rest).starts_with("Series")) continue;  // "NCads A100 v4 Series" names no size
    if (is_azure_size(window[0]) && is_azure_accelerator(window[1]))
      return fmt::format("Standard_{}_{}_{}", window[0], window[1], window[2]);
    if (is_azure_size(window[1])) return fmt::format("Standard_{}_{}", window[1], window[2]);
  }
  return {};
}

bool is_type(std::string_view provider, std::string_view token) {
  const auto may_be = [&](std::string_view name) { return provider.empty() || provider == name; };
  return (may_be("aws") && is_aws(token)) || (may_be("gcp") && is_gcp(token)) || (may_be("oci") && is_oci(token)) ||
         (may_be("azure") && is_azure_full(token));
}

}  // namespace

std::string find_instance_type(std::string_view provider, std::string_view text) {
  const bool known = provider == "aws" || provider == "azure" || provider == "gcp" || provider == "oci";
  const std::string_view convention = known ? provider : std::string_view();
  for (std::string_view rest = text; !rest.empty();) {
    const auto start = std::find_if(rest.begin(), rest.end(), is_name);
    rest.remove_prefix(static_cast<size_t>(start - rest.begin()));
    std::string_view token = take_while(rest, is_name);
    while (!token.empty() && (token.back() == '.' || token.back() == '-'))
      token.remove_suffix(1);  // punctuation
    if (is_type(convention, token)) return std::string(token);
  }
  return provider == "azure" ? find_azure_meter(text) : std::string();
}

}  // namespace stint
