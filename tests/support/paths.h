// Where the tests find the checkout and what was built of it. Constants of one source: a path on the command line of
// every test would keep two checkouts from sharing compiled objects.
#pragma once

namespace vigil::testing_support {

extern const char* const kSourceDir;  // root of the checkout
extern const char* const kBinaryDir;  // root of the build folder
extern const char* const kProgram;    // vigil
extern const char* const kLibrary;    // libvigil.so

}  // namespace vigil::testing_support
