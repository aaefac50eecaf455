// Tests of core/error.hpp.
#include "core/error.hpp"

#include <cstdint>
#include <limits>
#include <optional>

#include "check.hpp"

namespace {

using namespace refarray::core;
using namespace refarray::check;

const Case joining("text() joins strings and integers", [] {
  expect(text(), "");
  expect(text("ndim is ", 65, "; the limit is ", 64), "ndim is 65; the limit is 64");
  expect(text(std::int8_t{65}, " ", std::uint8_t{7}),
         "65 7");  // as numbers, not as characters
  expect(text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
  expect(text(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
  expect(text(std::string("own"), std::string_view("view"), "literal"), "ownviewliteral");
});

const Case carrying("fail() throws an Error with fault and message", [] {
  for (const Fault fault : {Fault::kType, Fault::kValue, Fault::kIndex, Fault::kOverflow,
                            Fault::kBuffer, Fault::kNoCopy, Fault::kMemory}) {
    bool caught = false;
    try {
      fail(fault, "value ", -3);
    } catch (const std::exception& error) {  // also visible through std::exception
      caught = true;
      expect(std::string(error.what()), "value -3");
      const auto* own = dynamic_cast<const Error*>(&error);
      check(own != nullptr && own->fault() == fault);
    }
    check(caught);
  }
});

const Case copying("a copied Error keeps its own message", [] {
  std::optional<Error> copy;
  {
    const Error error(Fault::kIndex, std::string(100, 'a'));
    copy.emplace(error);
  }
  expect(std::string(copy->what()), std::string(100, 'a'));
  check(copy->fault() == Fault::kIndex);
});

}  // namespace
