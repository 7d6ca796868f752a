#include "codec/codec.h"
