#include "support/paths.h"

namespace vigil::testing_support {

const char* const kSourceDir = VIGIL_SOURCE_DIR;
const char* const kBinaryDir = VIGIL_BINARY_DIR;
const char* const kProgram = VIGIL_PROGRAM;
const char* const kLibrary = VIGIL_LIBRARY;

}  // namespace vigil::testing_support
