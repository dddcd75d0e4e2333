// Lines of nvidia-smi, latencies of services, keys of a terminal, and the frames that are drawn from any names: whatever the bytes, an answer or an error.
#include <cstdint>
#include <string>

#include "base/check.h"
#include "cli/terminal.h"
#include "codec/service_latency.h"
#include "collect/gpu_sampler.h"
#include "report/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)stint::parse_smi_line(text).ok();
  if (const auto process = stint::parse_smi_process(text); process.ok())
    CHECK(process->process.pid > 0, "process {}", process->process.pid);
  for (const stint::ServiceLatency& latency : stint::read_service_latencies(text))
    CHECK(!latency.service.empty() && latency.p99_ms >= 0, "{} ms", latency.p99_ms);
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
