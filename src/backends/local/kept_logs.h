// The folder with what local tasks printed (`logs/`): what lies there, and taking away what a launch printed.
//
// What is taken away leaves files without content, of the same length, in `logs/cut/`: a reader learns how much there was, and when it
// went is their time. So the folder itself has as many files as there are logs that are kept.
#pragma once

#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/output_order.h"

namespace stint {

struct KeptLog {
  LaunchKey key;
  Bytes bytes;  ///< of the disk, of all its files
};
/// By key. Nothing of a folder that cannot be read; files that are no launch's are passed over.
std::vector<KeptLog> kept_logs(const std::string& logs_folder);

/// Of a launch that has ended for good. Does nothing where there is nothing of it. Again after a crash within, it goes on.
Status cut_log(const std::string& logs_folder, const LaunchKey& key);

/// Of one that runs: of what its two streams take of the disk together the newest `most` stay, at least a block of each; their lengths
/// stay as they are, so that a reader learns how much went. A file system without holes: all goes.
Status shorten_log(const std::string& logs_folder, const LaunchKey& key, Bytes most);

/// The files of a launch as they are: what it printed, or what was left of that when it was taken away.
OutputFiles files_of_log(const std::string& logs_folder, const LaunchKey& key);

}  // namespace stint
