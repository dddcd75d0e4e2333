// Lines of nvidia-smi, figures of services, keys of a terminal, and the frames that are drawn from any names: whatever the bytes, an answer or an error.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "cli/terminal.h"
#include "codec/metrics/service_figures.h"
#include "collect/gpu_sampler.h"
#include "report/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)stint::parse_smi_line(text).ok();
  if (const auto process = stint::parse_smi_process(text); process.ok())
    CHECK(process->process.pid > 0, "process {}", process->process.pid);
  for (const stint::ServiceFigures& figures : stint::read_service_figures(text))
    CHECK(!figures.service.empty() && figures.p99_ms.value_or(0) >= 0 && figures.headroom.value_or(0) <= 1, "{}",
          figures.service);
  std::string keys = text;
  stint::TopControls controls;
  for (size_t left = keys.size(); const auto key = stint::take_key(keys); left = keys.size()) {
    CHECK(keys.size() < left, "a key of no bytes");
    (void)stint::press(controls, key->key, key->text, 10);
  }
  stint::TopAnswers answers;
  answers.gpus = {{"gpus", {{{"id", text}, {"model", text}}}}};
  for (const std::string& line : stint::draw_top(answers, controls, {80, 24}, text, stint::Colour::kNo))
    CHECK(stint::display_width(line) <= 80, "a line of {} columns", stint::display_width(line));
  return 0;
}
