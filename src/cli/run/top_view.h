// What `stint top` shows, as lines of text: from the daemon's answers and the keys pressed so far. No terminal, no clock.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "report/table.h"

namespace stint {

/// The answers of /v1, /v1/nodes, /v1/gpus and /v1/jobs?state=active.
struct TopAnswers {
  nlohmann::ordered_json overview, nodes, gpus, jobs;
};

enum class TopOrder : uint8_t { kPlace, kBusiest, kIdlest };  // of GPUs; of jobs: by id, dearest, longest
enum class TopShow : uint8_t { kBoth, kGpus, kJobs };

struct TopControls {
  TopOrder order = TopOrder::kPlace;
  TopShow show = TopShow::kBoth;
  std::string filter;   ///< only what has this text in a name, queue, user or machine
  bool typing = false;  ///< the filter
  bool help = false;
  size_t first = 0;  ///< lines scrolled away
};

enum class TopKey : uint8_t { kText, kEnter, kEscape, kBackspace, kUp, kDown, kPageUp, kPageDown };

/// What a key does. @param text  of kText: one character. @return false: it ends the program.
bool press(TopControls& controls, TopKey key, char text, size_t page);

struct TopSize {
  size_t columns = 80;
  size_t rows = 24;
};

/// @param trouble  why there is nothing newer; empty = all is well.
/// @return at most size.rows lines of at most size.columns columns; with rows 0 as many as there are.
std::vector<std::string> draw_top(const TopAnswers& answers, const TopControls& controls, TopSize size,
                                  const std::string& trouble, Colour colour);

}  // namespace stint
