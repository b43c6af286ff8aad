/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* What ObjectLoaderTest.cpp loads: everything that makes a compiler write
 * sections, symbols and relocations. */

extern void *memcpy(void *, const void *, unsigned long);
extern float expf(float);

int jump(int i) {
  switch (i) {
  case 0:
    return 17;
  case 1:
    return 4;
  case 2:
    return 99;
  case 3:
    return 23;
  case 4:
    return 8;
  case 5:
    return 42;
  case 6:
    return 5;
  case 7:
    return 61;
  }
  return -1;
}

float constants(float x) { return x * 1.25f + 0.75f; }

float external(float x) { return expf(x); }

int copy(const void *source, long size) {
  static char target[1000];
  memcpy(target, source, size);
  return target[size - 1];
}

static int counter;
int count(void) { return ++counter; }

int shared_common;
static int first = 10, second = 20;
static int *const table[] = {&first, &second, &counter};
int pointers(int i) {
  shared_common = i;
  counter = 1;
  return *table[shared_common];
}

static const char *const words[] = {"one", "two", "three"};
const char *word(int i) { return words[i]; }

double sum(const double *x, int n) {
  double total = 0;
  for (int i = 0; i < n; ++i) {
    total += x[i];
  }
  return total;
}
