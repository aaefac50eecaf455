// A check of functions that parse names.
#pragma once

#include <string>

#include "check.hpp"

namespace refarray::check {

/// `parse` refuses each of these names.
template <class Parse, class... Names>
void rejects(const Parse& parse, const Names&... names) {
  (check(!parse(names), std::string(names)), ...);
}

}  // namespace refarray::check
