// Any bytes are an array of NumPy's or an error; what is read is as large as its shape says, and written and read back the same.
#include <cstdint>

#include "base/check.h"
#include "serve/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto array = stint::serve::read_npy({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!array.ok()) return 0;
  const std::string text = stint::serve::write_npy(array->shape, array->values);
  const auto again = stint::serve::read_npy(text, "again");
  CHECK(again.ok(), "what was written is refused: {}", again.error().message);
  CHECK(again->shape == array->shape && stint::serve::write_npy(again->shape, again->values) == text, "writing is not stable");
  return 0;
}
