// A story's small tables: Slurm accounting, the inventory, and the rules that say who is who.
#pragma once

#include "sim/story.h"

namespace stint {

/// `sacct -P --format=JobID,JobName,User,Account,…` with header and job steps. Times are UTC and, as there, say no zone.
void write_sacct(const Story& story, const TextOut& out);
/// The inventory CSV of docs/formats.md.
void write_inventory(const Story& story, const TextOut& out);
/// The tenants CSV of docs/formats.md.
void write_tenants(const Story& story, const TextOut& out);

}  // namespace stint
