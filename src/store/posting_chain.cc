#include "store/posting_chain.h"

#include "base/counted.h"
#include "base/text.h"

namespace stint {
namespace {

constexpr size_t kMostProblems = 20;

}  // namespace

std::string to_text(const PostingLink& link) { return fmt::format("{} {}", link.step, link.hash); }

Result<PostingLink> parse_posting_link(std::string_view text) {
  const size_t blank = text.find(' ');
  const auto step = parse_int(text.substr(0, blank));
  if (blank == std::string_view::npos || !step || text.size() - blank != 65)
    return invalid("event log: '{}' is no link of the postings' chain", excerpt(text));
  return PostingLink{*step, std::string(text.substr(blank + 1))};
}

PostingDigest::PostingDigest(std::string_view previous) {
  sum_.update(previous);
  sum_.update("\n");
}

void PostingDigest::add(int64_t step, const RunPosting& p) {
  // Names have their lengths before them, so that no two postings read alike.
  sum_.update(fmt::format("{} {} {} {} {}:{} {}:{} {}:{} {} {} {} {} {}\n", step, p.job, p.attempt, p.task, p.client.size(),
                          p.client, p.queue.size(), p.queue, p.node.size(), p.node, p.when.begin.ns(), p.when.end.ns(),
                          p.gpu_milli, p.amount.count_nanos(), p.amount.currency().code()));
}

void PostingVerifier::link(std::string_view text) {
  Result<PostingLink> link = parse_posting_link(text);
  if (link.ok() && (links_.empty() || link->step > links_.back().step))
    links_.push_back(std::move(*link));
  else
    check_.problems.push_back(fmt::format("'{}' is no link of the postings' chain, or not in its place", excerpt(text)));
}

void PostingVerifier::posting(int64_t step, const RunPosting& posting) {
  ++check_.postings;
  if (links_.empty() || step > links_.back().step) {
    beyond_.emplace_back(step, posting);
    return;
  }
  while (step > links_[open_].step)
    close_link();
  digest_.add(step, posting);
}

void PostingVerifier::close_link() {
  const PostingLink& link = links_[open_];
  const int64_t before = open_ == 0 ? 0 : links_[open_ - 1].step;
  if (digest_.hash() != link.hash && check_.problems.size() < kMostProblems)
    check_.problems.push_back(fmt::format(
        "postings of {} are not what the daemon wrote: one was changed, added or taken out, or the chain was",
        link.step == before + 1 ? fmt::format("step {}", link.step) : fmt::format("steps {} to {}", before + 1, link.step)));
  digest_ = PostingDigest(link.hash);  // what follows is judged by itself
  ++open_;
}

void PostingVerifier::postings_end() {
  while (open_ < links_.size())
    close_link();
}

PostingCheck PostingVerifier::finish() {
  size_t taken = 0;
  while (open_ < links_.size() && taken < beyond_.size()) {
    for (; taken < beyond_.size() && beyond_[taken].first <= links_[open_].step; ++taken)
      digest_.add(beyond_[taken].first, beyond_[taken].second);
    close_link();
  }
  if (open_ > 0) check_.head = links_[open_ - 1].hash;
  if (links_.empty()) {
    check_.unchained = check_.postings;
  } else if (taken < beyond_.size()) {
    check_.problems.push_back(fmt::format("{} of steps from {} on {} no hash: the daemon did not write them",
                                          counted(beyond_.size() - taken, "posting"), beyond_[taken].first,
                                          beyond_.size() - taken == 1 ? "has" : "have"));
  }
  return std::move(check_);
}

}  // namespace stint
