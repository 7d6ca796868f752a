// model: a training run as plain data, and what vigil says about it. Being split: include the part that is needed.
#pragma once

#include "model/finding.h"
#include "model/position.h"
#include "model/report.h"
#include "model/run.h"
#include "model/statement.h"
