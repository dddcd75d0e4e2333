#include "daemon/engine/staged_step.h"

namespace stint {
namespace {

bool has_happened(const Record& record) {
  return record.kind == RecordKind::kEnded || record.kind == RecordKind::kLost || record.kind == RecordKind::kMachine ||
         record.cause.has_value();
}

}  // namespace

void StagedStep::clear_beside_records() {
  keys.clear();
  rows.clear();
  renewals.clear();
  jobs = 0;
  numbers.clear();
}

void StagedStep::keep_what_happened() {
  std::erase_if(records, [](const Record& r) { return !has_happened(r); });
}

void StagedStep::back_to(Mark mark) {
  records.resize(mark.records);
  rows.resize(mark.rows);
  jobs = mark.jobs;
  numbers = std::move(mark.numbers);
}

}  // namespace stint
