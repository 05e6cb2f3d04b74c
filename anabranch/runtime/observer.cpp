#include "anabranch/runtime/observer.h"

namespace anabranch {

void ObserverList::before_call(const Schedule& schedule) {
  for (Observer* observer : observers_) observer->before_call(schedule);
}

void ObserverList::before_launch(StreamId stream, const Launch& launch) {
  for (Observer* observer : observers_) observer->before_launch(stream, launch);
}

void ObserverList::after_launch(StreamId stream, const Launch& launch) {
  for (size_t i = observers_.size(); i-- > 0;) observers_[i]->after_launch(stream, launch);
}

void ObserverList::before_record(StreamId stream, EventId event) {
  for (Observer* observer : observers_) observer->before_record(stream, event);
}

void ObserverList::after_record(StreamId stream, EventId event) {
  for (size_t i = observers_.size(); i-- > 0;) observers_[i]->after_record(stream, event);
}

void ObserverList::before_wait(StreamId stream, EventId event) {
  for (Observer* observer : observers_) observer->before_wait(stream, event);
}

void ObserverList::after_wait(StreamId stream, EventId event) {
  for (size_t i = observers_.size(); i-- > 0;) observers_[i]->after_wait(stream, event);
}

}  // namespace anabranch
