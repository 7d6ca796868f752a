// Names as trackers and trainers write them: split, place, stem, statistic and unit.
#include <gtest/gtest.h>

#include <array>

#include "catalogue/catalogue.h"

namespace vigil::catalogue {
namespace {

struct Written {
  std::string_view raw;
  std::string_view signal;
  double scale = 1;
};

constexpr double kMebi = 1.0 / 1024;

// One row a name: what is not in the list of aliases is known by its parts.
constexpr std::array kWritten = {
    Written{"train/Loss_epoch", "loss"},
    Written{"Loss/Train/avg", "loss"},
    Written{"running_loss_avg", "loss"},
    Written{"metrics/train/loss", "loss"},
    Written{"trainLoss", "loss"},
    Written{"loss train", "loss"},
    Written{"obj", "loss"},
    Written{"cost", "loss"},
    Written{"crit", "loss"},
    Written{"err", "loss"},
    Written{"objective", "loss"},
    Written{"train_nll", "loss"},
    Written{"valid_nll", "eval_loss"},
    Written{"test_cost", "eval_loss"},
    Written{"Loss/Validation/mean", "eval_loss"},
    Written{"Test set: Average loss", "eval_loss"},
    Written{"ValLoss", "eval_loss"},
    Written{"dev/ppl", "eval_perplexity"},
    Written{"loss_d", "discriminator_loss"},
    Written{"Loss_G", "generator_loss"},
    Written{"train-rmse", "loss"},
    Written{"validation_0-rmse", "eval_loss"},
    Written{"training's l2", "loss"},
    Written{"valid_1's l2", "eval_loss"},
    Written{"metrics/eval/MulticlassAccuracy", "eval_accuracy"},
    Written{"val/metrics/eval/MulticlassAccuracy", "eval_accuracy"},
    Written{"charts/learning_rate", "lr"},
    Written{"charts/episodic_return", "reward"},
    Written{"losses/policy_loss", "policy_loss"},
    Written{"losses/value_loss", "value_loss"},
    Written{"losses/entropy", "entropy"},
    Written{"losses/approx_kl", "policy_kl"},
    Written{"losses/clipfrac", "clip_share"},
    Written{"losses/explained_variance", "explained_variance"},
    Written{"GradNorm", "grad_norm"},
    Written{"gn", "grad_norm"},
    Written{"optim/grad_norm/avg", "grad_norm"},
    Written{"weight_norm", "param_norm"},
    Written{"optimizer/lr", "lr"},
    Written{"optim0_lr0", "lr"},
    Written{"eta", "lr"},
    Written{"Acc@1", "accuracy"},
    Written{"train/top1_acc", "accuracy"},
    Written{"val/acc@1", "eval_accuracy"},
    Written{"Accuracy (%)", "accuracy", 0.01},
    Written{"eval/accuracy_pct", "eval_accuracy", 0.01},
    Written{"perf/step_time", "step_time_s"},
    Written{"avg_step_time_ms", "step_time_s", 1e-3},
    Written{"batch_time_us", "step_time_s", 1e-6},
    Written{"Time", "step_time_s"},
    Written{"timers/data", "data_time_s"},
    Written{"data_ms", "data_time_s", 1e-3},
    Written{"dataloader_time", "data_time_s"},
    Written{"compute_ms", "compute_time_s", 1e-3},
    Written{"timing/forward_backward", "compute_time_s"},
    Written{"comm_ms", "comm_time_s", 1e-3},
    Written{"allreduce_seconds", "comm_time_s"},
    Written{"perf/rss_mb", "host_memory", kMebi},
    Written{"host_mem", "host_memory"},
    Written{"cpu_memory_bytes", "host_memory", kMebi* kMebi* kMebi},
    Written{"gpu_mem_mb", "mem_allocated", kMebi},
    Written{"cuda/max_memory_allocated_gb", "mem_allocated"},
    Written{"peak_mem_GiB", "mem_allocated"},
    Written{"memory_reserved_mb", "mem_reserved", kMebi},
    Written{"ips", "samples_per_s"},
    Written{"throughput/images_per_sec", "samples_per_s"},
    Written{"img/s", "samples_per_s"},
    Written{"pos", "data_position"},
    Written{"data_pos", "data_position"},
    Written{"consumed_samples", "num_samples"},
    Written{"ms/it", "step_time_s", 1e-3},
    Written{"ms/batch", "step_time_s", 1e-3},
    Written{"AverageEpRet", "reward"},
    Written{"MaxEpRet", "reward_max"},
    Written{"AverageTestEpRet", "eval_reward"},
    Written{"eval/mean_return", "eval_reward"},
    Written{"LossPi", "policy_loss"},
    Written{"train_scale", "loss_scale"},
    Written{"LossV", "value_loss"},
};

TEST(NamesByStemNamespaceAndUnit, AreKnownAsTrackersAndTrainersWriteThem) {
  for (const Written& written : kWritten) {
    const auto meaning = Interpret(written.raw);
    ASSERT_TRUE(meaning) << written.raw;
    EXPECT_EQ(meaning->signal, written.signal) << written.raw;
    EXPECT_NEAR(meaning->scale / written.scale, 1, 1e-9) << written.raw;
  }
}

TEST(NamesByStemNamespaceAndUnit, LeaveAloneWhatOnlyContainsAStem) {
  for (const char* raw : {"box_loss", "train/cls_loss", "total_time", "epoch_time", "val_step", "eval/step_time",
                          "train_time", "lr_multiplier", "loss_weight", "memory_bank_size", "time/epoch",
                          "grad_norm/layer3", "a sentence that speaks of the loss of a run and more words"})
    EXPECT_FALSE(Interpret(raw)) << raw << " is " << Interpret(raw)->signal;
}

TEST(NamesByStemNamespaceAndUnit, ANamespaceThatSaysNothingIsLeftOutWhereNoBetterNameIsThere) {
  const std::pair<const char*, const char*> known[] = {
      {"opt/lr", "lr"},         {"Aux/entropy", "entropy"}, {"Stuff/gradL2", "grad_norm"},
      {"Aux/reward", "reward"}, {"lr(CosineDecay)", "lr"},  {"Hyper/eta", "lr"}};
  for (const auto& [raw, signal] : known) {
    ASSERT_TRUE(Interpret(raw)) << raw;
    EXPECT_EQ(Interpret(raw)->signal, signal) << raw;
  }
  EXPECT_TRUE(Interpret("Aux/entropy")->weak);
  for (const char* raw : {"encoder/loss", "box/loss", "val/opt_state/lr", "memory/lr", "D(x)", "log p(x)", "loss(x)"})
    EXPECT_FALSE(Interpret(raw)) << raw << " is " << Interpret(raw)->signal;
}

TEST(NamesByStemNamespaceAndUnit, ShortWordsOfSplitsAndUnits) {
  EXPECT_EQ(Interpret("va_acc")->signal, "eval_accuracy");
  EXPECT_EQ(Interpret("va_obj")->signal, "eval_loss");
  EXPECT_EQ(Interpret("sec")->signal, "step_time_s");
  EXPECT_TRUE(Interpret("sec")->weak);
  EXPECT_FALSE(Interpret("s"));
}

TEST(NamesByStemNamespaceAndUnit, TakeANameApart) {
  const SplitName name = TakeApart("perf/val/avg_step_time_ms");
  EXPECT_TRUE(name.is_eval);
  EXPECT_FALSE(name.is_train);
  EXPECT_EQ(name.quantity, "time");
  EXPECT_EQ(name.unit_factor, 1e-3);
  EXPECT_EQ(name.stems.front(), "perf_avg_step");
  EXPECT_EQ(name.stems[2], "step");
  EXPECT_TRUE(TakeApart("").stems.empty());
}

TEST(NamesByStemNamespaceAndUnit, AreWeakWhereTheyMeanOtherThingsToo) {
  for (const char* raw : {"cost", "eta", "alpha", "time", "error", "rate"}) EXPECT_TRUE(Interpret(raw)->weak) << raw;
  for (const char* raw : {"loss", "nll", "lr", "step_time"}) EXPECT_FALSE(Interpret(raw)->weak) << raw;
}

// The table stays one table: no stem of one quantity means two signals.
TEST(NamesByStemNamespaceAndUnit, HaveOneMeaningEach) {
  for (const SignalRow& row : Signals()) {
    for (const std::string_view stem : row.stems) {
      for (const SignalRow& other : Signals()) {
        if (&other == &row || other.unit != row.unit) continue;
        for (const std::string_view rival : other.stems) EXPECT_NE(stem, rival) << row.id << " and " << other.id;
      }
    }
  }
}

}  // namespace
}  // namespace vigil::catalogue
