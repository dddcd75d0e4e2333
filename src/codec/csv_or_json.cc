#include "codec/csv_or_json.h"

#include <utility>

#include "base/text.h"

namespace stint {

Status CsvOrJsonImporter::feed(std::string_view bytes) {
  if (chosen_) return chosen_->feed(bytes);
  head_.append(bytes);
  std::string_view text = head_;
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.size() < kMark.size() && kMark.starts_with(text)) return {};
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  if (trim(text).empty()) return {};
  const char first = trim(text).front();
  const bool json = first == '{' || first == '[';
  chosen_ = (json ? json_ : csv_)(options_, sink_);
  // CSV knows the mark itself.
  const std::string all = json ? std::string(text) : head_;
  head_.clear();
  return chosen_->feed(all);
}

Status CsvOrJsonImporter::finish() {
  if (!chosen_) {
    chosen_ = csv_(options_, sink_);
    TRY(chosen_->feed(head_));
  }
  return chosen_->finish();
}

}  // namespace stint
