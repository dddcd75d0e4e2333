// Any bytes are a Parquet file or an error, whatever they do to the library that reads them. STINT_DUCKDB names it; without it only its absence
// is met.
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>

#include "base/check.h"
#include "collect/parquet.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string path = "/tmp/stint-fuzz-" + std::to_string(::getpid()) + ".parquet";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  size_t read = 0;
  const auto done = stint::read_parquet(path, [&](std::string_view piece) { return read += piece.size(), stint::Status(); });
  ::unlink(path.c_str());
  CHECK(done.ok() || !done.error().message.empty(), "an error without a reason");
  return 0;
}
