#include "clouds/aws_profile.h"

#include <optional>

#include "base/text.h"

namespace stint {
namespace {

/// The profile that a section is; none = something else.
std::optional<std::string> profile_of_section(std::string_view section, AwsFileKind kind) {
  section = trim(section);
  if (kind == AwsFileKind::kCredentials || section == "default") return std::string(section);
  constexpr std::string_view kProfile = "profile";
  if (!section.starts_with(kProfile)) return std::nullopt;
  std::string_view name = section.substr(kProfile.size());
  if (!name.starts_with(' ') && !name.starts_with('\t')) return std::nullopt;
  name = trim(name);
  if (name.size() >= 2 && (name[0] == '"' || name[0] == '\'') && name.back() == name[0]) name = name.substr(1, name.size() - 2);
  return std::string(name);
}

/// A comment begins with `#` or `;` at the start of the line or behind a blank.
std::string_view without_comment(std::string_view value) {
  for (size_t i = 1; i < value.size(); ++i)
    if ((value[i] == '#' || value[i] == ';') && (value[i - 1] == ' ' || value[i - 1] == '\t')) return trim(value.substr(0, i));
  return trim(value);
}

}  // namespace

std::string value_of(const AwsProfile& profile, const std::string& name) {
  const auto found = profile.find(name);
  return found == profile.end() ? "" : found->second;
}

Result<AwsProfiles> parse_aws_profiles(std::string_view text, AwsFileKind kind, const std::string& where) {
  AwsProfiles profiles;
  AwsProfile* current = nullptr;
  AwsProfile passed_over;
  int number = 0;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    const std::string_view content = trim(line);
    if (content.empty() || content[0] == '#' || content[0] == ';') continue;
    if (line[0] == ' ' || line[0] == '\t') continue;  // nested, or goes on with the value before
    if (content[0] == '[') {
      const size_t end = content.find(']');
      if (end == std::string_view::npos) return invalid("{}:{}: the section '{}' has no ]", where, number, excerpt(content));
      const auto name = profile_of_section(content.substr(1, end - 1), kind);
      current = name ? &profiles[*name] : &passed_over;
      continue;
    }
    const size_t equals = content.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return invalid("{}:{}: is no section, comment or name = value", where, number);  // it may be a secret: not repeated
    if (current == nullptr) return invalid("{}:{}: stands before the first section: put [default] above it", where, number);
    (*current)[to_lower(trim(content.substr(0, equals)))] = std::string(without_comment(content.substr(equals + 1)));
  }
  return profiles;
}

}  // namespace stint
