// Tracebacks, error messages and exit codes in logs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include "import/log/hints.h"
#include "import/log/signatures.h"
#include "log_support.h"

namespace vigil::import::log {
namespace {

using model::EventKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> NamesOf(const std::vector<model::Event>& events) {
  std::vector<std::string> names;
  for (const model::Event& event : events) names.push_back(event.name);
  return names;
}

TEST(Traceback, TellsTypeMessageFrameLineAndStep) {
  const model::Run run = ReadLog(
      "step 7 loss 2.5\n"
      "Traceback (most recent call last):\n"
      "  File \"/home/me/train.py\", line 12, in <module>\n"
      "    main()\n"
      "    ^^^^^^\n"
      "  File \"/home/me/model.py\", line 34, in forward\n"
      "    raise ValueError('bad')\n"
      "ValueError: bad: value\n"
      " 12%|#  | 7/60 [00:01<00:02, 3.00it/s]\n");
  const auto events = EventsOf(run, EventKind::kException);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].name, "ValueError");
  EXPECT_EQ(events[0].text, "ValueError: bad: value");
  EXPECT_EQ(events[0].detail, "/home/me/model.py:34 in forward");
  EXPECT_EQ(events[0].place.line, 8U);
  EXPECT_EQ(events[0].step, 7);
}

TEST(Traceback, TellsTheRootOfAChain) {
  for (const std::string_view sentence : {"During handling of the above exception, another exception occurred:",
                                          "The above exception was the direct cause of the following exception:"}) {
    const model::Run run =
        ReadLog(std::string("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    x\n"
                            "KeyError: 'foo'\n\n") +
                std::string(sentence) +
                "\n\nTraceback (most recent call last):\n  File \"b.py\", line 2, in g\n    y\n"
                "RuntimeError: no foo\n");
    const auto events = EventsOf(run, EventKind::kException);
    ASSERT_THAT(events, SizeIs(1)) << sentence;
    EXPECT_EQ(events[0].name, "KeyError");
    EXPECT_EQ(events[0].detail, "a.py:1 in f");
    EXPECT_THAT(events[0].text, HasSubstr("(then RuntimeError: no foo)"));
  }
}

TEST(Traceback, OfRanksThroughEachOtherAreToldApart) {
  const model::Run run = ReadLog(
      "[rank0]: Traceback (most recent call last):\n"
      "[rank1]: Traceback (most recent call last):\n"
      "[rank0]:   File \"a.py\", line 1, in f\n"
      "[rank1]:   File \"b.py\", line 2, in g\n"
      "[rank1]:     y()\n"
      "wandb: syncing\n"
      "[rank0]:     x()\n"
      "[rank1]: TypeError: two\n"
      "[rank0]: ValueError: one\n");
  const auto events = EventsOf(run, EventKind::kException);
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[0].name, "TypeError");
  EXPECT_EQ(events[0].rank, 1);
  EXPECT_EQ(events[0].detail, "b.py:2 in g");
  EXPECT_EQ(events[1].name, "ValueError");
  EXPECT_EQ(events[1].detail, "a.py:1 in f");
}

TEST(Traceback, InABoxIsRead) {
  const model::Run run = ReadLog(
      "\u256d\u2500\u2500 Traceback (most recent call last) \u2500\u2500\u256e\n"
      "\u2502 /home/me/train.py:12 in <module>          \u2502\n"
      "\u2502   11 main()                               \u2502\n"
      "\u2502 /home/me/model.py:34 in forward           \u2502\n"
      "\u2570\u2500\u2500\u2500\u2500\u256f\n"
      "ValueError: bad\n");
  const auto events = EventsOf(run, EventKind::kException);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].detail, "/home/me/model.py:34 in forward");
}

TEST(Traceback, InALaunchersTableIsRead) {
  const model::Run run = ReadLog(
      "  error_file: /tmp/error.json\n"
      "  traceback : Traceback (most recent call last):\n"
      "    File \"a.py\", line 1, in f\n"
      "      x()\n"
      "  torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB\n");
  EXPECT_THAT(NamesOf(EventsOf(run, EventKind::kSignature)), ElementsAre("log/cuda-oom"));
}

TEST(Traceback, WithoutAnEndIsForgotten) {
  std::string text = "Traceback (most recent call last):\n";
  for (int i = 0; i < 5000; ++i) text += "    recursion()\n";
  text += "step 1 loss 2.0\n";
  EXPECT_THAT(StepsOf(ReadLog(text), "loss"), ElementsAre(1));
}

TEST(ExceptionTypes, AreToldFromLevelsAndSentences) {
  EXPECT_EQ(ExceptionType("ValueError: bad"), "ValueError");
  EXPECT_EQ(ExceptionType("KeyboardInterrupt"), "KeyboardInterrupt");
  EXPECT_EQ(ExceptionType("torch._dynamo.exc.Unsupported: x"), "torch._dynamo.exc.Unsupported");
  EXPECT_EQ(ExceptionType("socket.timeout: timed out"), "socket.timeout");
  EXPECT_EQ(ExceptionType("INFO: fine"), "");
  EXPECT_EQ(ExceptionType("wandb: syncing"), "");
  EXPECT_EQ(ExceptionType("The run ended: badly"), "");
  EXPECT_EQ(ExceptionType(""), "");
}

struct Message {
  std::string_view id;
  std::string_view line;
};

// The lines that people meet, and the signature each must carry.
const Message kMessages[] = {
    {"log/cuda-oom",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. GPU 0 has a total capacity"},
    {"log/cuda-oom", "RuntimeError: CUDA error: out of memory"},
    {"log/cuda-oom",
     "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1 bytes"},
    {"log/host-oom-kill",
     "E0419 20:44:13 2341 api.py:869] failed (exitcode: -9) local_rank: 0 (pid: 2423) of binary: python"},
    {"log/host-oom-kill", "[INFO] [launch.py:319:sigkill_handler] python train.py exits with return code = -9"},
    {"log/host-oom-kill",
     "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0. Some of the step tasks have been OOM Killed."},
    {"log/host-oom-kill", "run.sh: line 3:  2423 Killed                  python train.py"},
    {"log/host-alloc",
     "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory"},
    {"log/host-alloc", "MemoryError"},
    {"log/host-alloc",
     "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 3.00 TiB for an array with shape (1,)"},
    {"log/dataloader-killed",
     "RuntimeError: DataLoader worker (pid 47) is killed by signal: Bus error. It is possible that dataloader's "
     "workers "
     "are out of shared memory."},
    {"log/dataloader-killed", "RuntimeError: DataLoader worker (pid(s) 12, 13) exited unexpectedly"},
    {"log/deepspeed-exit-7", "failed (exitcode: -7) local_rank: 0"},
    {"log/nccl-aborted", "RuntimeError: NCCL communicator was aborted on rank 3."},
    {"log/nccl-timeout",
     "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=15, OpType=ALLREDUCE) ran for 600 ms"},
    {"log/nccl-unhandled", "RuntimeError: NCCL error: unhandled cuda error (run with NCCL_DEBUG=INFO for details)"},
    {"log/nccl-unhandled",
     "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:3907, invalid usage"},
    {"log/no-pad-token",
     "ValueError: Asking to pad but the tokenizer does not have a padding token. Please select a token to use"},
    {"log/dummy-optim", "AttributeError: 'DummyOptim' object has no attribute 'step'"},
    {"log/reward-module-missing", "unable to load strategy my_rewards.accuracy"},
    {"log/generation-batch-indivisible",
     "ValueError: generation_batch_size (9) must be divisible by num_generations (8)."},
    {"log/weight-must-be-2d", "RuntimeError: 'weight' must be 2-D"},
    {"log/checkpoint-tensor-mismatch",
     "torch.utils.checkpoint.CheckpointError: torch.utils.checkpoint: A different number of tensors was saved during "
     "the "
     "original forward and recomputation."},
    {"log/bf16-numpy", "TypeError: Got unsupported ScalarType BFloat16"},
    {"log/content-boundary", "ValueError: Content end boundary is before start boundary"},
    {"log/xet-cas", "RuntimeError: Data processing error: CAS service error : ReqwestMiddleware Error"},
    {"log/index-out-of-range",
     "Indexing.cu:1292: block: [0,0,0], thread: [31,0,0] Assertion `srcIndex < srcSelectDimSize` failed."},
    {"log/index-out-of-range",
     "unknown:0: unknown: block: [0,0,0], thread: [31,0,0] Assertion `index out of bounds: 0 <= tmp4 < 16000` failed."},
    {"log/index-out-of-range", "IndexError: index out of range in self"},
    {"log/rank-killed", "rank 1 was killed by signal 9"},
    {"log/collective-timeout", "rank 0: all-reduce timed out after 10 s: rank 1 did not arrive"},
    {"log/device-assert", "RuntimeError: CUDA error: device-side assert triggered"},
    {"log/cublas-failure",
     "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"},
    {"log/disk-full", "OSError: [Errno 28] No space left on device"},
    {"log/disk-full", "RuntimeError: basic_ios::clear: iostream error"},
    {"log/disk-full", "RuntimeError: [enforce fail at inline_container.cc:671] . unexpected pos 64 vs 0"},
    {"log/port-in-use", "torch.distributed.DistNetworkError: The server socket has failed to listen. EADDRINUSE"},
    {"log/rendezvous-timeout",
     "torch.distributed.DistStoreError: Timed out after 16 seconds waiting for clients. 1/2 clients joined."},
    {"log/shape-mismatch-checkpoint", "size mismatch for lm_head.weight: copying a param with shape torch.Size([1])"},
    {"log/shape-mismatch-checkpoint",
     "RuntimeError: You set `ignore_mismatched_sizes` to `False`, thus raising an error."},
    {"log/no-grad-required", "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"},
    {"log/inplace-modified",
     "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation"},
    {"log/triton-compile", "triton.compiler.errors.CompilationError: at 1:0:"},
    {"log/driver-mismatch", "RuntimeError: The NVIDIA driver on your system is too old (found version 11040)."},
    {"log/driver-mismatch", "CUDA error (flash_fwd.h:193): no kernel image is available for execution on the device"},
    {"log/no-gpu-driver",
     "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU"},
    {"log/gpu-fault", "RuntimeError: CUDA error: uncorrectable ECC error encountered"},
    {"log/cuda-error", "RuntimeError: CUDA error: an illegal memory access was encountered"},
    {"log/segfault", "Fatal Python error: Segmentation fault"},
    {"log/killed-signal",
     "torch.distributed.elastic.multiprocessing.api.SignalException: Process 66845 got signal: 15"},
    {"log/killed-signal", "failed (exitcode: -15) local_rank: 0 (pid: 1454088) of binary: python3.9"},
    {"log/abort", "terminate called after throwing an instance of 'c10::DistBackendError'"},
    {"log/slurm-cancelled", "slurmstepd: error: *** JOB 123 ON node1 CANCELLED AT 2024-01-01T00:00:00 ***"},
    {"log/time-limit",
     "slurmstepd: error: *** JOB 123 ON node1 CANCELLED AT 2024-01-01T00:00:00 DUE TO TIME LIMIT ***"},
    {"log/interrupted", "KeyboardInterrupt"},
    {"log/gloo-timeout",
     "RuntimeError: [unbound_buffer.cc:81] Timed out waiting 12000ms for recv operation to complete"},
    {"log/gloo-peer-closed", "RuntimeError: [pair.cc:553] Connection closed by peer [127.0.0.1]:5000"},
    {"log/collective-mismatch", "[enforce fail at pair.cc:446] op.preamble.length <= op.nbytes. 262144 vs 8"},
    {"log/gloo-size-mismatch",
     "Received data size doesn't match expected size. Is there a distributed collective mismatch"},
    {"log/empty-dataset", "ValueError: num_samples should be a positive integer value, but got num_samples=0"},
    {"log/config-rejected", "train.py: error: unrecognized arguments: --lrr 0.1"},
    {"log/module-missing", "ModuleNotFoundError: No module named 'flash_attn'"},
    {"log/file-not-found", "FileNotFoundError: [Errno 2] No such file or directory: 'data/train.bin'"},
    {"log/api-mismatch", "TypeError: scaled_dot_product_attention() got an unexpected keyword argument 'enable_gqa'"},
    {"log/tensor-mismatch",
     "RuntimeError: Expected all tensors to be on the same device, but found at least two devices"},
    {"log/loss-scale-minimum",
     "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run."},
    {"log/anomaly-nan", "RuntimeError: Function 'LogBackward0' returned nan values in its 0th output."},
    {"log/ddp-unused-parameters",
     "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one."},
    {"log/hub-access",
     "OSError: We couldn't connect to 'the hub' to load this file, couldn't find it in the cached files"},
    {"log/store-lost", "[W1115 TCPStore.cpp:125] recvValue failed on SocketImpl(fd=3): failed to recv, got 0 bytes"},
    {"log/child-failed", "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "},
    {"log/closing-signal", "W0419 20:44:12 api.py:897] Sending process 2424 closing signal SIGTERM"},
};

TEST(Signatures, AreFoundInTheLinesPeopleMeet) {
  for (const Message& message : kMessages) {
    const model::Run run = ReadLog(std::string(message.line) + "\n");
    EXPECT_THAT(NamesOf(EventsOf(run, EventKind::kSignature)), ElementsAre(std::string(message.id))) << message.line;
  }
}

TEST(Signatures, HoldForEveryRowALineThatCarriesIt) {
  for (const catalogue::SignatureRow& row : catalogue::Signatures()) {
    if (row.id == "log/uncaught-exception") continue;
    const bool covered = std::any_of(std::begin(kMessages), std::end(kMessages),
                                     [&](const Message& message) { return message.id == row.id; });
    EXPECT_TRUE(covered) << row.id;
  }
}

TEST(Signatures, HaveExpressionsWithALiteralToSearchFor) {
  const SignatureMatcher& matcher = SignatureMatcher::Shared();
  for (std::size_t i = 0; i < matcher.pattern_count(); ++i)
    EXPECT_GE(matcher.LiteralOf(static_cast<SignatureMatcher::PatternId>(i)).size(), 4U) << i;
  for (const catalogue::SignatureRow& row : catalogue::Signatures()) {
    for (const std::string_view pattern : row.patterns)
      EXPECT_TRUE(re2::RE2(re2::StringPiece(pattern.data(), pattern.size()), re2::RE2::Quiet).ok()) << pattern;
  }
}

TEST(Signatures, AreNoneInHarmlessLines) {
  constexpr std::string_view kHarmless[] = {
      "ENV[TORCH_NCCL_ASYNC_ERROR_HANDLING] = 1 will be overridden to 3 based on job config",
      "[rank0]:[W606 reducer.cpp:1400] Warning: find_unused_parameters=True was specified in DDP constructor",
      "[rank0]:[W522 CUDACachingAllocator.cpp:495] expandable_segments: memory mapping failed with OOM on device 0",
      "[WARNING] [comm.py:152] NCCL backend in DeepSpeed not yet implemented",
      "Warning: WARNING: process group has NOT been destroyed before we destruct ProcessGroupNCCL.",
      "    except FileNotFoundError:",
      "        raise RuntimeError('CUDA out of memory')",
      "# CUDA out of memory happens when the batch is too large",
      "host:4945:5221 [0] NCCL INFO Channel 31/32 :    0",
      "UserWarning: None of the inputs have requires_grad=True. Gradients will be None",
      "2 CUDA memory allocation retries.",
  };
  for (const std::string_view line : kHarmless)
    EXPECT_THAT(EventsOf(ReadLog(std::string(line) + "\n"), EventKind::kSignature), IsEmpty()) << line;
}

TEST(Signatures, AreNotFoundInTheSourceLinesOfATraceback) {
  const model::Run run = ReadLog(
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    log('CUDA out of memory')\nValueError: "
      "x\n");
  EXPECT_THAT(EventsOf(run, EventKind::kSignature), IsEmpty());
}

TEST(LongestLiteral, LeavesOutWhatNeedNotBeThere) {
  EXPECT_EQ(LongestLiteral("abc"), "abc");
  EXPECT_EQ(LongestLiteral("^Killed$"), "killed");
  EXPECT_EQ(LongestLiteral(R"(failed \(exitcode: -9\))"), "failed (exitcode: -9)");
  EXPECT_EQ(LongestLiteral(R"((CUDA|HIP) out of memory)"), " out of memory");
  EXPECT_EQ(LongestLiteral("errors? for"), "error");
  EXPECT_EQ(LongestLiteral("ab{2,3}cde"), "cde");
  EXPECT_EQ(LongestLiteral(R"(x[^\]]*yz+w)"), "yz");
  EXPECT_EQ(LongestLiteral("a|b"), "");
  EXPECT_EQ(LongestLiteral(R"(\d+ death)"), " death");
}

TEST(HintScanner, StaysSmallEnoughToBeMadeQuickly) { EXPECT_LE(HintScanner::literal_count(), 125U); }

TEST(RunWentOn, IsToldOfErrorsBeforeLaterSteps) {
  const model::Run run = ReadLog("step 1 loss 3\nCUDA out of memory while autotuning\nstep 2 loss 2\n");
  const auto events = EventsOf(run, EventKind::kSignature);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_TRUE(events[0].run_went_on);
}

TEST(RunWentOn, IsNotToldWhenStepsBeginAgain) {
  const model::Run run =
      ReadLog("step 1 loss 3\nstep 2 loss 2\nCUDA out of memory\nstep 1 loss 3\nstep 2 loss 2\nstep 3 loss 1\n");
  EXPECT_FALSE(EventsOf(run, EventKind::kSignature).at(0).run_went_on);
}

TEST(RunWentOn, IsNotToldOfAnUncaughtExceptionBeforeBufferedLines) {
  // Standard output was buffered: its lines were written when the process ended, behind the traceback.
  const model::Run run = ReadLog(
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    main()\n"
      "RuntimeError: CUDA out of memory. Tried to allocate 1 GiB\nstep 1 loss 3\nstep 2 loss 2\nstep 3 loss 1\n");
  for (const model::Event& event : run.events) {
    EXPECT_FALSE(event.run_went_on);
    EXPECT_EQ(event.step, 3) << "the last step made before the process ended";
  }
}

TEST(RunWentOn, IsToldOfAnUncaughtExceptionBeforeMuchMore) {
  std::string text =
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    main()\nOSError: x\n";
  for (int step = 1; step < 1000; ++step) text += "step " + std::to_string(step) + " | loss 2.345 | lr 0.001\n";
  EXPECT_TRUE(EventsOf(ReadLog(text), EventKind::kException).at(0).run_went_on);
}

TEST(RunWentOn, IsNotToldByOneMoreBarBehindATraceback) {
  const model::Run run = ReadLog(
      "\r  0%| | 5/90 [00:01<00:02,  9.00it/s]\nTraceback (most recent call last):\n  File \"a.py\", line 1, in "
      "<module>\n"
      "    main()\nValueError: x\n\r  0%| | 9/90 [00:01<00:02,  9.00it/s]\n");
  EXPECT_FALSE(EventsOf(run, EventKind::kException).at(0).run_went_on);
}

TEST(FailureTable, GivesRankAndExitCodeOfTheRootCause) {
  const model::Run run = ReadLog(
      "Failures:\n[1]:\n  rank      : 1 (local_rank: 1)\n  exitcode  : -15 (pid: 14)\n---\n"
      "Root Cause (first observed failure):\n[0]:\n  time      : 2026-04-19_20:44:12\n  host      : a75f\n"
      "  rank      : 6 (local_rank: 6)\n  exitcode  : -9 (pid: 2423)\n  error_file: <N/A>\n====\n");
  const auto events = EventsOf(run, EventKind::kExit);
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].name, "-9");
  EXPECT_EQ(events[0].rank, 6);
  EXPECT_EQ(events[0].text, "rank 6 on a75f ended with exit code -9 (SIGKILL)");
}

TEST(Notices, TellCheckpointsAndRestarts) {
  const model::Run run =
      ReadLog("step 5 loss 2\nSaving model checkpoint to out/checkpoint-5\nResuming training from out\n");
  ASSERT_THAT(EventsOf(run, EventKind::kCheckpoint), SizeIs(1));
  EXPECT_EQ(EventsOf(run, EventKind::kCheckpoint)[0].step, 5);
  EXPECT_THAT(EventsOf(run, EventKind::kResume), SizeIs(1));
}

}  // namespace
}  // namespace vigil::import::log
