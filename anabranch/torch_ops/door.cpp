#include "anabranch/torch_ops/door.h"

#include <pthread.h>
#include <unistd.h>

namespace anabranch::torch_ops {
namespace {

thread_local bool closed_it = false;

}  // namespace

Door& Door::instance() {
  static auto* door = new Door;  // never destroyed: threads sleep in it
  return *door;
}

Door::Door() {
  pthread_atfork(nullptr, nullptr, [] {
    Door& door = instance();
    door.running_ = 0;
    door.asleep_ = 0;
    door.closed_ = false;
  });
}

bool Door::closed_to_this_thread() const { return closed_.load() && !closed_it; }

void Door::sleep_for_ever() {
  asleep_.fetch_add(1);
  for (;;) pause();
}

// Enters first and looks at the door then, while close() closes it and looks then who is inside.
Door::Passage::Passage(bool nested) {
  Door& door = instance();
  door.running_.fetch_add(1);
  if (nested || !door.closed_to_this_thread()) return;
  door.running_.fetch_sub(1);
  door.sleep_for_ever();
}

Door::Passage::~Passage() { instance().running_.fetch_sub(1); }

bool Door::close(int64_t known) {
  closed_it = true;
  closed_.store(true);
  return running_.load() <= 0 && asleep_.load() >= known;
}

}  // namespace anabranch::torch_ops
