#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "anabranch/verify/hazards.h"

namespace anabranch::verify {
namespace {

class LifetimeChecker {
 public:
  LifetimeChecker(const Graph& graph, const UseTable& uses, const Schedule& schedule,
                  const Replay& replay, std::vector<Diagnostic>& findings)
      : graph_(graph), uses_(uses), schedule_(schedule), replay_(replay), findings_(findings) {}

  void run() {
    find_users();
    find_given();
    find_sizes();
    std::vector<bool> seen(graph_.buffer_count, false);
    std::vector<const BufferLife*> placed;
    for (const BufferLife& life : schedule_.buffers) {
      if (!check_buffer(life, seen)) continue;
      check_acquire(life);
      if (life.placement) check_placement(life);
      if (check_releases(life) && life.placement) placed.push_back(&life);
    }
    check_overlap(std::move(placed));
  }

 private:
  void find_users() {
    users_.resize(graph_.buffer_count);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      auto add = [&](BufferId buffer) {
        if (uses_.is_resource(buffer)) return;
        std::vector<NodeId>& users = users_[buffer.index()];
        if (users.empty() || users.back() != NodeId(i)) users.push_back(NodeId(i));
      };
      for (const Use& use : uses_.of(NodeId(i))) add(use.buffer);
      // A wait reads nothing, but hands the buffer on: it must still be there.
      if (graph_.nodes[i].kind != NodeKind::Wait) continue;
      for (ValueId result : graph_.nodes[i].results) {
        if (const TensorType* type = graph_.value(result).tensor()) add(type->buffer);
      }
    }
  }

  void find_given() {
    given_.resize(graph_.buffer_count, nullptr);
    auto mark = [&](ValueId value, const char* what) {
      if (const TensorType* type = graph_.value(value).tensor())
        given_[type->buffer.index()] = what;
    };
    for (const Argument& output : graph_.outputs) {
      for_each_value(output, [&](ValueId value) { mark(value, "an output"); });
    }
    for (const Node& node : graph_.nodes) {
      for (ValueId value : node.results) {
        if (node.kind == NodeKind::Input) mark(value, "an input");
        if (node.kind == NodeKind::Constant) mark(value, "a constant");
      }
    }
  }

  void find_sizes() {
    sizes_.resize(graph_.buffer_count, 0);
    for (const Value& value : graph_.values) {
      const TensorType* type = value.tensor();
      if (!type) continue;
      int64_t& size = sizes_[type->buffer.index()];
      size = std::max(size, byte_range(*type).end);
    }
  }

  void report(const char* rule, std::string message, std::string fix, NodeId a = {},
              NodeId b = {}) {
    std::vector<SourceLocation> where;
    for (NodeId node : {a, b}) {
      if (node.valid() && node.index() < graph_.nodes.size())
        where.push_back(graph_.node(node).source);
    }
    findings_.push_back(
        {Severity::Error, rule, std::move(message), std::move(fix), std::move(where)});
  }

  bool check_buffer(const BufferLife& life, std::vector<bool>& seen) {
    size_t buffer = life.buffer.index();
    if (buffer >= graph_.buffer_count) {
      report("buffer-unknown",
             fmt::format("the schedule plans b{}, which the graph does not have", buffer),
             "plan only buffers of the graph");
      return false;
    }
    if (given_[buffer]) {
      report("buffer-unknown",
             fmt::format("the schedule plans {}, which holds {}", name(life), given_[buffer]),
             "leave buffers of inputs, constants and outputs to the caller");
      return false;
    }
    if (seen[buffer]) {
      report("buffer-twice", fmt::format("the schedule plans {} twice", name(life)),
             "plan each buffer once");
      return false;
    }
    seen[buffer] = true;
    return true;
  }

  void check_acquire(const BufferLife& life) {
    if (!replay_.launched(life.acquire)) {
      report("acquire-late", fmt::format("{} is acquired by what is never launched", name(life)),
             "acquire it with the operator that makes it");
      return;
    }
    for (NodeId user : users_[life.buffer.index()]) {
      if (user == life.acquire || !replay_.launched(user) || replay_.before(life.acquire, user))
        continue;
      report("acquire-late",
             fmt::format("{} uses {}, but {}, which acquires it, need not come before", place(user),
                         name(life), place(life.acquire)),
             "acquire the buffer with an operator that all its users come after", user,
             life.acquire);
    }
  }

  /// True if the releases say when the buffer's life ends.
  bool check_releases(const BufferLife& life) {
    bool good = !life.releases.empty();
    for (NodeId release : life.releases) good = good && replay_.launched(release);
    if (!good) {
      report("release-missing",
             fmt::format("{} has {}", name(life),
                         life.releases.empty() ? "no release" : "a release that is never launched"),
             "release it after its last users", life.acquire);
      return false;
    }
    for (NodeId user : users_[life.buffer.index()]) {
      if (!replay_.launched(user)) continue;
      bool covered = std::any_of(life.releases.begin(), life.releases.end(), [&](NodeId release) {
        return release == user || replay_.before(user, release);
      });
      if (covered) continue;
      good = false;
      report("release-early",
             fmt::format("{} may still use {} after it is released by {}", place(user), name(life),
                         place(life.releases.front())),
             fmt::format("add {} to the releases", graph_.node(user).name), user,
             life.releases.front());
    }
    return good;
  }

  /// Every window of the graph on the buffer must lie in its place.
  void check_placement(const BufferLife& life) {
    const Placement& place = *life.placement;
    int64_t size = sizes_[life.buffer.index()];
    if (size == ByteRange::whole().end) {
      report("placement-symbolic",
             fmt::format("{} has a place, but its size is known only at the call", name(life)),
             "give it memory of its own", life.acquire);
    } else if (place.offset < 0 || place.size < size) {
      report("placement-small",
             fmt::format("{} has {} bytes at {}, but needs {}", name(life), place.size,
                         place.offset, size),
             fmt::format("place it at 0 or above, with {} bytes", size), life.acquire);
    }
  }

  /// In the order in which buffers are acquired, each new one must come after the release of those
  /// that had its bytes last. From then on it stands for them: who comes after it comes after them.
  void check_overlap(std::vector<const BufferLife*> placed) {
    std::erase_if(placed, [&](const BufferLife* life) { return !replay_.launched(life->acquire); });
    std::stable_sort(placed.begin(), placed.end(), [&](const BufferLife* a, const BufferLife* b) {
      return replay_.place(a->acquire).rank < replay_.place(b->acquire).rank;
    });
    Owners owners{{0, nullptr}};
    std::vector<const BufferLife*> before;
    for (const BufferLife* life : placed) {
      ByteRange range = bytes(*life);
      if (range.empty() || range.begin < 0) continue;  // reported with its placement
      auto first = split(owners, range.begin), end = split(owners, range.end);
      before.clear();
      for (auto it = first; it != end; ++it) {
        if (it->second && std::find(before.begin(), before.end(), it->second) == before.end())
          before.push_back(it->second);
      }
      for (const BufferLife* other : before) check_reuse(*other, *life);
      first->second = life;
      owners.erase(std::next(first), end);
    }
  }

  /// The last owner of the bytes from each key to the next; none where nothing was placed yet.
  using Owners = std::map<int64_t, const BufferLife*>;

  static Owners::iterator split(Owners& owners, int64_t at) {
    auto next = owners.lower_bound(at);
    if (next != owners.end() && next->first == at) return next;
    return owners.emplace_hint(next, at, std::prev(next)->second);
  }

  void check_reuse(const BufferLife& first, const BufferLife& second) {
    for (NodeId release : first.releases) {
      if (replay_.before(release, second.acquire)) continue;
      report("buffers-overlap",
             fmt::format("{} takes memory of {} while {} may still use it", name(second),
                         name(first), place(release)),
             fmt::format("place them apart, or let {} wait for {}",
                         graph_.node(second.acquire).name, graph_.node(release).name),
             release, second.acquire);
    }
  }

  static ByteRange bytes(const BufferLife& life) {
    return {life.placement->offset, life.placement->offset + life.placement->size};
  }
  std::string name(const BufferLife& life) const { return uses_.describe(graph_, life.buffer); }
  std::string place(NodeId node) const {
    return fmt::format("{} on {}", describe(graph_.node(node)),
                       describe(schedule_.streams[replay_.place(node).stream].stream));
  }

  const Graph& graph_;
  const UseTable& uses_;
  const Schedule& schedule_;
  const Replay& replay_;
  std::vector<Diagnostic>& findings_;
  std::vector<std::vector<NodeId>> users_;  // by buffer
  std::vector<int64_t> sizes_;              // by buffer: bytes that its windows reach
  std::vector<const char*> given_;  // by buffer: what it holds for the caller; null: nothing
};

}  // namespace

void check_lifetimes(const Graph& graph, const UseTable& uses, const Schedule& schedule,
                     const Replay& replay, std::vector<Diagnostic>& findings) {
  LifetimeChecker(graph, uses, schedule, replay, findings).run();
}

}  // namespace anabranch::verify
