// What tests read from the folder `shared` beside the project (CONTRIBUTING.md). Outsiders do not have it: their tests are
// skipped with a line that says so. CI has it, and fails where a part is absent.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "testing/places.h"

/// Ends the test, or its SetUp(), where `part` is absent: it fails in CI and is skipped elsewhere.
#define STINT_NEEDS_SHARED(part)                                                                                       \
  if (const std::filesystem::path needed = (part); !std::filesystem::exists(needed)) {                                 \
    if (std::getenv("CI") != nullptr) FAIL() << needed << " is absent: CI has the folder `shared` beside the project"; \
    GTEST_SKIP() << needed << " is absent: it is not part of the project";                                             \
  }                                                                                                                    \
  static_assert(true)
