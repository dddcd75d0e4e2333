// The whole of a scheduler as bytes, and back: what it decides next is what it would have decided.
//
// Every class names its parts once below, all of them: a member added to one of them does not compile here until it is named
// too. What is scratch between two steps, or a cache of what the rest says, is named and left out.
#include <algorithm>

#include "base/packed.h"
#include "model/mig.h"
#include "sched/scheduler_impl.h"

namespace stint::sched {

/// A friend of those whose parts are private.
struct SnapshotParts {
  template <typename T>
  static T fresh() {
    return T();
  }

  // What nodes and requests are.
  template <typename A>
  static void of(A& a, Label& v) {
    auto& [key, value] = v;
    a(key, value);
  }
  template <typename A>
  static void of(A& a, MigAsk& v) {
    auto& [profile, count] = v;
    a(profile, count);
  }
  template <typename A>
  static void of(A& a, AffinityTerm& v) {
    auto& [labels, topology_key] = v;
    a(labels, topology_key);
  }
  template <typename A>
  static void of(A& a, Slowdown& v) {
    auto& [beside, percent] = v;
    a(beside, percent);
  }
  template <typename A>
  static void of(A& a, Request& v) {
    auto& [gpus, milli, gpu_memory, mig, cpu_milli, memory, gpu_models, node_labels, only_allowed_nodes, allowed_nodes, labels,
           affinity, anti_affinity, shares_with, work_kind, max_slowdown_percent, slowdowns] = v;
    a(gpus, milli, gpu_memory, mig, cpu_milli, memory, gpu_models, node_labels, only_allowed_nodes, allowed_nodes, labels,
      affinity, anti_affinity, shares_with, work_kind, max_slowdown_percent, slowdowns);
  }
  template <typename A>
  static void of(A& a, NodeSpec& v) {
    auto& [name, gpu_model, gpus, gpu_memory, cpu_milli, memory, max_tasks, gpu_rate, labels, whole_gpus, shared_gpus, gpu_parts,
           static_mig, repartition] = v;
    a(name, gpu_model, gpus, gpu_memory, cpu_milli, memory, max_tasks, gpu_rate, labels, whole_gpus, shared_gpus, gpu_parts,
      static_mig, repartition);
  }
  template <typename A>
  static void of(A& a, QueueSpec& v) {
    auto& [name, parent, deserved, limit, over_quota_weight, priority, created, budget, closed] = v;
    a(name, parent, deserved, limit, over_quota_weight, priority, created, budget, closed);
  }

  // What jobs are.
  template <typename A>
  static void of(A& a, TopologyWish& v) {
    auto& [required_level, preferred_level, levels] = v;
    a(required_level, preferred_level, levels);
  }
  template <typename A>
  static void of(A& a, GangGroup& v) {
    auto& [parent, min_tasks, topology] = v;
    a(parent, min_tasks, topology);
  }
  template <typename A>
  static void of(A& a, Gang& v) {
    auto& [topology, groups, tasks] = v;
    a(topology, groups, tasks);
  }
  template <typename A>
  static void of(A& a, JobTerms& v) {
    auto& [request, gang, tasks, min_tasks, priority, preemptible, deferrable, not_before, deadline, min_runtime, retries,
           checkpoint, study, after, array, at_once, makes] = v;
    a(request, gang, tasks, min_tasks, priority, preemptible, deferrable, not_before, deadline, min_runtime, retries, checkpoint,
      study, after, array, at_once, makes);
  }
  template <typename A>
  static void of(A& a, TermsTable& v) {
    auto& [all, newest] = v;
    a(all, newest);
  }
  template <typename A>
  static void of(A& a, Shape& v) {
    auto& [request, gang, tasks, min_tasks, preemptible, plain, parts, order, total] = v;
    a(request, gang, tasks, min_tasks, preemptible, plain, parts, order, total);
  }
  template <typename A>
  static void of(A& a, ShapeTable& v) {
    auto& [counting, gangs, shapes, ids, last_key, last] = v;
    a(gangs, shapes);
    if constexpr (A::kReads) {
      last = ShapeId();
      ids.clear();
      for (uint32_t s = 0; s < shapes.size(); ++s) {
        const Shape& shape = shapes[s];
        ids.emplace(ShapeTable::Key{shape.request.index(), shape.gang.index(), shape.tasks, shape.min_tasks, shape.preemptible},
                    ShapeId(s));
      }
    }
  }

  // What is learnt.
  template <typename A>
  static void of(A& a, DurationBook& v) {
    auto& [learnt, sketches, recents, sketch_at, recent_at] = v;
    a(learnt, sketches, recents);
    if constexpr (A::kReads) v.reindex();
  }

  // The cluster.
  template <typename A>
  static void of(A& a, Domains& v) {
    auto& [levels, by_path, members, of_node, unused] = v;
    std::vector<std::pair<std::vector<std::string>, int32_t>> paths(by_path.begin(), by_path.end());
    a(levels, paths, members, of_node, unused);
    by_path = {paths.begin(), paths.end()};
  }
  template <typename A>
  static void of(A& a, AffinityFacts& v) {
    auto& [matches, wants, refuses] = v;
    a(matches, wants, refuses);
  }
  template <typename A>
  static void of(A& a, AffinityBook::Counts& v) {
    auto& [matching, refusing, matching_total] = v;
    a(matching, refusing, matching_total);
  }
  template <typename A>
  static void of(A& a, AffinityBook::Term& v) {
    auto& [term, domains, in_room] = v;
    a(term, domains, in_room);
  }
  template <typename A>
  static void of(A& a, AffinityBook& v) {
    auto& [terms] = v;
    a(terms);
  }
  template <typename A>
  static void of(A& a, MigNode& v) {
    auto& [geometry, whole_gpus, stock, gpus] = v;
    const std::span<const MigGeometry> known = mig_geometries();
    int64_t which = geometry == nullptr ? -1 : geometry - known.data();
    a(which, whole_gpus, stock, gpus);
    if constexpr (A::kReads) {
      if (which >= std::ssize(known)) a.fail();
      geometry = which < 0 || which >= std::ssize(known) ? nullptr : &known[static_cast<size_t>(which)];
    }
  }
  /// Its readers have read all of its log, or look at every node.
  template <typename A>
  static void of(A& a, NodeTable& v) {
    auto& [nodes, log, log_begin] = v;
    uint64_t log_end = v.log_end();
    a(nodes, log_end);
    if constexpr (A::kReads) {
      log.clear();
      log_begin = log_end;
    }
  }
  template <typename A>
  static void of(A& a, InterferenceFacts& v) {
    auto& [work, most, measured] = v;
    a(work, most, measured);
  }
  template <typename A>
  static void of(A& a, InterferenceBook& v) {
    auto& [kinds, any_bounds] = v;
    a(kinds, any_bounds);
  }
  template <typename A>
  static void of(A& a, Cluster::Facts& v) {
    auto& [cpu_milli, memory_bytes, gpus, milli, gpu_memory, mig_milli, sharer, interference, plain, mig, instance_of, affinity,
           eligible] = v;
    a(cpu_milli, memory_bytes, gpus, milli, gpu_memory, mig_milli, sharer, interference, plain, mig, affinity, eligible);
  }
  template <typename A>
  static void of(A& a, Cluster& v) {
    auto& [free, coming, tasks, first_on, facts, undo, open_trials, mig_count, nodes, smallest_gpu_memory, labels, requests,
           by_hash, models, profiles, sharers, interference, mig, removed, affinity, domains] = v;
    CHECK(open_trials == 0, "a snapshot inside a trial");
    a(free, coming, tasks, first_on, facts, mig_count, nodes, smallest_gpu_memory, labels, requests, by_hash, models, profiles,
      sharers, interference, mig, removed, affinity, domains);
    if constexpr (A::kReads) {
      undo.clear();
      for (Cluster::Facts& each : facts)
        v.find_instances(each);
    }
  }

  // Queues.
  template <typename A>
  static void of(A& a, QueueUsage::Queue& v) {
    auto& [spec, weight_milli, held, held_firm, slots, share, deserved_share, used, of_deserved, past] = v;
    a(spec, weight_milli, held, held_firm, slots, share, deserved_share, used, of_deserved, past);
  }
  template <typename A>
  static void of(A& a, QueueUsage& v) {
    auto& [queues, sides, leaves, any_deserved, any_limits, compared, fair, tree, clock, capacity, capacity_changed, now, tick] =
        v;
    a(queues, sides, leaves, any_deserved, any_limits, compared, fair, tree, clock, capacity, capacity_changed, now, tick);
  }
  template <typename A>
  static void of(A& a, QueueTree::Queue& v) {
    auto& [spec, children, depth, deserved, limit, held, held_firm, request, share] = v;
    a(spec, children, depth, deserved, limit, held, held_firm, request, share);
  }
  template <typename A>
  static void of(A& a, QueueTree& v) {
    auto& [queues, roots, log, total] = v;
    CHECK(log.empty(), "a snapshot inside a search");
    a(queues, roots, total);
  }
  template <typename A>
  static void of(A& a, QueueBudgets& v) {
    auto& [accounts, account_of, now, next_renewal] = v;
    a(accounts, account_of, now, next_renewal);
  }
  template <typename A>
  static void of(A& a, Pending::Group& v) {
    auto& [queue, shape, amounts, preemptible, heap, gone, closed] = v;
    a(queue, shape, amounts, preemptible, heap, gone, closed);
  }
  template <typename A>
  static void of(A& a, Pending::Line& v) {
    auto& [group_at, winner, base, count] = v;
    a(group_at, winner, base, count);
  }
  template <typename A>
  static void of(A& a, Pending& v) {
    auto& [rule, groups, lines, active, closed_at, closed, aside, count] = v;
    CHECK(aside.empty(), "a snapshot inside a search");
    a(rule, groups, lines, active, closed_at, closed, count);
  }

  // What finds nodes.
  template <typename A>
  static void of(A& a, NodeBuckets& v) {
    auto& [at, counts, filled, bits, summary] = v;
    a(at, counts, filled, bits, summary);
  }
  template <typename A>
  static void of(A& a, OpenNodes& v) {
    auto& [buckets, withheld, withheld_nodes, closed, closed_nodes, free_seen, coming_seen] = v;
    CHECK(closed_nodes.empty(), "a snapshot inside a decision");
    a(buckets, withheld, withheld_nodes, free_seen, coming_seen);
  }
  template <typename A>
  static void of(A& a, Fragmentation& v) {
    auto& [requests, models, cpu_steps, milli_rank, fractions, whole, fraction] = v;
    a(requests, models, cpu_steps, milli_rank, fractions, whole, fraction);
  }
  template <typename A>
  static void of(A& a, CpuReach& v) {
    auto& [steps] = v;
    a(steps);
  }
  template <typename A>
  static void of(A& a, PlacementScorer& v) {
    auto& [policy, fragmentation, reach] = v;
    a(policy, fragmentation, reach);
  }
  /// The scores it keeps are made again when they are asked for.
  template <typename A>
  static void of(A& a, PlacementIndex& v) {
    auto& [scorer, random, memory_limit_bytes, uses, kept, slot_of_request, seen, seen_requests, expected_requests] = v;
    a(scorer, random, memory_limit_bytes, uses, seen, seen_requests, expected_requests);
    if constexpr (A::kReads) {
      kept.clear();
      slot_of_request.clear();
    }
  }

  // What happens when, and to whom.
  template <typename A>
  static void of(A& a, TimerHeap& v) {
    auto& [heap, sweep_at] = v;
    a(heap, sweep_at);
  }
  template <typename A>
  static void of(A& a, RunningOrder& v) {
    auto& [blocks, lasts, size] = v;
    a(blocks, lasts, size);
  }
  template <typename A>
  static void of(A& a, ArrayState& v) {
    auto& [in_play, next, held_back] = v;
    a(in_play, next, held_back);
  }
  template <typename A>
  static void of(A& a, ProductState& v) {
    auto& [made, maker, waiting] = v;
    a(made, maker, waiting);
  }
  template <typename A>
  static void of(A& a, Reservation& v) {
    auto& [job, at, guessed, claims] = v;
    a(job, at, guessed, claims);
  }
  template <typename A>
  static void of(A& a, BackfillBook& v) {
    auto& [reservations, ends, passed, pass, fits_fleet, reserved_for] = v;
    a(reservations, ends, passed, pass, fits_fleet, reserved_for);
  }
  template <typename A>
  static void of(A& a, StopBook& v) {
    auto& [running, level_timers, attempted, turns, newcomers, limits_tried, ripens, too_large, waiting_gpu_milli,
           lowest_priority, highest_priority, claimed_in_vain, claims_made, claims_left] = v;
    CHECK(claimed_in_vain.empty() && claims_made.empty() && !claims_left, "a snapshot inside a search");
    a(running, level_timers, attempted, turns, newcomers, limits_tried, ripens, too_large, waiting_gpu_milli, lowest_priority,
      highest_priority);
  }
  template <typename A>
  static void of(A& a, ConsolidationBook& v) {
    auto& [moved_for, turns, ripens] = v;
    a(moved_for, turns, ripens);
  }
  template <typename A>
  static void of(A& a, MoveBook& v) {
    auto& [moves, idle_stand_ins] = v;
    a(moves, idle_stand_ins);
  }
  template <typename A>
  static void of(A& a, Move& v) {
    auto& [job, tasks, stand_ins, amounts] = v;
    a(job, tasks, stand_ins, amounts);
  }
  template <typename A>
  static void of(A& a, Asha& v) {
    auto& [rules, resource, rungs] = v;
    a(rules, resource, rungs);
  }
  template <typename A>
  static void of(A& a, PriceTiers::Tier& v) {
    auto& [nanos_per_hour, nodes] = v;
    a(nanos_per_hour, nodes);
  }
  template <typename A>
  static void of(A& a, PriceTiers& v) {
    auto& [tiers] = v;
    a(tiers);
  }
  template <typename A>
  static void of(A& a, GpuModels::Model& v) {
    auto& [name, nodes] = v;
    a(name, nodes);
  }
  template <typename A>
  static void of(A& a, GpuModels& v) {
    auto& [models, of_node, in_use] = v;
    a(models, of_node, in_use);
  }
  template <typename A>
  static void of(A& a, MarketPrices& v) {
    auto& [windows, nodes] = v;
    a(windows, nodes);
  }

  /// In the order that they have always had. Scratch: events, sketch, paper. Given beside it: the policy.
  template <typename A>
  static void of(A& a, SchedulerBooks& v) {
    auto& [clock, fleet, jobs, durations, accounts, line, runs, gates, hours, studies, backfill, stopping, consolidation, moving,
           draft, events, sketch, paper] = v;
    auto& [now, changes, room_made, fleet_changes] = clock;
    auto& [cluster, open, scores, capacity, gpu_rates, price_tiers, gpu_models, machines_may_come, unclaimed] = fleet;
    auto& [shapes, terms, records, kins, present, any_movable, has_parts_of_gpus] = jobs.book();
    auto& [queues, budgets, burns] = accounts;
    auto& [pending, waits_for_budget, failed_at, tried_line, searches] = line;
    auto& [held, growing, grow_failed_at, timers] = runs;
    auto& [dependents, arrays, products, ended] = gates;
    auto& [prices, opens, any_hours, slots] = hours;
    CHECK(ended.empty(), "a snapshot inside a step");
    a(cluster, shapes, queues, budgets, pending, open, scores, capacity, terms, records, durations, kins, gpu_rates, price_tiers,
      gpu_models, burns, waits_for_budget, held, dependents, arrays, products, present, growing, timers, backfill, stopping,
      fleet_changes, failed_at, grow_failed_at, room_made, consolidation, moving, studies, prices, opens, machines_may_come,
      any_hours, any_movable, has_parts_of_gpus, changes, now);
  }
};

template <>
Domains SnapshotParts::fresh() {
  return Domains({});
}
template <>
AffinityBook::Term SnapshotParts::fresh() {
  return {.term = {}, .domains = Domains({}), .in_room = {}};
}
template <>
Asha SnapshotParts::fresh() {
  return Asha(TrialRules());
}

std::string Scheduler::save() const {
  PackedWriter<SnapshotParts> out;
  out(impl_->books);
  return out.take();
}

std::optional<Scheduler> Scheduler::load(const Policy& policy, std::string_view saved) {
  Scheduler scheduler(policy);
  PackedReader<SnapshotParts> in(saved);
  in(scheduler.impl_->books);
  if (!in.finished()) return std::nullopt;
  return scheduler;
}

}  // namespace stint::sched
