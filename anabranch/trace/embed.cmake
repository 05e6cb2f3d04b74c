# Writes the HTML file INPUT as a C++ string constant into OUTPUT.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "#include \"anabranch/trace/page.h\"

namespace anabranch::trace {

const std::string_view kTimelinePage = R\"timeline_page(${text})timeline_page\";

}  // namespace anabranch::trace
")
