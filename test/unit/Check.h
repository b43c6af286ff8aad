// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A tiny test harness: TEST registers a function, CHECK reports and goes on.
#ifndef KVERN_TEST_UNIT_CHECK_H
#define KVERN_TEST_UNIT_CHECK_H

#include <cstdint>
#include <string>
#include <vector>

namespace kvern::test {

struct TestCase {
  const char *name;
  void (*run)();
};

/// All tests of the program, in the order of their files.
std::vector<TestCase> &allTests();

/// The command line after the name of the test.
std::vector<std::string> &arguments();

/// Reports a failed check.
void reportFailure(const char *file, int line, const std::string &text);

struct Registration {
  Registration(const char *name, void (*run)()) {
    allTests().push_back({name, run});
  }
};

/// The bytes of a file; empty when it cannot be read.
std::string readFile(const std::string &path);

/// A small generator of random numbers that gives the same ones everywhere
/// (Marsaglia's xorshift64).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint64_t below(uint64_t bound) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return bound ? state % bound : 0;
  }

private:
  uint64_t state;
};

/// Changes, cuts or repeats some bytes.
std::string mutate(std::string bytes, Random &random);

} // namespace kvern::test

#define TEST(NAME)                                                             \
  static void NAME();                                                          \
  static kvern::test::Registration NAME##Registration(#NAME, NAME);            \
  static void NAME()

#define CHECK(CONDITION)                                                       \
  do {                                                                         \
    if (!(CONDITION)) {                                                        \
      kvern::test::reportFailure(__FILE__, __LINE__, #CONDITION);              \
    }                                                                          \
  } while (false)

/// Whether `status` failed with `part` in its message; shows the message
/// otherwise.
#define CHECK_ERROR(STATUS, PART)                                              \
  do {                                                                         \
    const auto checked = (STATUS);                                             \
    if (checked.ok() || checked.message().find(PART) == std::string::npos) {   \
      kvern::test::reportFailure(__FILE__, __LINE__,                           \
                                 std::string("expected '") + (PART) +          \
                                     "' in '" + checked.message() + "'");      \
    }                                                                          \
  } while (false)

#endif // KVERN_TEST_UNIT_CHECK_H
