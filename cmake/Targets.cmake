# One CMake target per folder.
find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(anabranch_options INTERFACE)
target_compile_features(anabranch_options INTERFACE cxx_std_20)
target_compile_options(anabranch_options INTERFACE -Wall -Wextra -Wshadow -Wno-missing-field-initializers
                       -Wno-restrict)  # GCC 12 reports std::string concatenation (its bug 105651)
target_include_directories(anabranch_options INTERFACE ${PROJECT_SOURCE_DIR})
if(ANABRANCH_SANITIZE)
  target_compile_options(anabranch_options INTERFACE -fsanitize=${ANABRANCH_SANITIZE} -fno-omit-frame-pointer -g)
  target_link_options(anabranch_options INTERFACE -fsanitize=${ANABRANCH_SANITIZE})
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# anabranch_library(ir SOURCES graph.cpp … DEPS base …): the static library anabranch_ir.
function(anabranch_library folder)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LINK" ${ARGN})
  add_library(anabranch_${folder} STATIC ${ARG_SOURCES})
  add_library(anabranch::${folder} ALIAS anabranch_${folder})
  target_link_libraries(anabranch_${folder} PUBLIC anabranch_options ${ARG_LINK})
  foreach(dependency ${ARG_DEPS})
    target_link_libraries(anabranch_${folder} PUBLIC anabranch_${dependency})
  endforeach()
endfunction()

# Sanitizers make the biggest inputs of tests take minutes; a tenth of them shows the same.
set(ANABRANCH_TEST_SCALE 1)
if(ANABRANCH_SANITIZE)
  set(ANABRANCH_TEST_SCALE 10)
endif()

# anabranch_test(ir SOURCES … DEPS …): the GoogleTest executable test_ir with the label "ir".
function(anabranch_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LINK" ${ARGN})
  add_executable(test_${name} ${ARG_SOURCES})
  target_link_libraries(test_${name} PRIVATE anabranch_options GTest::gtest GTest::gmock GTest::gtest_main ${ARG_LINK})
  foreach(dependency ${ARG_DEPS})
    target_link_libraries(test_${name} PRIVATE anabranch_${dependency})
  endforeach()
  # Tests are compiled far more often than they run: -O0 halves their build time.
  target_compile_options(test_${name} PRIVATE -O0)
  gtest_discover_tests(test_${name} PROPERTIES LABELS ${name} DISCOVERY_TIMEOUT 60)
endfunction()
