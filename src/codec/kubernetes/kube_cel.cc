#include "codec/kubernetes/kube_cel.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "codec/kubernetes/kubernetes_object.h"

namespace stint {
namespace {

constexpr size_t kLongest = 10'240;  ///< as the API server has it
constexpr int kDeepest = 64;

struct Quantity {
  int64_t thousandths = 0;
  auto operator<=>(const Quantity&) const = default;
};
struct Missing {
  auto operator<=>(const Missing&) const = default;
};
using Value = std::variant<Missing, bool, int64_t, std::string, KubeVersion, Quantity, std::vector<std::string>>;

std::string changed(std::string text, int (*change)(int)) {
  std::ranges::transform(text, text.begin(),
                         [&](unsigned char c) { return c < 0x80 ? static_cast<char>(change(c)) : static_cast<char>(c); });
  return text;
}

/// One step of a pattern: a character, any, or any number of any.
struct PatternStep {
  enum class Kind : uint8_t { kThis, kAny, kMany } kind = Kind::kThis;
  char character = 0;
};

struct Pattern {
  std::vector<PatternStep> steps;
};

/// @return error where it is more than characters, `.`, `.*`, `^` and `$`.
Result<Pattern> parse_pattern(std::string_view text) {
  Pattern out;
  const bool from_begin = text.starts_with('^');
  if (from_begin) text.remove_prefix(1);
  const bool to_end = text.ends_with('$') && !text.ends_with("\\$");
  if (to_end) text.remove_suffix(1);
  if (!from_begin) out.steps.push_back({.kind = PatternStep::Kind::kMany});
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.' && i + 1 < text.size() && text[i + 1] == '*') {
      out.steps.push_back({.kind = PatternStep::Kind::kMany});
      ++i;
    } else if (text[i] == '.') {
      out.steps.push_back({.kind = PatternStep::Kind::kAny});
    } else if (text[i] == '\\' && i + 1 < text.size() && std::ispunct(static_cast<unsigned char>(text[i + 1])) != 0) {
      out.steps.push_back({.character = text[++i]});
    } else if (std::string_view("\\*+?()[]{}|^$").find(text[i]) != std::string_view::npos) {
      return invalid("matches('{}'): of patterns only characters, '.', '.*', '^' and '$' are understood", excerpt(text));
    } else {
      out.steps.push_back({.character = text[i]});
    }
  }
  if (!to_end) out.steps.push_back({.kind = PatternStep::Kind::kMany});
  return out;
}

/// In time ∝ text × pattern: the last "any number" takes one more where it goes wrong.
bool fits(const Pattern& pattern, std::string_view text) {
  size_t at = 0, step = 0;
  std::optional<std::pair<size_t, size_t>> last;  // step behind it, and where it began
  while (at < text.size()) {
    if (step < pattern.steps.size() && pattern.steps[step].kind == PatternStep::Kind::kMany) {
      last = std::pair(++step, at);
    } else if (step < pattern.steps.size() &&
               (pattern.steps[step].kind == PatternStep::Kind::kAny || pattern.steps[step].character == text[at])) {
      ++step;
      ++at;
    } else if (last) {
      step = last->first;
      at = ++last->second;
    } else {
      return false;
    }
  }
  while (step < pattern.steps.size() && pattern.steps[step].kind == PatternStep::Kind::kMany)
    ++step;
  return step == pattern.steps.size();
}

}  // namespace

struct KubeCondition::Term {
  enum class Kind : uint8_t { kValue, kDriver, kAttribute, kCapacity, kHas, kNot, kAnd, kOr, kCompare, kIn, kMethod, kMatches };
  Kind kind = Kind::kValue;
  Value value = {};
  std::string word = {};  ///< name of an attribute, operator, or method
  Pattern pattern = {};
  std::vector<std::shared_ptr<const Term>> of = {};

  [[nodiscard]] Value value_of(const KubeDevice& device, std::string_view driver) const;

 private:
  [[nodiscard]] Value logical(const KubeDevice& device, std::string_view driver) const;
  [[nodiscard]] Value compared(const Value& a, const Value& b) const;
  [[nodiscard]] Value called(const Value& on, const Value& with) const;
};

namespace {

using Term = KubeCondition::Term;
using TermPtr = std::shared_ptr<const Term>;

TermPtr make(Term term) { return std::make_shared<const Term>(std::move(term)); }

constexpr std::array<std::string_view, 8> kMethods = {"startsWith", "endsWith",  "contains",      "lowerAscii",
                                                      "upperAscii", "compareTo", "isGreaterThan", "isLessThan"};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<TermPtr> parse() {
    TRY_ASSIGN(TermPtr term, either());
    skip();
    if (at_ < text_.size()) return not_understood();
    return term;
  }

 private:
  Error not_understood() {
    return make_error(ErrorCode::kInvalidInput, "'{}' of a device's condition is not understood",
                      excerpt(at_ < text_.size() ? text_.substr(at_) : text_, 60));
  }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0)
      ++at_;
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  std::string_view word() {
    skip();
    const size_t from = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    return text_.substr(from, at_ - from);
  }

  Result<TermPtr> either() {
    if (++depth_ > kDeepest) return not_understood();
    TRY_ASSIGN(TermPtr left, both());
    while (take("||")) {
      TRY_ASSIGN(TermPtr right, both());
      left = make({.kind = Term::Kind::kOr, .of = {left, right}});
    }
    --depth_;
    return left;
  }
  Result<TermPtr> both() {
    TRY_ASSIGN(TermPtr left, relation());
    while (take("&&")) {
      TRY_ASSIGN(TermPtr right, relation());
      left = make({.kind = Term::Kind::kAnd, .of = {left, right}});
    }
    return left;
  }
  Result<TermPtr> relation() {
    TRY_ASSIGN(TermPtr left, unary());
    for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (!take(op)) continue;
      TRY_ASSIGN(TermPtr right, unary());
      return make({.kind = Term::Kind::kCompare, .word = std::string(op), .of = {left, right}});
    }
    const size_t before = at_;
    if (word() == "in") {
      TRY_ASSIGN(TermPtr right, unary());
      return make({.kind = Term::Kind::kIn, .of = {left, right}});
    }
    at_ = before;
    return left;
  }
  Result<TermPtr> unary() {
    if (!take("!")) return member();
    if (++depth_ > kDeepest) return not_understood();
    TRY_ASSIGN(TermPtr of, unary());
    --depth_;
    return make({.kind = Term::Kind::kNot, .of = {of}});
  }
  Result<TermPtr> member() {
    TRY_ASSIGN(TermPtr term, primary());
    while (take(".")) {
      const std::string method(word());
      if (!take("(")) return not_understood();
      if (method == "matches") {
        TRY_ASSIGN(const std::string pattern, text());
        TRY_ASSIGN(Pattern parsed, parse_pattern(pattern));
        term = make({.kind = Term::Kind::kMatches, .pattern = std::move(parsed), .of = {term}});
      } else if (std::ranges::find(kMethods, method) == kMethods.end()) {
        return make_error(ErrorCode::kInvalidInput, "'{}(…)' of a device's condition is not understood", excerpt(method));
      } else if (method.ends_with("Ascii")) {
        term = make({.kind = Term::Kind::kMethod, .word = method, .of = {term}});
      } else {
        TRY_ASSIGN(TermPtr with, either());
        term = make({.kind = Term::Kind::kMethod, .word = method, .of = {term, with}});
      }
      if (!take(")")) return not_understood();
    }
    return term;
  }
  Result<std::string> text() {
    skip();
    if (at_ >= text_.size() || (text_[at_] != '"' && text_[at_] != '\'')) return not_understood();
    const char quote = text_[at_++];
    std::string out;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
        if (at_ >= text_.size() || std::string_view("\\\"'`?").find(text_[at_]) == std::string_view::npos)
          return not_understood();
      }
      out += text_[at_];
    }
    if (at_++ >= text_.size()) return not_understood();
    return out;
  }
  Result<TermPtr> primary() {
    skip();
    if (at_ >= text_.size()) return not_understood();
    const char next = text_[at_];
    if (take("(")) {
      TRY_ASSIGN(TermPtr term, either());
      if (!take(")")) return not_understood();
      return term;
    }
    if (next == '"' || next == '\'') {
      TRY_ASSIGN(std::string value, text());
      return make({.value = std::move(value)});
    }
    if (next == '[') return list();
    if (next == '-' || std::isdigit(static_cast<unsigned char>(next)) != 0) return number();
    return named();
  }
  Result<TermPtr> list() {
    std::vector<std::string> values;
    if (!take("[")) return not_understood();
    while (!take("]")) {
      TRY_ASSIGN(std::string value, text());
      values.push_back(std::move(value));
      if (!take(",") && !text_.substr(at_).starts_with(']')) return not_understood();
      skip();
    }
    return make({.value = std::move(values)});
  }
  Result<TermPtr> number() {
    const size_t from = at_++;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) != 0)
      ++at_;
    const auto value = parse_int(text_.substr(from, at_ - from));
    if (!value || (at_ < text_.size() && text_[at_] == '.')) return not_understood();
    return make({.value = *value});
  }
  Result<TermPtr> named() {
    const size_t before = at_;
    const std::string_view name = word();
    if (name == "true" || name == "false") return make({.value = name == "true"});
    if (name == "device") return of_device();
    if (name == "has" && take("(")) {
      TRY_ASSIGN(TermPtr of, member());
      if ((of->kind != Term::Kind::kAttribute && of->kind != Term::Kind::kCapacity) || !take(")")) return not_understood();
      return make({.kind = Term::Kind::kHas, .of = {of}});
    }
    if ((name == "quantity" || name == "semver") && take("(")) {
      TRY_ASSIGN(const std::string value, text());
      if (!take(")")) return not_understood();
      if (name == "semver") {
        TRY_ASSIGN(KubeVersion version, parse_kube_version(value));
        return make({.value = version});
      }
      const auto amount = parse_kubernetes_quantity(value);
      if (!amount) return make_error(ErrorCode::kInvalidInput, "quantity('{}') of a device's condition is none", excerpt(value));
      return make({.value = Quantity{*amount}});
    }
    at_ = before;
    return not_understood();
  }
  Result<TermPtr> of_device() {
    if (!take(".")) return not_understood();
    const std::string_view what = word();
    if (what == "driver") return make({.kind = Term::Kind::kDriver});
    if ((what != "attributes" && what != "capacity") || !take("[")) return not_understood();
    TRY_ASSIGN(std::string name, text());
    if (!take("]")) return not_understood();
    if (take("[")) {
      TRY_ASSIGN(const std::string id, text());
      if (!take("]")) return not_understood();
      name += "/" + id;
    } else {
      if (!take(".")) return not_understood();
      const std::string_view id = word();
      if (id.empty()) return not_understood();
      name += "/" + std::string(id);
    }
    return make({.kind = what == "capacity" ? Term::Kind::kCapacity : Term::Kind::kAttribute, .word = std::move(name)});
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Value KubeCondition::Term::value_of(const KubeDevice& device, std::string_view driver) const {
  switch (kind) {
    case Kind::kValue: return value;
    case Kind::kDriver: return std::string(driver);
    case Kind::kAttribute: {
      const auto found = device.attributes.find(word);
      if (found == device.attributes.end()) return Missing();
      return std::visit([](const auto& known) -> Value { return known; }, found->second);
    }
    case Kind::kCapacity: {
      const auto found = device.capacity.find(word);
      return found == device.capacity.end() ? Value(Missing()) : Value(Quantity{found->second});
    }
    case Kind::kHas: return !std::holds_alternative<Missing>(of[0]->value_of(device, driver));
    case Kind::kNot: {
      const Value inner = of[0]->value_of(device, driver);
      const bool* known = std::get_if<bool>(&inner);
      return known == nullptr ? Value(Missing()) : Value(!*known);
    }
    case Kind::kAnd:
    case Kind::kOr: return logical(device, driver);
    case Kind::kCompare: return compared(of[0]->value_of(device, driver), of[1]->value_of(device, driver));
    case Kind::kIn: {
      const Value one = of[0]->value_of(device, driver), all = of[1]->value_of(device, driver);
      const auto* text = std::get_if<std::string>(&one);
      const auto* list = std::get_if<std::vector<std::string>>(&all);
      if (text == nullptr || list == nullptr) return Missing();
      return std::ranges::find(*list, *text) != list->end();
    }
    case Kind::kMethod:
      return called(of[0]->value_of(device, driver), of.size() > 1 ? of[1]->value_of(device, driver) : Value(Missing()));
    case Kind::kMatches: {
      const Value on = of[0]->value_of(device, driver);
      const auto* text = std::get_if<std::string>(&on);
      return text == nullptr ? Value(Missing()) : Value(fits(pattern, *text));
    }
  }
  return Missing();
}

/// What decides alone decides, whatever is wrong with the other side.
Value KubeCondition::Term::logical(const KubeDevice& device, std::string_view driver) const {
  const bool deciding = kind == Kind::kOr;
  const Value left = of[0]->value_of(device, driver);
  if (left == Value(deciding)) return deciding;
  const Value right = of[1]->value_of(device, driver);
  if (right == Value(deciding)) return deciding;
  return left == Value(!deciding) && right == Value(!deciding) ? Value(!deciding) : Value(Missing());
}

Value KubeCondition::Term::compared(const Value& a, const Value& b) const {
  if (a.index() != b.index() || std::holds_alternative<Missing>(a)) return Missing();
  if (word == "==") return a == b;
  if (word == "!=") return a != b;
  if (std::holds_alternative<bool>(a) || std::holds_alternative<std::vector<std::string>>(a)) return Missing();
  if (word == "<") return a < b;
  if (word == "<=") return a <= b;
  if (word == ">") return a > b;
  return a >= b;
}

Value KubeCondition::Term::called(const Value& on, const Value& with) const {
  if (word == "compareTo" || word.starts_with("is")) {
    const bool comparable = std::holds_alternative<Quantity>(on) || std::holds_alternative<KubeVersion>(on);
    if (!comparable || on.index() != with.index()) return Missing();
    const int64_t order = on < with ? -1 : on == with ? 0 : 1;
    if (word == "compareTo") return order;
    return word == "isLessThan" ? order < 0 : order > 0;
  }
  const auto* text = std::get_if<std::string>(&on);
  if (text == nullptr) return Missing();
  if (word == "lowerAscii") return changed(*text, [](int c) { return std::tolower(c); });
  if (word == "upperAscii") return changed(*text, [](int c) { return std::toupper(c); });
  const auto* part = std::get_if<std::string>(&with);
  if (part == nullptr) return Missing();
  if (word == "startsWith") return text->starts_with(*part);
  if (word == "endsWith") return text->ends_with(*part);
  return text->find(*part) != std::string::npos;
}

Result<KubeVersion> parse_kube_version(std::string_view text) {
  std::string_view left = text.starts_with('v') ? text.substr(1) : text;
  left = left.substr(0, left.find_first_of("-+"));
  const std::vector<std::string_view> parts = split(left, '.');
  std::array<int64_t, 3> numbers{};
  bool whole = parts.size() == numbers.size();
  for (size_t i = 0; whole && i < numbers.size(); ++i) {
    const auto number = parse_int(parts[i]);
    whole = number && *number >= 0;
    numbers[i] = number.value_or(0);
  }
  if (!whole) return invalid("'{}' is no version such as 1.2.3", excerpt(text));
  return KubeVersion{{numbers[0], numbers[1], numbers[2]}};
}

Result<KubeCondition> KubeCondition::parse(std::string_view text) {
  if (text.size() > kLongest) return invalid("a condition of a device has more than {} characters", kLongest);
  TRY_ASSIGN(TermPtr term, Parser(text).parse());
  return KubeCondition(std::move(term));
}

bool KubeCondition::holds(const KubeDevice& device, std::string_view driver) const {
  return term_->value_of(device, driver) == Value(true);
}

}  // namespace stint
