// A separate folder for each test, gone when the test is.
#pragma once

#include <stdlib.h>  // mkdtemp

#include <filesystem>
#include <string>

#include "base/check.h"

namespace stint {

class ScratchDir {
 public:
  ScratchDir() {
    std::string name = (std::filesystem::temp_directory_path() / "stint-test-XXXXXX").string();
    CHECK(mkdtemp(name.data()) != nullptr, "no scratch folder {}", name);
    path_ = name;
  }
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  ~ScratchDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace stint
