// tabular: the one table of metrics that every reader of rows fills: roles of columns, the list of step names, which
// column places a row, what a null stands for, long form, series that are too long for memory; and what else readers of
// metrics share: rows of JSON, distributions, losses that are logged in parts.
#pragma once

#include "tabular/column_roles.h"
#include "tabular/distribution.h"
#include "tabular/guess.h"
#include "tabular/json_rows.h"
#include "tabular/json_table.h"
#include "tabular/loss_parts.h"
#include "tabular/metric_table.h"
#include "tabular/number.h"
#include "tabular/row.h"
#include "tabular/step_policy.h"
#include "tabular/thinning.h"
