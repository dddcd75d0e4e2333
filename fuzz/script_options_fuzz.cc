// Any bytes as a job script: words within their bounds, or an error.
#include <cstdint>

#include "base/check.h"
#include "codec/slurm/script_options.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto words = stint::read_script_options({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!words.ok()) return 0;
  CHECK(words->size() <= 1000, "{} words", words->size());
  for (const stint::ScriptWord& word : *words)
    CHECK(word.text.find('\n') == std::string::npos && word.line >= 1, "a word goes over its line");
  return 0;
}
