#include "daemon/live/live_history.h"

#include <algorithm>

namespace stint {

LiveHistory::LiveHistory(Options options) : options_(std::move(options)) { state_.path = options_.path; }

size_t LiveHistory::series(const SeriesKey& key) {
  const std::lock_guard lock(mutex_);
  const auto [it, fresh] = ids_.try_emplace(key, keys_.size());
  if (fresh) {
    keys_.push_back(key);
    waiting_.emplace_back();
  }
  return it->second;
}

void LiveHistory::put(size_t series, const Sample& sample) {
  const std::lock_guard lock(mutex_);
  if (state_.waiting >= options_.most_waiting) {
    ++state_.dropped;
    return;
  }
  waiting_[series].push_back(sample);
  ++state_.waiting;
}

LiveHistoryState LiveHistory::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

void LiveHistory::write(const std::vector<Node>& nodes, const RunFeed& runs, Instant now) {
  Waiting samples;
  {
    const std::lock_guard lock(mutex_);
    samples.resize(waiting_.size());
    samples.swap(waiting_);
    state_.waiting = 0;
  }
  const Status done = import(samples, nodes, runs, now);
  if (!done.ok()) put_back(std::move(samples));
  const std::lock_guard lock(mutex_);
  if (done.ok()) {
    state_.written = now;
  } else {
    state_.failed = now;
    state_.error = done.error().message;
  }
}

Status LiveHistory::import(const Waiting& samples, const std::vector<Node>& nodes, const RunFeed& runs, Instant now) {
  // Opened for each write: an open one keeps up to 64 MiB of its pages in memory.
  TRY_ASSIGN(HistoryFile file, HistoryFile::open(options_.path, OpenMode::kCreate));
  {
    TRY_ASSIGN(const auto import, file.begin_import(kKind, options_.source, now));
    for (const Node& node : nodes)
      import->node(node);
    if (runs) runs([&import](const Run& run) { import->run(run); });
    for (size_t i = 0; i < samples.size(); ++i) {
      if (samples[i].empty()) continue;
      const SeriesKey* key = nullptr;
      {
        const std::lock_guard lock(mutex_);
        key = &keys_[i];
      }
      const SeriesId id = import->series(*key);
      import->samples(id, samples[i]);
      import->stale(id, std::min(now, samples[i].back().at + kLongestHold));
    }
    TRY(import->commit(std::to_string(now.ns())));
  }
  TRY(file.fold_imports(kKind));
  if (const int64_t day = now.hour_index() / 24; tidied_ != day) {
    TRY(file.forget_before(kKind, now - options_.retention));
    tidied_ = day;
  }
  return {};
}

/// Before those that came meanwhile; of too many the oldest go.
void LiveHistory::put_back(Waiting samples) {
  const std::lock_guard lock(mutex_);
  waiting_.resize(keys_.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    const size_t room = options_.most_waiting - std::min(options_.most_waiting, state_.waiting);
    const size_t kept = std::min(room, samples[i].size());
    state_.dropped += samples[i].size() - kept;
    state_.waiting += kept;
    samples[i].erase(samples[i].begin(), samples[i].end() - static_cast<std::ptrdiff_t>(kept));
    samples[i].insert(samples[i].end(), waiting_[i].begin(), waiting_[i].end());
    waiting_[i] = std::move(samples[i]);
  }
}

}  // namespace stint
