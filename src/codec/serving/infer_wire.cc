#include "codec/serving/infer_wire.h"

#include <fmt/compile.h>
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "codec/serving/tensor_texts.h"

namespace stint {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kKeptCapacity = size_t{256} << 10;  // of the parser
constexpr size_t kMostTensors = 64;
constexpr size_t kMostDimensions = 16;
constexpr int kDeepest = 17;                       // of nested data: as deep as a shape is long
constexpr int64_t kMostValues = int64_t{1} << 32;  // of a tensor; the body's bound is met long before

// What JSON has no word for, as Triton, RapidJSON and Python's json have it.
constexpr std::string_view kNan = "NaN", kInfinity = "Infinity", kMinusInfinity = "-Infinity";

std::optional<double> special_value(std::string_view text) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  if (text == kNan) return std::numeric_limits<double>::quiet_NaN();
  if (text == kInfinity || text == kMinusInfinity) return text == kInfinity ? kInfinite : -kInfinite;
  return std::nullopt;
}

/// At the beginning; empty: there is none.
std::string_view special_at(std::string_view json) {
  for (const std::string_view special : {kNan, kInfinity, kMinusInfinity})
    if (json.starts_with(special)) return special;
  return {};
}

/// JSON in which those words stand bare, with them in quotes. @return none: there are none outside texts
std::optional<std::string> with_quoted_specials(std::string_view json) {
  std::string out;
  bool in_text = false, found = false;
  for (size_t at = 0; at < json.size();) {
    const size_t escaped = in_text && json[at] == '\\' && at + 1 < json.size() ? 2 : 1;
    const std::string_view special = in_text ? std::string_view() : special_at(json.substr(at));
    if (json[at] == '"') in_text = !in_text;
    if (special.empty()) {
      out += json.substr(at, escaped);
      at += escaped;
      continue;
    }
    fmt::format_to(std::back_inserter(out), FMT_COMPILE("\"{}\""), special);
    at += special.size();
    found = true;
  }
  return found ? std::optional(std::move(out)) : std::nullopt;
}

/// A text member; none when it is absent.
Result<std::optional<std::string_view>> text_member(dom::object object, const char* name) {
  dom::element value;
  if (object[name].get(value) != simdjson::SUCCESS) return std::optional<std::string_view>();
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return invalid("\"{}\" must be a text", name);
  return std::optional(text);
}

Result<std::optional<int64_t>> parameter(dom::object object, const char* name, int64_t most) {
  dom::object parameters;
  dom::element value;
  if (object["parameters"].get(parameters) != simdjson::SUCCESS || parameters[name].get(value) != simdjson::SUCCESS)
    return std::optional<int64_t>();
  int64_t number = 0;
  if (value.get(number) != simdjson::SUCCESS || number < 0 || number > most)
    return invalid("parameter \"{}\" must be a whole number from 0 to {}", name, most);
  return std::optional(number);
}

Result<bool> flag(dom::object object, const char* name) {
  dom::object parameters;
  dom::element value;
  if (object["parameters"].get(parameters) != simdjson::SUCCESS || parameters[name].get(value) != simdjson::SUCCESS) return false;
  bool on = false;
  if (value.get(on) != simdjson::SUCCESS) return invalid("parameter \"{}\" must be true or false", name);
  return on;
}

Result<std::vector<int64_t>> read_shape(dom::object tensor, const std::string& name) {
  dom::array dimensions;
  if (tensor["shape"].get(dimensions) != simdjson::SUCCESS) return invalid("input {}: no \"shape\"", excerpt(name));
  std::vector<int64_t> shape;
  for (const dom::element dimension : dimensions) {
    int64_t size = 0;
    if (dimension.get(size) != simdjson::SUCCESS || shape.size() > kMostDimensions) size = -1;
    shape.push_back(size);
    if (size < 0) break;
  }
  TRY(check_infer_shape(shape, name));
  return shape;
}

/// Hot: once per value, so that it is to hold what it calls.
/// @return false when the element is none of T's values
template <typename T>
[[gnu::flatten]] bool take_value(dom::element element, T& value) {
  if constexpr (std::is_integral_v<T>) {
    std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t> widest = 0;
    if (element.get(widest) != simdjson::SUCCESS || !std::in_range<T>(widest)) return false;
    value = static_cast<T>(widest);
    return true;
  } else {
    double number = 0;
    if (bool truth = false; std::is_same_v<T, Bool> && element.get(truth) == simdjson::SUCCESS) {
      number = truth ? 1 : 0;
    } else if (element.get(number) != simdjson::SUCCESS) {
      std::string_view text;
      const bool special = !std::is_same_v<T, Bool> && element.get(text) == simdjson::SUCCESS && special_value(text);
      if (special) value = *from_number<T>(*special_value(text));
      return special;
    }
    const std::optional<T> taken = from_number<T>(number);
    value = taken.value_or(T());
    return taken.has_value() && std::isfinite(static_cast<double>(plain(value)));
  }
}

template <typename T>
std::string wanted_value() {
  if constexpr (std::is_integral_v<T>)
    return fmt::format("whole number from {} to {}", std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  else
    return std::is_same_v<T, Bool> ? "truth value (true or 1, false or 0)"
                                   : "number that its type can hold, nor NaN, Infinity or -Infinity";
}

/// Flat or nested, row by row.
template <typename T>
Status read_values(dom::element element, int depth, size_t most, std::vector<T>& out) {
  dom::array array;
  if (element.get(array) == simdjson::SUCCESS) {
    if (depth == kDeepest) return invalid("data nested deeper than a shape can be");
    for (const dom::element inner : array)
      TRY(read_values(inner, depth + 1, most, out));
    return {};
  }
  T value;
  if (!take_value(element, value)) return invalid("data that is no {}", wanted_value<T>());
  if (out.size() == most) return invalid("more data than the shape says");
  out.push_back(value);
  return {};
}

template <typename T>
Result<std::vector<std::byte>> read_data(dom::element data, size_t count) {
  std::vector<T> values;
  TRY(read_values(data, 0, count, values));
  if (values.size() != count) return invalid("{} values; its shape says {}", values.size(), count);
  return bytes_of<T>(values);
}

/// Flat or nested, as numbers are.
Status read_texts(dom::element element, int depth, size_t& left, std::vector<std::byte>& out) {
  dom::array array;
  if (element.get(array) == simdjson::SUCCESS) {
    if (depth == kDeepest) return invalid("data nested deeper than a shape can be");
    for (const dom::element inner : array)
      TRY(read_texts(inner, depth + 1, left, out));
    return {};
  }
  std::string_view text;
  if (element.get(text) != simdjson::SUCCESS) return invalid("data that is no text");
  if (left-- == 0) return invalid("more data than the shape says");
  append_text(out, text);
  return {};
}

Result<std::vector<std::byte>> read_data_of(DataType type, dom::element data, size_t count) {
  if (type != DataType::kBytes) return visit_type(type, [&]<typename T>(T) { return read_data<T>(data, count); });
  std::vector<std::byte> texts;
  size_t left = count;
  TRY(read_texts(data, 0, left, texts));
  if (left > 0) return invalid("{} values; its shape says {}", count - left, count);
  return texts;
}

Result<InferTensor> read_input(dom::object object, std::string_view binary, size_t& binary_at) {
  InferTensor tensor;
  TRY_ASSIGN(const std::optional<std::string_view> name, text_member(object, "name"));
  if (!name) return invalid("an input without \"name\"");
  tensor.name = *name;
  TRY_ASSIGN(const std::optional<std::string_view> type_name, text_member(object, "datatype"));
  const Result<DataType> type = read_data_type(type_name.value_or("missing"));
  if (!type.ok()) return invalid("input {}: {}", excerpt(*name), type.error().message);
  tensor.type = *type;
  TRY_ASSIGN(tensor.shape, read_shape(object, tensor.name));
  const auto count = static_cast<size_t>(tensor.count());
  TRY_ASSIGN(const std::optional<int64_t> size, parameter(object, "binary_data_size", INT64_MAX / 2));
  dom::element data;
  const bool has_data = object["data"].get(data) == simdjson::SUCCESS;
  if (size) {
    if (has_data) return invalid("input {}: both \"data\" and binary data", excerpt(*name));
    const bool is_text = tensor.type == DataType::kBytes;
    if (!is_text && std::cmp_not_equal(*size, count * size_of(tensor.type)))
      return invalid("input {}: {} bytes of binary data; its shape has {} values of {}", excerpt(*name), *size, count,
                     size_of(tensor.type));
    if (std::cmp_greater(*size, binary.size() - binary_at))
      return invalid("input {}: the body ends before its binary data does", excerpt(*name));
    tensor.bytes = binary.substr(binary_at, static_cast<size_t>(*size));
    binary_at += tensor.bytes.size();
    if (!is_text) return tensor;
    if (const Status whole = check_texts(tensor.values(), count); !whole.ok())
      return invalid("input {}: {}", excerpt(*name), whole.error().message);
    return tensor;
  }
  if (!has_data) return invalid("input {}: neither \"data\" nor binary data", excerpt(*name));
  Result<std::vector<std::byte>> read = read_data_of(tensor.type, data, count);
  if (!read.ok()) return invalid("input {}: {}", excerpt(*name), read.error().message);
  tensor.own = std::move(*read);
  return tensor;
}

Result<InferRequest> read_request(dom::object root, std::string_view binary) {
  InferRequest request;
  TRY_ASSIGN(const std::optional<std::string_view> id, text_member(root, "id"));
  request.id = id.value_or("");
  TRY_ASSIGN(const std::optional<int64_t> timeout_us, parameter(root, "timeout", kLongestInferTimeout_us));
  if (timeout_us.value_or(0) > 0) request.timeout = Duration::nanoseconds(*timeout_us * 1000);
  TRY_ASSIGN(const std::optional<int64_t> priority, parameter(root, "priority", INT64_MAX));
  request.priority = priority.value_or(0);
  TRY_ASSIGN(request.most_answers, parameter(root, "max_tokens", INT64_MAX));
  TRY_ASSIGN(request.binary_output, flag(root, "binary_data_output"));
  dom::array inputs;
  if (root["inputs"].get(inputs) != simdjson::SUCCESS) return invalid("no list of \"inputs\"");
  size_t binary_at = 0;
  for (const dom::element element : inputs) {
    dom::object object;
    if (element.get(object) != simdjson::SUCCESS || request.inputs.size() == kMostTensors)
      return invalid("\"inputs\" must be at most {} objects", kMostTensors);
    TRY_ASSIGN(InferTensor tensor, read_input(object, binary, binary_at));
    request.inputs.push_back(std::move(tensor));
  }
  if (binary_at != binary.size()) return invalid("{} bytes behind the last tensor", binary.size() - binary_at);
  dom::element wanted;
  if (root["outputs"].get(wanted) != simdjson::SUCCESS) return request;
  dom::array outputs;
  if (wanted.get(outputs) != simdjson::SUCCESS) return invalid("\"outputs\" must be a list");
  for (const dom::element element : outputs) {
    dom::object object;
    if (element.get(object) != simdjson::SUCCESS || request.outputs.size() == kMostTensors)
      return invalid("\"outputs\" must be at most {} objects", kMostTensors);
    TRY_ASSIGN(const std::optional<std::string_view> name, text_member(object, "name"));
    if (!name) return invalid("an output without \"name\"");
    TRY_ASSIGN(const bool binary_data, flag(object, "binary_data"));
    request.outputs.push_back({std::string(*name), binary_data});
  }
  return request;
}

template <typename T>
void append_numbers(std::string& json, std::span<const std::byte> values) {
  auto out = std::back_inserter(json);
  each_value<T>(values, [&](T value) {
    const auto number = plain(value);
    if constexpr (std::floating_point<decltype(plain(value))>) {
      if (!std::isfinite(number)) {
        fmt::format_to(out, FMT_COMPILE("{},"), std::isnan(number) ? kNan : number > 0 ? kInfinity : kMinusInfinity);
        return;
      }
    }
    fmt::format_to(out, FMT_COMPILE("{},"), number);
  });
}

/// `[1,2.5]`
void append_values(std::string& json, const InferPart& part) {
  json += '[';
  if (part.type != DataType::kBytes) {
    visit_type(part.type, [&]<typename T>(T) { append_numbers<T>(json, part.values); });
  } else {
    for (std::span<const std::byte> rest = part.values; const std::optional<std::string_view> text = take_text(rest);)
      json += json_text(*text) + ',';
  }
  if (part.values.empty()) json += ' ';
  json.back() = ']';
}

/// Once for all: growing by and by would take up to three times as much.
void make_room(std::string& json, std::string& binary, std::span<const InferPart> parts) {
  constexpr size_t kHeadOfPart = 512;
  size_t text = json.size() + 2, bytes = 0;
  for (const InferPart& part : parts) {
    text += kHeadOfPart + part.name.size() + (part.binary ? part.values.size() : json_room(part.type, part.values));
    bytes += part.binary ? part.values.size() : 0;
  }
  json.reserve(text);
  binary.reserve(bytes);
}

Status check_utf8(const InferPart& part) {
  if (part.type != DataType::kBytes || all_utf8(part.values)) return {};
  return invalid("{} holds a text that is no UTF-8, which JSON cannot: send it, or ask for it, in binary", part.name);
}

/// `"NAME":[{"name":…,"datatype":…,"shape":…,…}]`, and the binary data behind the whole head in `binary`.
Status append_parts(std::string& json, std::string& binary, std::string_view member, std::span<const InferPart> parts) {
  make_room(json, binary, parts);
  auto out = std::back_inserter(json);
  fmt::format_to(out, FMT_COMPILE(R"("{}":[)"), member);
  for (size_t p = 0; p < parts.size(); ++p) {
    const InferPart& part = parts[p];
    fmt::format_to(out, FMT_COMPILE(R"({}{{"name":{},"datatype":"{}","shape":[{}],)"), p == 0 ? "" : ",", json_text(part.name),
                   name_of(part.type), fmt::join(part.shape, ","));
    if (part.binary) {
      fmt::format_to(out, FMT_COMPILE(R"("parameters":{{"binary_data_size":{}}}}})"), part.values.size());
      binary.append(reinterpret_cast<const char*>(part.values.data()), part.values.size());
      continue;
    }
    TRY(check_utf8(part));
    json += R"("data":)";
    append_values(json, part);
    json += '}';
  }
  json += ']';
  return {};
}

InferMessage message_of(std::string json, const std::string& binary) {
  if (binary.empty()) return {std::move(json), std::nullopt};
  const size_t head = json.size();
  json += binary;
  return {std::move(json), head};
}

}  // namespace

Status check_infer_shape(std::span<const int64_t> shape, std::string_view name) {
  int64_t count = 1;
  if (shape.size() > kMostDimensions || std::ranges::any_of(shape, [](int64_t size) { return size < 0; }))
    return invalid("input {}: the shape must be at most {} whole numbers, none below 0", excerpt(name), kMostDimensions);
  for (const int64_t size : shape) {
    if (size > 0 && count > kMostValues / size) return invalid("input {}: a shape of too many values", excerpt(name));
    count *= size;
  }
  return {};
}

int64_t InferTensor::count() const {
  int64_t product = 1;
  for (const int64_t size : shape)
    product *= size;
  return product;
}

std::span<const std::byte> InferTensor::values() const {
  return bytes.empty() ? std::span(own) : std::as_bytes(std::span(bytes));
}

uint64_t json_room(DataType type, std::span<const std::byte> values) {
  if (type != DataType::kBytes) return values.size() / size_of(type) * (longest_text(type) + 1);
  constexpr uint64_t kQuotesAndComma = 3;
  uint64_t room = 0;
  for (std::span<const std::byte> rest = values; const std::optional<std::string_view> text = take_text(rest);) {
    room += kQuotesAndComma + text->size();
    for (const char c : *text)
      room += static_cast<unsigned char>(c) < ' ' ? std::string_view("\\u0000").size() - 1 : c == '"' || c == '\\' ? 1 : 0;
  }
  return room;
}

struct InferParser::Impl {
  dom::parser parser;
};

InferParser::InferParser() : impl_(std::make_unique<Impl>()) {}
InferParser::InferParser(InferParser&&) noexcept = default;
InferParser::~InferParser() = default;

Result<InferRequest> InferParser::parse(std::string_view body, std::optional<size_t> head_bytes) {
  if (head_bytes && *head_bytes > body.size())
    return invalid("a JSON head of {} bytes in a body of {}", *head_bytes, body.size());
  const std::string_view head = body.substr(0, head_bytes.value_or(body.size()));
  if (impl_->parser.capacity() > kKeptCapacity) impl_->parser = dom::parser();
  dom::object root;
  if (const auto failure = impl_->parser.parse(head.data(), head.size()).get(root); failure != simdjson::SUCCESS) {
    const std::optional<std::string> quoted = with_quoted_specials(head);
    if (!quoted || impl_->parser.parse(quoted->data(), quoted->size()).get(root) != simdjson::SUCCESS)
      return invalid("the body is no JSON object: {}", simdjson::error_message(failure));
  }
  return read_request(root, body.substr(head.size()));
}

/// Of simdjson, for each byte: a copy, a tape of 8, 4 for where things begin, 5/3 for texts; and 8 for the values, of which one takes two
/// bytes, when they are read as doubles, as much again when they are copied, and before that when their list grew. NaN, where it stands
/// bare, takes four bytes, six in the copy with quotes: that copy and what simdjson takes for it, less fewer values, are 3 more at most.
uint64_t InferParser::most_bytes(size_t head_bytes) {
  constexpr uint64_t kFixed = uint64_t{64} << 10, kPerByte = 15 + 12 + 3;
  return kFixed + kPerByte * head_bytes;
}

Result<InferMessage> write_infer_answer(std::string_view model, int64_t version, std::string_view id,
                                        std::span<const InferPart> outputs) {
  std::string binary;
  std::string json = fmt::format(FMT_COMPILE(R"({{"model_name":{},"model_version":"{}",)"), json_text(model), version);
  if (!id.empty()) json += fmt::format(R"("id":{},)", json_text(id));
  TRY(append_parts(json, binary, "outputs", outputs));
  json += '}';
  return message_of(std::move(json), binary);
}

Result<std::string> write_generate_answer(std::string_view model, int64_t version, std::string_view id,
                                          std::span<const InferPart> outputs) {
  std::string json = fmt::format(FMT_COMPILE(R"({{"model_name":{},"model_version":"{}")"), json_text(model), version);
  if (!id.empty()) json += fmt::format(R"(,"id":{})", json_text(id));
  for (const InferPart& part : outputs) {
    TRY(check_utf8(part));
    json += fmt::format(FMT_COMPILE(",{}:"), json_text(part.name));
    const size_t list = json.size();
    append_values(json, part);
    const bool is_one = std::ranges::all_of(part.shape, [](int64_t size) { return size == 1; });
    if (is_one) json = json.substr(0, list) + json.substr(list + 1, json.size() - list - 2);
  }
  json += '}';
  return json;
}

Result<InferMessage> write_infer_request(std::span<const InferPart> inputs, std::optional<Duration> timeout) {
  std::string binary;
  std::string json = R"({"parameters":{)";
  if (!inputs.empty() && inputs.front().binary) json += R"("binary_data_output":true)";
  if (timeout) json += fmt::format(R"({}"timeout":{})", json.back() == '{' ? "" : ",", timeout->count_ns() / 1000);
  json += "},";
  TRY(append_parts(json, binary, "inputs", inputs));
  json += '}';
  return message_of(std::move(json), binary);
}

std::string json_text(std::string_view text) {
  const bool plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c != '"' && c != '\\' && c < 0x7f; });
  if (plain) return fmt::format(FMT_COMPILE("\"{}\""), text);
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace stint
