// Who shares which GPU of a fleet: MIG instances, MPS or time slices, and the way there that disturbs least.
//
// A pool is the GPUs of one model in one region and market, on machines that are there for as long. Instances that exist and are in use
// stay what they are; an idle one is given to work that asks for that very profile; then the room that is left on GPUs which are
// cut already is filled (by advise/share/mig_plan.h, or by first fit when that needs no more GPUs and moves nothing), and the rest
// is packed on as few further GPUs as can be found (pack_mig: optimal where it meets its bound). Side by side, work of one client is packed
// instead where that takes fewer GPUs. GPUs are chosen so that whole machines become free.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advise/find/finder.h"
#include "advise/share/share_fit.h"
#include "telemetry/usage.h"

namespace stint {

struct SharedSeat {
  std::string workload, client;
  std::string from_node;  ///< where it runs now
  int from_gpu = 0;
  std::string mig_profile;  ///< "" = no MIG
  int memory_start = -1;    ///< MIG: first memory slice; −1: an instance that exists keeps its own
  bool exists = false;      ///< an instance that is there already
  bool restarts = false;    ///< it has to stop and start again
};

struct SharedGpu {
  enum class Step { kAsItIs, kFill, kRepartition, kShare, kFree };
  std::string node;
  int gpu = 0;
  Step step = Step::kAsItIs;
  std::vector<SharedSeat> seats;
};
std::string_view name_of(SharedGpu::Step step);  // "as it is", "add instances", "drain and cut", "share", "free"

struct SharePool {
  std::string provider, region, gpu_model;
  SharingMode mode = SharingMode::kMig;
  std::vector<SharedGpu> gpus;           ///< all of the pool, by node and index
  int64_t in_use = 0, needed = 0;        ///< GPUs
  int64_t restarts = 0;                  ///< pieces of work that stop and start again
  std::vector<std::string> alone;        ///< work that keeps a GPU, and why
  std::vector<std::string> freed_nodes;  ///< machines without work afterwards that have some now
  Money saving_per_month;                ///< of giving them back; zero where they cost nothing
};

struct FleetSharePlan {
  std::vector<SharePool> pools;  ///< those in which a GPU becomes free, descending by saving, then by GPUs freed
  std::vector<std::string> notes;
};

FleetSharePlan plan_sharing(const FleetView& fleet, const Usage& usage);

}  // namespace stint
