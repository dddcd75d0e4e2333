// The scheduler put together: its books, and the classes that act on them. Each sees what its view names, and no more.
#pragma once

#include <span>

#include "sched/scheduler.h"
#include "sched/scheduler_books.h"
#include "sched/scheduler_events.h"
#include "sched/scheduler_preempt.h"

namespace stint::sched {

struct Scheduler::Impl {
  explicit Impl(const Policy& p);
  Impl(const Impl& other) : Impl(other.policy) { books = other.books; }  // views are of its own
  Impl& operator=(const Impl&) = delete;
  ~Impl() = default;

  const Policy policy;
  SchedulerBooks books;

  JobTable& jobs;
  Forecasts forecasts;
  Accounts accounts;
  Placer placer;
  StopRules rules;
  Contenders contenders;
  KnownEnds ends;
  Moves moves;
  Lifecycle life;
  StartTimes times;
  Heads heads;
  Gates gates;
  RoomMaker room;
  Starter starter;
  Backfilling backfill;
  Consolidation consolidation;
  Preemption preemption;
  Happenings happenings;

  /// Time passes to `at`, and what happened changes the state.
  void take_in(Instant at, std::span<const Event> happened);

  // scheduler_decide.cc
  void decide();
  bool free_room();
  void promise_leaving_room();
  void start_all();
  void start_with_neighbours();
};

}  // namespace stint::sched
