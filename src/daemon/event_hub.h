// Hands what happens on to those who listen: each sees the events of their clients, and of machines.
//
// Lives on the service's thread: everything here is called there, but subscribe().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "daemon/governor.h"
#include "daemon/service.h"
#include "host/http_server.h"

namespace stint {

class EventHub : public std::enable_shared_from_this<EventHub> {
 public:
  EventHub(Service& service, Governor& governor, std::function<Instant()> clock)
      : service_(service), governor_(governor), clock_(std::move(clock)) {}

  /// @param after  begins with the events behind it, as far as they are kept; below 0: with those to come. Any thread.
  void subscribe(EventStream stream, Principal who, int64_t after);
  /// There are events up to `number`. On the service's thread.
  void announce(int64_t number);

 private:
  struct Listener {
    EventStream stream;
    Principal who;
  };
  void hand_on(const Engine& engine);
  Service& service_;
  Governor& governor_;
  std::function<Instant()> clock_;
  std::vector<Listener> listeners_;
  int64_t sent_ = 0;    ///< number of the last event handed on to all
  bool asked_ = false;  ///< hand_on() is on its way
};

/// May they see it?
bool may_see(const Principal& who, const EventView& event);
/// The client of a queue: the top of its path.
std::string_view client_of_queue(std::string_view queue);

}  // namespace stint
