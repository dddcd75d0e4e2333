#include "serve/generate_call.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace stint::serve {
namespace {

using GenerateJson = nlohmann::json;

/// More than this, not yet read by the client, keeps the next step waiting.
constexpr size_t kUnreadAtMost = size_t{64} << 10;
constexpr size_t kLongestEvent = size_t{128} << 10;  // beside what is unread, within what a stream may hold
constexpr Duration kLookAgain = Duration::milliseconds(5);
constexpr uint64_t kTimesItsLength = 60;  // what reading takes: the values of JSON, and the request once more

int64_t count_in(const GenerateJson& value) {
  if (!value.is_array()) return 1;
  int64_t count = 0;
  for (const GenerateJson& one : value)
    count += count_in(one);
  return count;
}

/// Deeper lists than a tensor has dimensions are none of it.
bool is_deeper_than(const GenerateJson& value, int levels) {
  return value.is_array() &&
         (levels == 0 || std::ranges::any_of(value, [&](const GenerateJson& one) { return is_deeper_than(one, levels - 1); }));
}

/// Of one item with so many values. @return error when that cannot be
Result<Shape> shape_for(const TensorSpec& spec, int64_t count) {
  Shape shape = {1};
  int64_t known = 1, free = 0;
  for (const int64_t size : spec.item_shape) {
    known *= size < 0 ? 1 : size;
    free += size < 0 ? 1 : 0;
  }
  if (free > 1)
    return invalid("input {} has {} free dimensions: their sizes do not follow from its values; use /infer", spec.name, free);
  if (count < 1 || count % known != 0 || (free == 0 && count != known))
    return invalid("input {} has {} values; the model takes {}{}", spec.name, count, known, free > 0 ? ", or times as many" : "");
  for (const int64_t size : spec.item_shape)
    shape.push_back(size < 0 ? count / known : size);
  return shape;
}

}  // namespace

Result<std::string> as_infer_request(std::string_view generate, const MeasuredModel& measured) {
  constexpr int kDeepest = 16;
  GenerateJson given = GenerateJson::parse(generate, nullptr, false);
  if (!given.is_object()) return invalid("the body is no JSON object");
  GenerateJson request = {{"inputs", GenerateJson::array()}};
  for (const char* name : {"id", "parameters"})
    if (given.contains(name)) request[name] = given[name];
  for (const TensorSpec& spec : measured.inputs) {
    const auto found = given.find(spec.name);
    if (found == given.end()) return invalid("input {} is missing", spec.name);
    if (is_deeper_than(*found, kDeepest)) return invalid("input {}: lists within lists, deeper than {}", spec.name, kDeepest);
    TRY_ASSIGN(const Shape shape, shape_for(spec, count_in(*found)));
    GenerateJson data = std::move(*found);
    if (!data.is_array()) data = GenerateJson::array({std::move(data)});
    request["inputs"].push_back(
        {{"name", spec.name}, {"datatype", name_of(spec.type)}, {"shape", shape}, {"data", std::move(data)}});
  }
  return request.dump(-1, ' ', false, GenerateJson::error_handler_t::replace);
}

Result<std::shared_ptr<HttpGeneration>> HttpGeneration::read(HttpRequest& request, VersionName name,
                                                             const MeasuredModel& measured, CallReader reader,
                                                             const Responder& responder, Answers answers, CallTerms& terms) {
  if (answers == Answers::kOne && measured.generation) return invalid("this model answers more than once: ask /generate_stream");
  TRY_ASSIGN(const auto reading, book(reader.memory, kTimesItsLength * request.body.size()));
  TRY_ASSIGN(const std::string body, as_infer_request(request.body, measured));
  TRY_ASSIGN(InferRequest parsed, reader.parser.parse(body, std::nullopt));
  std::shared_ptr<HttpGeneration> call(new HttpGeneration(name, measured, responder, answers));
  TRY(call->check(std::move(parsed), terms, reader.memory));
  return call;
}

void HttpGeneration::end(HttpReply reply) {
  if (!stream_) return responder_.reply(std::move(reply));
  stream_->send("", "", reply.body);
  stream_.reset();
}

void HttpGeneration::refuse(batching::RefusalReason reason) { end(refusal_reply(reason)); }
void HttpGeneration::fail(const Error& error) { end(infer_error(error)); }

void HttpGeneration::send(std::span<const OutputRows> outputs, bool last) {
  std::vector<InferPart> parts;
  const std::vector<Answered> all = answered(outputs);
  const Result<std::shared_ptr<const void>> held = hold_of(all);
  if (!held.ok()) return fail(held.error());
  for (const Answered& one : all)
    parts.push_back({one.wanted.name, one.type, one.shape, one.values, false});
  Result<std::string> text = write_generate_answer(model_, version_, request_.id, parts);
  if (!text.ok()) return fail(text.error());
  if (answers_ == Answers::kOne) return responder_.reply({200, "application/json", {}, std::move(*text), *held});
  std::string event = EventStream::format("", "", *text);
  if (event.size() > kLongestEvent)
    return fail(invalid("an answer of {} bytes is too long for a stream: name smaller outputs in model.json (generate, answers)",
                        event.size()));
  if (!stream_) stream_ = responder_.stream();
  if (!stream_->send_text(std::move(event)) || last)
    stream_.reset();
  else
    wait_for_reader();
}

void HttpGeneration::wait_for_reader() {
  if (!stream_->open()) return;
  if (stream_->unread() <= kUnreadAtMost) return go_on();
  later(kLookAgain, [self = std::static_pointer_cast<HttpGeneration>(shared_from_this())] { self->wait_for_reader(); });
}

}  // namespace stint::serve
