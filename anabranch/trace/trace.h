// Shows a timeline: Chrome trace JSON for Perfetto, and one self-contained HTML page. The functions
// share nothing and may be called from any thread. Each throws Error ("bad-timeline") on a timeline
// that names a stream it does not have, or in which something ends before it begins.
#pragma once

#include <string>

#include "anabranch/schedule/timeline.h"

namespace anabranch::trace {

/// Chrome trace events: one track per stream, complete events ("X") for operators, flow arrows
/// ("s"/"f") from record to wait, slices for the time a stream waited. Times in microseconds. One
/// event per line. A stream that did two things at once gets a further track.
std::string chrome_json(const Timeline& timeline);

/// The inverse for files that chrome_json wrote: what `anabranch timeline` reads. Throws Error
/// ("not-json", "foreign-trace", "bad-trace") that says what is wrong with any other text.
Timeline read_chrome_json(const std::string& text);

/// One page without network access: the streams, the operators, the arrows, a table; pan and zoom.
/// Meant for up to some 100,000 operators.
std::string html(const Timeline& timeline);

/// Per stream busy and waiting time, and for each pair of streams the overlap divided by the
/// smaller of their busy times: the numbers the page shows (trace/measure.h), as text.
std::string summary(const Timeline& timeline);

}  // namespace anabranch::trace
