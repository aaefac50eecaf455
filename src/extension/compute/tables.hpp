// Declarations of the tables of functions that compute, by the source file that defines them.
#pragma once

#include <Python.h>

namespace refarray::extension {

extern PyMethodDef kSelectionFunctions[];      // selection_functions.cpp: where, clip
extern PyMethodDef kSortingFunctions[];        // sorting.cpp: sort, argsort, searchsorted
extern PyMethodDef kLinearAlgebraFunctions[];  // linalg/product_functions.cpp: matmul, tensordot …
extern PyMethodDef kSetFunctions[];            // set_functions.cpp: isin, unique_all …
extern PyMethodDef kTakingFunctions[];         // indexing/taking.cpp: take, nonzero …
extern PyMethodDef kJoiningFunctions[];        // manipulation/joining.cpp: concat, stack, unstack
extern PyMethodDef kRepeatingFunctions[];      // manipulation/repeating.cpp: repeat, roll, tile
extern PyMethodDef kBroadcastingFunctions[];   // manipulation/broadcasting.cpp: meshgrid …
extern PyMethodDef kReductionFunctions[];      // reduction_functions.cpp, scans too
PyMethodDef* elementwise_functions();          // elementwise_functions.cpp
extern PyMethodDef kDecompositionFunctions[];  // linalg/decompositions.cpp: of refarray.linalg
extern PyMethodDef kDiagonalFunctions[];       // linalg/diagonals.cpp
extern PyMethodDef kNormFunctions[];           // linalg/norm_functions.cpp
extern PyMethodDef kRankFunctions[];           // linalg/ranks.cpp
extern PyMethodDef kSystemFunctions[];         // linalg/systems.cpp
extern PyMethodDef kVectorFunctions[];         // linalg/vectors.cpp
extern PyMethodDef kTransformFunctions[];      // fft/transforms.cpp: of refarray.fft
extern PyMethodDef kFrequencyFunctions[];      // fft/frequencies.cpp: of refarray.fft

}  // namespace refarray::extension
