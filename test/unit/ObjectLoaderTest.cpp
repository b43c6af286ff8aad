// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Object files of a C compiler, and bytes that are none. Argument: an object
// file made from Code.c.
#include "lib/Runtime/ObjectLoader.h"

#include "test/unit/Check.h"

#include <cmath>
#include <cstring>

using namespace kvern::runtime;
using namespace kvern::test;

static void *resolve(std::string_view name) {
  if (name == "memcpy") {
    return reinterpret_cast<void *>(&std::memcpy);
  }
  return name == "expf"
             ? reinterpret_cast<void *>(static_cast<float (*)(float)>(::expf))
             : nullptr;
}

static void *resolveNothing(std::string_view) { return nullptr; }

template <typename Function>
static Function *find(const LoadedCode &object, const char *name) {
  return reinterpret_cast<Function *>(object.lookup(name));
}

TEST(objectRuns) {
  std::string bytes = readFile(arguments()[0]);
  Result<std::unique_ptr<LoadedCode>> loaded =
      LoadedCode::load({bytes}, resolve);
  if (!loaded.ok()) {
    reportFailure(arguments()[0].c_str(), 0, loaded.status().message());
    return;
  }
  bytes.assign(bytes.size(), 'x');
  const LoadedCode &object = **loaded;
  CHECK(object.mappedBytes() > 0 && !object.lookup("absent") &&
        !object.lookup("memcpy"));
  auto *jump = find<int(int)>(object, "jump");
  const int expected[] = {17, 4, 99, 23, 8, 42, 5, 61, -1};
  for (int i = 0; i < 9; ++i) {
    CHECK(jump(i) == expected[i]);
  }
  auto *constants = find<float(float)>(object, "constants");
  CHECK(std::fabs(constants(2) - (2 * 1.25f + 0.75f)) < 1e-6f);
  auto *external = find<float(float)>(object, "external");
  CHECK(std::fabs(external(1) - std::exp(1.0f)) < 1e-6f);
  auto *copy = find<int(const void *, long)>(object, "copy");
  const char text[] = "hello";
  CHECK(copy(text, 3) == 'l');
  auto *count = find<int()>(object, "count");
  CHECK(count() == 1 && count() == 2 && count() == 3);
  auto *pointers = find<int(int)>(object, "pointers");
  CHECK(pointers(0) == 10 && pointers(1) == 20 && pointers(2) == 1);
  auto *word = find<const char *(int)>(object, "word");
  CHECK(std::strcmp(word(1), "two") == 0);
  auto *sum = find<double(const double *, int)>(object, "sum");
  const double numbers[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  CHECK(sum(numbers, 9) == 45);
}

TEST(objectNamesWhatIsMissing) {
  std::string bytes = readFile(arguments()[0]);
  Status status = LoadedCode::load({bytes}, resolveNothing).status();
  CHECK_ERROR(status, "no symbol named");
  CHECK_ERROR(status, "'memcpy'");
  CHECK_ERROR(status, "'expf'");
}

TEST(objectOfAnotherKind) {
  std::string bytes = readFile(arguments()[0]);
  std::string other = bytes;
  other[18] = static_cast<char>(183);
  CHECK_ERROR(LoadedCode::load({other}, resolve).status(),
              "expected object code for x86-64 (ELF machine 62), but got ELF "
              "class 2, machine 183");
  other = bytes;
  other[16] = 3;
  CHECK_ERROR(LoadedCode::load({other}, resolve).status(),
              "expected a relocatable object");
  CHECK_ERROR(LoadedCode::load({"text"}, resolve).status(),
              "expected an ELF file");
  CHECK_ERROR(LoadedCode::load({std::string_view()}, resolve).status(),
              "expected an ELF file");
}

TEST(objectCutAnywhere) {
  std::string bytes = readFile(arguments()[0]);
  for (size_t size = 0; size < bytes.size(); size += 7) {
    std::vector<char> part(bytes.begin(),
                           bytes.begin() + static_cast<ptrdiff_t>(size));
    CHECK(!LoadedCode::load({{part.data(), part.size()}}, resolve).ok());
  }
}

TEST(objectMutations) {
  const std::string bytes = readFile(arguments()[0]);
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    Random random(seed);
    std::string changed = bytes;
    if (seed % 2 == 0) {
      changed = mutate(bytes, random);
    } else {
      // The section table decides most: change one of its fields.
      uint64_t table;
      std::memcpy(&table, &bytes[40], 8);
      size_t at = table + random.below((bytes.size() - table) / 8) * 8;
      uint64_t value = random.below(2) ? random.below(2 * bytes.size())
                                       : ~random.below(1000);
      std::memcpy(&changed[at], &value, random.below(2) ? 8 : 4);
    }
    std::vector<char> exact(changed.begin(), changed.end());
    // Loading must end without touching anything else; running is another
    // matter.
    (void)LoadedCode::load({{exact.data(), exact.size()}}, resolve);
  }
}
