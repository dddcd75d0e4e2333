// A whole text through an importer, for tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "codec/importer.h"
#include "codec/testing_sink.h"

namespace stint {

/// @param status  where the outcome goes; nullptr = it has to be good.
inline TestingSink import_text(std::unique_ptr<Importer> (*make)(const ImportOptions&, Sink&), const ImportOptions& options,
                               std::string_view text, Status* status = nullptr) {
  TestingSink sink;
  const auto importer = make(options, sink);
  Status done = importer->feed(text);
  if (done.ok()) done = importer->finish();
  if (status == nullptr)
    EXPECT_TRUE(done.ok()) << done.error().message;
  else
    *status = done;
  return sink;
}

}  // namespace stint
