// Postings are money: what the daemon has written is chained by hashes, as the audit log is.
//
// Each step with postings has a link: hash(n) = SHA-256 of hash(n − 1) and the step's postings. Whoever changes, drops or inserts a
// posting must change every hash behind it; one hash noted elsewhere proves all postings before it. The first link of a log that an
// older release began covers all postings before it as well. Links are rows of a side stream, in the same transaction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "host/sha256.h"
#include "store/event_log.h"

namespace stint {

inline constexpr std::string_view kPostingChainStream = "posting-chain";

struct PostingLink {
  int64_t step = 0;  ///< covers postings of steps up to this one, and behind the link before
  std::string hash;
};
std::string to_text(const PostingLink& link);
/// @return error: it is none.
Result<PostingLink> parse_posting_link(std::string_view text);

/// The hash of one link.
class PostingDigest {
 public:
  /// @param previous  hash; "" for the first link.
  explicit PostingDigest(std::string_view previous);
  void add(int64_t step, const RunPosting& posting);
  /// Ends it.
  [[nodiscard]] std::string hash() { return sum_.digest(); }

 private:
  Sha256 sum_;
};

/// Compares postings with links while the daemon may go on writing: give the links, then the postings, then the links that have come since.
class PostingVerifier {
 public:
  /// As its row has it. Ascending by step, as are postings.
  void link(std::string_view text);
  void posting(int64_t step, const RunPosting& posting);
  /// All postings have been given: links from here on may be of postings that have come since.
  void postings_end();
  PostingCheck finish();

 private:
  void close_link();

  PostingCheck check_;
  std::vector<PostingLink> links_;
  size_t open_ = 0;  // the first link that is not compared yet
  PostingDigest digest_{""};
  std::vector<std::pair<int64_t, RunPosting>> beyond_;  // steps behind the last link
};

}  // namespace stint
