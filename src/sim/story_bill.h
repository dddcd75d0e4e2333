// A story's bill as the providers write it: AWS CUR 2.0 and FOCUS.
#pragma once

#include <string_view>
#include <vector>

#include "sim/story.h"

namespace stint {

/// One line before it is dressed in a format. Amount = quantity × unit price, to the nano-unit.
struct StoryBillLine {
  Interval period;
  const StoryNode* node = nullptr;      ///< an instance, …
  const StoryCharge* charge = nullptr;  ///< … or anything else; exactly one of the two
  int64_t quantity = 0;                 ///< hours of a node, units of a charge
  Money amount;
};

/// Lines of one provider ("" = all) in order of machine, then time; then the other charges. A machine that is there all
/// month has a line a day, any other a line an hour.
std::vector<StoryBillLine> bill_lines(const Story& story, std::string_view provider);

/// Columns of a FOCUS file: providers are not all at the same version.
enum class FocusVersion { k1_0, k1_2 };
void write_focus(const Story& story, std::string_view provider, FocusVersion version, const TextOut& out);
/// CUR 2.0 with nested tags flattened, as a Data Export to CSV writes it.
void write_cur(const Story& story, const TextOut& out);

}  // namespace stint
