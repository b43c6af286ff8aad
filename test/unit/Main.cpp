// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists the tests, or runs one: `unit`, `unit <name> [argument...]`.
#include "test/unit/Check.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

namespace kvern::test {
namespace {
int failures = 0;
} // namespace

std::vector<TestCase> &allTests() {
  static std::vector<TestCase> tests;
  return tests;
}

std::vector<std::string> &arguments() {
  static std::vector<std::string> list;
  return list;
}

void reportFailure(const char *file, int line, const std::string &text) {
  std::fprintf(stderr, "%s:%d: %s\n", file, line, text.c_str());
  ++failures;
}

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string mutate(std::string bytes, Random &random) {
  for (uint64_t changes = 1 + random.below(4); changes > 0 && !bytes.empty();
       --changes) {
    size_t at = random.below(bytes.size());
    switch (random.below(6)) {
    case 0:
      bytes.resize(at);
      break;
    case 1:
      bytes.insert(at,
                   bytes.substr(random.below(bytes.size()), random.below(40)));
      break;
    case 2: {
      // Numbers at the edges are what bounds checks trip over.
      constexpr uint64_t kEdges[] = {0,
                                     1,
                                     0x7fffffff,
                                     0xffffffff,
                                     0x7fffffffffffffff,
                                     ~uint64_t(0),
                                     ~uint64_t(63)};
      uint64_t edge = kEdges[random.below(7)];
      size_t width = size_t(1) << random.below(4);
      if (at + width <= bytes.size()) {
        std::memcpy(&bytes[at], &edge, width);
      }
      break;
    }
    default:
      bytes[at] = static_cast<char>(random.below(256));
    }
  }
  return bytes;
}

} // namespace kvern::test

int main(int argc, char **argv) {
  using namespace kvern::test;
  for (const TestCase &test : allTests()) {
    if (argc < 2) {
      std::puts(test.name);
    } else if (std::strcmp(argv[1], test.name) == 0) {
      arguments().assign(argv + 2, argv + argc);
      test.run();
      return failures == 0 ? 0 : 1;
    }
  }
  return argc < 2 ? 0 : 2;
}
