// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Error values of the runtime; it neither throws nor catches exceptions.
#ifndef KVERN_LIB_RUNTIME_RESULT_H
#define KVERN_LIB_RUNTIME_RESULT_H

#include <cassert>
#include <optional>
#include <string>
#include <utility>

namespace kvern::runtime {

/// The kind of a failure; decides the exception type that Python sees. The
/// numbers are part of the C ABI.
enum class ErrorKind : int {
  None = 0,
  /// A damaged or foreign executable file, or code for another machine.
  Artifact = 1,
  /// Missing, unexpected or mismatching weights.
  Weight = 2,
  /// An input has the wrong dtype, shape, layout or device.
  Input = 3,
  /// The wrong number of inputs.
  InputCount = 4,
  /// The program failed while running.
  Execution = 5,
  /// The system has no memory left.
  Memory = 6,
  /// A file cannot be opened or read.
  File = 7,
};

/// Success, or a kind and a message (lower case, values included, no full
/// stop).
class [[nodiscard]] Status {
public:
  static Status success() { return Status(); }
  static Status error(ErrorKind kind, std::string message) {
    assert(kind != ErrorKind::None && "an error needs a kind");
    Status status;
    status.errorKind = kind;
    status.text = std::move(message);
    return status;
  }

  bool ok() const { return errorKind == ErrorKind::None; }
  ErrorKind kind() const { return errorKind; }
  const std::string &message() const { return text; }

private:
  ErrorKind errorKind = ErrorKind::None;
  std::string text;
};

/// A value, or the status of a failure.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : payload(std::move(value)) {}
  Result(Status status) : failure(std::move(status)) {
    assert(!failure.ok() && "a result without a value needs an error");
  }

  bool ok() const { return payload.has_value(); }
  const Status &status() const { return failure; }

  /// The value; only when ok().
  T &operator*() { return *payload; }
  const T &operator*() const { return *payload; }
  T *operator->() { return &*payload; }
  const T *operator->() const { return &*payload; }

private:
  std::optional<T> payload;
  Status failure;
};

} // namespace kvern::runtime

#endif // KVERN_LIB_RUNTIME_RESULT_H
