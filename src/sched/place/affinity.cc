#include "sched/place/affinity.h"

#include <algorithm>

#include "base/check.h"

namespace stint::sched {
namespace {

bool carries(std::span<const Label> labels, const Label& wanted) {
  return std::find(labels.begin(), labels.end(), wanted) != labels.end();
}

}  // namespace

int32_t AffinityBook::intern(const AffinityTerm& term, std::span<const std::vector<Label>> node_labels) {
  for (size_t i = 0; i < terms_.size(); ++i)
    if (terms_[i].term == term) return static_cast<int32_t>(i);
  Term& added = terms_.emplace_back(Term{term, Domains({term.topology_key}), {}});
  for (uint32_t n = 0; n < node_labels.size(); ++n)
    added.domains.add_node(NodeId(n), node_labels[n]);
  for (Counts& counts : added.in_room) {
    counts.matching.resize(added.domains.count());
    counts.refusing.resize(added.domains.count());
  }
  return static_cast<int32_t>(terms_.size() - 1);
}

void AffinityBook::add_node(NodeId node, std::span<const Label> labels) {
  for (Term& term : terms_) {
    term.domains.add_node(node, labels);
    for (Counts& counts : term.in_room) {
      counts.matching.resize(term.domains.count());
      counts.refusing.resize(term.domains.count());
    }
  }
}

void AffinityBook::remove_node(NodeId node) {
  for (Term& term : terms_)
    term.domains.remove_node(node);
}

bool AffinityBook::matches(int32_t term, const Request& request) const {
  const std::vector<Label>& wanted = terms_[static_cast<size_t>(term)].term.labels;
  return std::all_of(wanted.begin(), wanted.end(), [&](const Label& l) { return carries(request.labels, l); });
}

AffinityFacts AffinityBook::facts_of(const Request& request, std::span<const std::vector<Label>> node_labels) {
  AffinityFacts facts;
  for (const AffinityTerm& term : request.affinity)
    facts.wants.push_back(intern(term, node_labels));
  for (const AffinityTerm& term : request.anti_affinity)
    facts.refuses.push_back(intern(term, node_labels));
  for (size_t i = 0; i < terms_.size(); ++i)
    if (matches(static_cast<int32_t>(i), request)) facts.matches.push_back(static_cast<int32_t>(i));
  return facts;
}

void AffinityBook::count_match(int32_t term, NodeId node, Room room, int32_t change) {
  Term& t = terms_[static_cast<size_t>(term)];
  const int32_t domain = t.domains.of(node);
  if (domain < 0) return;
  t.in_room[index_of(room)].matching[static_cast<size_t>(domain)] += change;
  t.in_room[index_of(room)].matching_total += change;
}

void AffinityBook::count(const AffinityFacts& facts, NodeId node, Room room, int32_t change) {
  for (const int32_t term : facts.matches)
    count_match(term, node, room, change);
  for (const int32_t term : facts.refuses) {
    Term& t = terms_[static_cast<size_t>(term)];
    const int32_t domain = t.domains.of(node);
    if (domain >= 0) t.in_room[index_of(room)].refusing[static_cast<size_t>(domain)] += change;
  }
}

bool AffinityBook::admits(const AffinityFacts& facts, NodeId node, Room room) const {
  const auto here_in_any = [&](int32_t term, std::vector<int32_t> Counts::* which) {
    const Term& t = terms_[static_cast<size_t>(term)];
    const int32_t domain = t.domains.of(node);
    if (domain < 0) return false;
    const auto d = static_cast<size_t>(domain);
    return (t.in_room[index_of(Room::kComing)].*which)[d] > 0 ||
           (room == Room::kFree && (t.in_room[index_of(Room::kFree)].*which)[d] > 0);
  };
  for (const int32_t term : facts.wants) {
    const Term& t = terms_[static_cast<size_t>(term)];
    const int32_t domain = t.domains.of(node);
    if (domain < 0) return false;
    if (t.in_room[index_of(room)].matching[static_cast<size_t>(domain)] > 0) continue;
    const bool first_of_kind = t.in_room[0].matching_total == 0 && t.in_room[1].matching_total == 0 &&
                               std::find(facts.matches.begin(), facts.matches.end(), term) != facts.matches.end();
    if (!first_of_kind) return false;
  }
  for (const int32_t term : facts.refuses)
    if (here_in_any(term, &Counts::matching)) return false;
  for (const int32_t term : facts.matches)
    if (here_in_any(term, &Counts::refusing)) return false;
  return true;
}

bool AffinityBook::admits_promised(const AffinityFacts& facts, NodeId node) const {
  const auto counted = [&](int32_t term, std::vector<int32_t> Counts::* which) {
    const Term& t = terms_[static_cast<size_t>(term)];
    const int32_t domain = t.domains.of(node);
    return domain < 0 ? 0 : (t.in_room[index_of(Room::kFree)].*which)[static_cast<size_t>(domain)];
  };
  return std::all_of(facts.wants.begin(), facts.wants.end(),
                     [&](int32_t term) {
                       const bool its_own = std::find(facts.matches.begin(), facts.matches.end(), term) != facts.matches.end();
                       return counted(term, &Counts::matching) > 0 ||
                              (its_own && terms_[static_cast<size_t>(term)].in_room[index_of(Room::kFree)].matching_total == 0);
                     }) &&
         std::all_of(facts.refuses.begin(), facts.refuses.end(),
                     [&](int32_t term) { return counted(term, &Counts::matching) == 0; }) &&
         std::all_of(facts.matches.begin(), facts.matches.end(),
                     [&](int32_t term) { return counted(term, &Counts::refusing) == 0; });
}

}  // namespace stint::sched
