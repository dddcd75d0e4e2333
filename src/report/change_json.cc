#include "report/change_json.h"

#include <nlohmann/json.hpp>

#include "codec/changes/change_json.h"
#include "report/utf8.h"

namespace stint {
namespace {

void make_printable(nlohmann::ordered_json& value) {
  if (value.is_string()) value = printable(value.get_ref<const std::string&>());
  if (!value.is_structured()) return;
  for (auto& part : value)
    make_printable(part);
}

}  // namespace

nlohmann::ordered_json to_json(const Change& change) {
  nlohmann::ordered_json out = change_to_json(change);
  make_printable(out);
  return out;
}

}  // namespace stint
