// The step or epoch that a notice states.
#include "textlog/stated_place.h"

#include <gtest/gtest.h>

namespace vigil::textlog {
namespace {

model::Position Step(std::int64_t step) { return {model::Axis::kStep, step}; }

TEST(Restarts, TheStepStandsInTheNotice) {
  EXPECT_TRUE(SamePosition(StatedPlace("Resuming training from checkpoint, step 1500"), Step(1500)));
  EXPECT_TRUE(SamePosition(StatedPlace("resuming from step=1500 of 3000"), Step(1500)));
  EXPECT_TRUE(SamePosition(StatedPlace("Resumed at 130"), Step(130)));
  EXPECT_TRUE(SamePosition(StatedPlace("resuming from out/checkpoint-200"), Step(200)));
  EXPECT_TRUE(
      SamePosition(StatedPlace("=> loaded checkpoint 'x.pt' (epoch 3)"), model::Position(model::Axis::kEpoch, 3)));
  EXPECT_TRUE(SamePosition(StatedPlace("loaded (iteration: 40, epoch 3)"), Step(40)));
}

TEST(Restarts, WhatIsNoCountIsNoStep) {
  EXPECT_FALSE(StatedPlace("resuming training").known());
  EXPECT_FALSE(StatedPlace("resuming at epoch 0.95").known());
  EXPECT_FALSE(StatedPlace("footstep 12 of the misstep").known());
}

}  // namespace
}  // namespace vigil::textlog
