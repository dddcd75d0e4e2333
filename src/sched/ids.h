// Names for what the scheduler counts: dense indexes, given out by whoever owns the table.
#pragma once

#include "base/id.h"
#include "model/fleet.h"

namespace stint::sched {

// NodeId (model/fleet.h) indexes Cluster's nodes.
using JobId = Id<struct JobTag>;          ///< in order of submission: a smaller id is an older job
using TaskId = Id<struct TaskTag>;        ///< into the table of tasks; the tasks of a job are contiguous
using QueueId = Id<struct QueueTag>;      ///< into QueueTree; parents before children
using RequestId = Id<struct RequestTag>;  ///< an interned Request: equal requests have equal ids
using GangId = Id<struct GangTag>;        ///< an interned Gang; not valid = a plain job of equal tasks
using ArrayId = Id<struct ArrayTag>;      ///< jobs of one array; small numbers, given out by whoever submits
using ProductId = Id<struct ProductTag>;  ///< what a job makes, such as a data set; small numbers, likewise
using StudyId = Id<struct StudyTag>;      ///< trials of one search; not valid = no trial

}  // namespace stint::sched
