// What changes that were carried out ask of the machines at an instant: a stop asks once, a weekly schedule at the edges of its hours. Values in,
// values out.
//
// Each step has its intent, which is durable before the first machine is touched, and its end. One whose intent is there without its end was
// cut short, and is asked for again; one that has ended is not, so a machine that somebody put to work again is left to them until the next edge.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "daemon/engine/views.h"
#include "daemon/finding_book.h"

namespace stint {

using CarriedChanges = std::map<std::string, CarriedChange>;  // by id

/// Do its machines rest at `at`? Those of one without hours do until it is taken back.
bool rests_at(const CarriedChange& change, Instant at);

/// Of `machines` those that take work now: one that is down does not. @return error naming one that is not there.
Result<std::vector<std::string>> that_take_work(const std::vector<std::string>& machines, const std::vector<NodeView>& nodes);
/// What the change has drained and no other change wants at rest.
std::vector<std::string> to_put_up(const CarriedChanges& all, const std::string& id);
/// Others that want some of its drained machines at rest, with those in what they have drained: they will put them up.
CarriedChanges taking_over(const CarriedChanges& all, const std::string& id);

struct CarriedStep {
  std::string id;
  CarriedChange before, intent, done;
  CarriedChanges others;  ///< that take machines over, durable with the intent
  std::vector<std::string> drain, up;
};
/// What is to be done at `now`, in order of ids. Changes of which some machine is not known yet wait.
std::vector<CarriedStep> carried_steps(const CarriedChanges& all, const std::vector<NodeView>& nodes, Instant now);

}  // namespace stint
