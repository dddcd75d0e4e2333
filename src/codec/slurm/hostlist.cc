#include "codec/slurm/hostlist.h"

#include "base/text.h"

namespace stint {
namespace {

Error no_hostlist(std::string_view text) { return invalid("'{}' is no hostlist: write it as node[01-03,7],gpu5", excerpt(text)); }

/// Where the host expression at the front of `text` ends: the first comma outside brackets.
size_t end_of_expression(std::string_view text) {
  bool inside = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (text[i] == ',' && !inside) return i;
  }
  return text.size();
}

/// `01-03,7` → 01, 02, 03, 7.
Result<std::vector<std::string>> expand_ranges(std::string_view ranges) {
  std::vector<std::string> out;
  for (const std::string_view range : split(ranges, ',')) {
    const size_t dash = range.find('-');
    const std::string_view low_text = range.substr(0, dash);
    const std::string_view high_text = dash == std::string_view::npos ? low_text : range.substr(dash + 1);
    const auto low = parse_int(low_text);
    const auto high = parse_int(high_text);
    if (!low || !high || *low < 0 || *high < *low || low_text.size() > 12) return no_hostlist(ranges);
    if (static_cast<size_t>(*high - *low) >= kMaxHosts - out.size()) return invalid("more than {} hosts in one list", kMaxHosts);
    for (int64_t n = *low; n <= *high; ++n)
      out.push_back(fmt::format("{:0{}}", n, low_text.size()));
  }
  return out;
}

/// One expression with any number of bracket groups; every group multiplies.
Result<std::vector<std::string>> expand_expression(std::string_view text) {
  std::vector<std::string> names = {""};
  while (!text.empty()) {
    const size_t open = text.find('[');
    const std::string_view plain = text.substr(0, open);
    if (plain.find(']') != std::string_view::npos) return no_hostlist(text);
    for (std::string& name : names)
      name += plain;
    if (open == std::string_view::npos) break;
    const size_t close = text.find(']', open);
    if (close == std::string_view::npos) return no_hostlist(text);
    TRY_ASSIGN(const std::vector<std::string> numbers, expand_ranges(text.substr(open + 1, close - open - 1)));
    if (numbers.size() * names.size() > kMaxHosts) return invalid("more than {} hosts in one list", kMaxHosts);
    std::vector<std::string> product;
    product.reserve(numbers.size() * names.size());
    for (const std::string& name : names)
      for (const std::string& number : numbers)
        product.push_back(name + number);
    names = std::move(product);
    text.remove_prefix(close + 1);
  }
  return names;
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text) {
  std::vector<std::string> out;
  text = trim(text);
  while (!text.empty()) {
    const size_t end = end_of_expression(text);
    if (end == 0) return no_hostlist(text);
    TRY_ASSIGN(std::vector<std::string> names, expand_expression(text.substr(0, end)));
    if (out.size() + names.size() > kMaxHosts) return invalid("more than {} hosts in one list", kMaxHosts);
    out.insert(out.end(), std::make_move_iterator(names.begin()), std::make_move_iterator(names.end()));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace stint
