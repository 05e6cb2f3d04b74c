// The page of html(): timeline.html with the style and the scripts of page/ in it.
#pragma once

#include <string_view>

namespace anabranch::trace {

/// Has the placeholders {{title}} (HTML text) and {{data}} (JSON that contains no '<').
extern const std::string_view kTimelinePage;

}  // namespace anabranch::trace
