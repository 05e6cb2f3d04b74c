#include "tests/conformance/harness.h"

#include <thread>

#include "anabranch/ir/text.h"
#include "anabranch/schedule/text.h"

namespace anabranch::testing {

std::string message_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  }
}

Graph graph_of(std::string_view body) {
  return parse_graph("anabranch 1\ngraph \"test\" {\n" + std::string(body) + "\n}\n");
}

Harness::Harness(std::shared_ptr<Device> device, std::string_view graph, std::string_view schedule,
                 ReferenceKernels kernels)
    : device_(std::move(device)),
      graph_(graph_of(graph)),
      schedule_(parse_schedule(graph_, "schedule {\n" + std::string(schedule) + "\n}")),
      kernels_(kernels.load(graph_, memory_layout(schedule_))),
      executor_(std::make_unique<Executor>(graph_, schedule_, *device_, *kernels_)) {}

Harness::Session::Session(const Harness& harness)
    : harness_(harness),
      state_(harness.executor_->make_state()),
      values_(harness.kernels_->make_values()) {}

Outcome Harness::Session::run(const Named& inputs, Observer* observer) {
  auto& values = static_cast<ReferenceValues&>(*values_);
  for (const auto& [name, elements] : inputs) values.set(name, elements);
  Outcome outcome;
  CallResult result = harness_.executor_->try_run(*state_, values, observer);
  while (!result.ran) {  // another call has a lane
    std::this_thread::yield();
    result = harness_.executor_->try_run(*state_, values, observer);
  }
  if (const auto& failure = result.failure) {
    outcome.error = message_of(failure->error);
    outcome.failed = harness_.graph_.node(failure->node).name;
  } else {
    for (const Argument& output : harness_.graph_.outputs) {
      for_each_value(output, [&](ValueId value) {
        const std::string& name = harness_.graph_.value(value).name;
        outcome.values[name] = values.get(name);
      });
    }
  }
  for (const auto& [name, elements] : inputs) outcome.values[name] = values.get(name);
  outcome.log = values.log;
  outcome.violations = values.violations();
  for (size_t b = 0; b < harness_.graph_.buffer_count; ++b)
    outcome.releases.push_back(values.releases(BufferId(b)));
  harness_.kernels_->clear(values);
  return outcome;
}

}  // namespace anabranch::testing
