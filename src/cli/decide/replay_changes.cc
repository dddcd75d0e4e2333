#include "cli/decide/replay_changes.h"

#include "base/text.h"
#include "codec/changes/change_file.h"
#include "host/file.h"

namespace stint {
namespace {

Result<std::vector<ChangeList>> read_file_of_changes(const std::string& text) {
  const size_t hash = text.rfind('#');
  const std::string path = text.substr(0, hash);
  const std::string which = hash == std::string::npos ? "" : text.substr(hash + 1);
  const Result<std::string> bytes = read_all(path);
  if (!bytes.ok())
    return invalid("--change '{}' is neither a change such as stop:node-1 nor a file: {}", excerpt(text), bytes.error().message);
  TRY_ASSIGN(std::vector<ChangeList> lists, read_changes(*bytes, path));
  if (which.empty()) return lists;
  if (which == "all") {
    ChangeList all{
        .name = fmt::format("all {} of {}", lists.size(), path), .changes = {}, .when_refused = WhenRefused::kLeaveOut};
    for (const ChangeList& list : lists)
      all.changes.insert(all.changes.end(), list.changes.begin(), list.changes.end());
    return std::vector{std::move(all)};
  }
  const auto number = parse_int(which);
  if (!number || *number < 1 || *number > static_cast<int64_t>(lists.size()))
    return invalid("{}: no change number '{}': it holds {}; write #1 to #{}, or #all", path, excerpt(which), lists.size(),
                   lists.size());
  return std::vector{std::move(lists[static_cast<size_t>(*number - 1)])};
}

}  // namespace

Result<std::vector<ChangeList>> read_change_options(const std::vector<std::string>& texts) {
  std::vector<ChangeList> lists;
  for (const std::string& text : texts) {
    if (looks_like_change(text)) {
      TRY_ASSIGN(ChangeList list, parse_changes(text));
      lists.push_back(std::move(list));
    } else {
      TRY_ASSIGN(std::vector<ChangeList> more, read_file_of_changes(text));
      std::move(more.begin(), more.end(), std::back_inserter(lists));
    }
  }
  return lists;
}

}  // namespace stint
