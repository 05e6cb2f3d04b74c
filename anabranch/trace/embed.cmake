# Puts the style sheet and the scripts of page/ into the HTML file INPUT and writes the result as a
# C++ string constant into OUTPUT. The scripts share one scope, in the order given here.
get_filename_component(folder ${INPUT} DIRECTORY)
file(READ ${INPUT} text)
file(READ ${folder}/page/style.css style)
set(script "")
foreach(part state layout frame draw input numbers)
  file(READ ${folder}/page/${part}.js source)
  string(APPEND script "${source}\n")
endforeach()
string(REPLACE "{{style}}" "${style}" text "${text}")
string(REPLACE "{{script}}" "${script}" text "${text}")
file(WRITE ${OUTPUT} "#include \"anabranch/trace/page.h\"

namespace anabranch::trace {

const std::string_view kTimelinePage = R\"timeline_page(${text})timeline_page\";

}  // namespace anabranch::trace
")
