// The report on deleters that the subject calls late: written after the interpreter has exited.
#include <string>

#include "kit_module.hpp"

namespace adversary {
namespace {

constexpr std::string_view kCount = "#CALLS#";  // replaced by the number of deleter calls

/// Writes one of two texts when the process exits: whether all tensors from number `first` on were
/// deleted `expected` times altogether.
struct ExitReport {
  int descriptor = -1;
  std::size_t first = 0;
  int expected = 0;
  std::string right, wrong;

  ExitReport() = default;
  ExitReport(const ExitReport&) = delete;
  ExitReport& operator=(const ExitReport&) = delete;
  ~ExitReport() {
    if (descriptor < 0) return;
    int calls = 0;
    for (const FakeTensor* fake : FakeTensor::since(first)) calls += fake->deleter_calls();
    std::string text = calls == expected ? right : wrong;
    const auto place = text.find(kCount);
    if (place != std::string::npos) text.replace(place, kCount.size(), std::to_string(calls));
    write_text(descriptor, text);
  }
};

/// Destroyed after the static objects of every library that is loaded later, such as the subject's.
ExitReport report;

PyObject* report_at_exit(PyObject*, PyObject* args) {
  return guarded([&] {
    PyObject *first = nullptr, *expected = nullptr, *descriptor = nullptr;
    PyObject *right = nullptr, *wrong = nullptr;
    if (PyArg_ParseTuple(args, "OOOSS", &first, &expected, &descriptor, &right, &wrong) == 0) {
      throw PythonError{};
    }
    report.first = static_cast<std::size_t>(to_int(first, 0, std::int64_t{1} << 40));
    report.expected = static_cast<int>(to_int(expected, 0, 1 << 20));
    report.right = PyBytes_AsString(right);
    report.wrong = PyBytes_AsString(wrong);
    report.descriptor = static_cast<int>(to_int(descriptor, -1, 1 << 20));
    return Py_NewRef(Py_None);
  });
}

PyMethodDef functions[] = {
    {"report_at_exit", report_at_exit, METH_VARARGS,
     "Write one of two texts to a file descriptor when the process exits, by the number of deleter "
     "calls of the tensors from a number on."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void add_exit_report(PyObject* module) { add_functions(module, functions); }

}  // namespace adversary
