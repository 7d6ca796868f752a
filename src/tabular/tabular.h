// tabular: what readers of tables of metrics share: what columns mean, rows of JSON, series that are too long for
// memory, distributions, and losses that are logged in parts.
#pragma once

#include "tabular/distribution.h"
#include "tabular/json_rows.h"
#include "tabular/loss_parts.h"
#include "tabular/number.h"
#include "tabular/row_sink.h"
#include "tabular/thinning.h"
