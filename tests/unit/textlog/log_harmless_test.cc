// Lines that speak of errors although nothing failed, as trainers, launchers, libraries and models print them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "log_support.h"
#include "textlog/mention.h"

namespace vigil::textlog {
namespace {

using model::EventKind;
using testing::IsEmpty;

constexpr std::string_view kHarmless[] = {
    // PyTorch and its launcher
    "[rank0]:[W1115 16:12:09.000000 ProcessGroupNCCL.cpp:1496] Warning: WARNING: destroy_process_group() was not "
    "called "
    "before program exit, which can leak resources.",
    "[rank0]:[W1115 ProcessGroupNCCL.cpp:4115] [PG ID 0 PG GUID 0 Rank 0]  using GPU 0 to perform barrier as devices "
    "used by this process are currently unknown. This can potentially cause a hang if this rank to GPU mapping is "
    "incorrect.",
    "W1115 10:00:00.000000 140 torch/distributed/run.py:792] Setting OMP_NUM_THREADS environment variable for each "
    "process to be 1 in default, to avoid your system being overloaded",
    "[W socket.cpp:663] [c10d] The client socket has failed to connect to [localhost]:29500 (errno: 97 - Address "
    "family "
    "not supported by protocol).",
    "[W socket.cpp:663] [c10d] The client socket has failed to connect to [node0]:29500 (errno: 111 - Connection "
    "refused).",
    "[W1115 socket.cpp:464] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in "
    "use).",
    "INFO:torch.distributed.elastic.agent.server.api:[default] Starting worker group",
    "[Gloo] Rank 0 is connected to 7 peer ranks. Expected number of connected peer ranks is : 7",
    "No CUDA runtime is found, using CUDA_HOME='/usr/local/cuda'",
    "/usr/lib/python3/site-packages/torchvision/io/image.py:13: UserWarning: Failed to load image Python extension: "
    "'image.so: undefined symbol: _ZN3c1017RegisterOperatorsD1Ev'If you don't plan on using image functionality",
    "Elastic agent: restart_count=0 max_restarts=3",
    "Retrying rendezvous (1/10)",
    "torch.cuda.OutOfMemoryError handler installed",
    "If you encounter CUDA out of memory, reduce per_device_train_batch_size",
    "Using auto batch size finder; will retry on CUDA out of memory",
    "max_split_size_mb set to avoid out of memory errors",
    "Tip: a smaller micro batch avoids CUDA out of memory",
    "Checking for out of memory conditions... none",
    "WARNING:torch._dynamo.convert_frame:torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised, falling "
    "back to eager",
    "CUDA error handling enabled",
    "expected all tensors on the same device check: OK",
    // NCCL
    "timeout set to 1800s for NCCL process group",
    "Setting NCCL_TIMEOUT=1800, TORCH_NCCL_ASYNC_ERROR_HANDLING=1",
    "node1:12:34 [0] NCCL INFO cudaDriverVersion 12020",
    "node1:12:34 [0] NCCL INFO Connected all rings",
    "node1:12:34 [0] NCCL INFO [Service thread] Connection closed by localRank 3",
    "node1:12:34 [0] NCCL INFO comm 0x7f rank 0 nranks 8 cudaDev 0 busId 1b000 - Abort COMPLETE",
    "node1:12:34 [0] NCCL INFO comm 0x7f rank 0 nranks 8 cudaDev 0 busId 1b000 - Destroy COMPLETE",
    "node1:12:34 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; no fatal error seen",
    "node1:12:34 [0] NCCL INFO NCCL_IGNORE_DISABLED_P2P: ncclSystemError is not raised",
    // DeepSpeed, Megatron, TensorFlow, JAX
    "[WARNING] async_io requires the dev libaio .so object and headers but these were not found.",
    " [WARNING]  Please specify the CUTLASS repo directory as environment variable $CUTLASS_PATH",
    " [WARNING]  sparse_attn requires a torch version >= 1.5 and < 2.0 but detected 2.3",
    "[2024-05-01 10:00:00,000] [WARNING] [real_accelerator.py:162] Unable to import Torch distributed; error ignored",
    "WARNING: could not find the metadata file checkpoints/latest_checkpointed_iteration.txt",
    "    will not load any checkpoints and will start from random",
    "2024-01-01 00:00:00 E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register cuDNN "
    "factory: Attempting to register factory for plugin cuDNN when one has already been registered",
    "2024-01-01 00:00:00 W tensorflow/compiler/tf2tensorrt/utils/py_utils.cc:38] TF-TRT Warning: Could not find "
    "TensorRT",
    "INFO:jax._src.xla_bridge:Unable to initialize backend 'tpu': INTERNAL: Failed to open libtpu.so: libtpu.so: "
    "cannot open shared object file: No such file or directory",
    "WARNING:jax._src.xla_bridge:An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not "
    "installed. Falling back to cpu.",
    "libibverbs: Warning: couldn't load driver 'libbnxt_re-rdmav34.so': libbnxt_re-rdmav34.so: cannot open shared "
    "object file: No such file or directory",
    // Hugging Face
    "The tokenizer you are loading has pad_token but token not found in vocabulary, using eos",
    "Some weights of BertForSequenceClassification were not initialized from the model checkpoint",
    "- classifier.weight: found shape torch.Size([1000, 768]) in the checkpoint and torch.Size([10, 768]) in the model "
    "instantiated",
    "There were missing keys in the checkpoint model loaded: ['lm_head.weight'].",
    "<All keys matched successfully>; _IncompatibleKeys(missing_keys=[], unexpected_keys=[])",
    "Token indices sequence length is longer than the specified maximum sequence length for this model (5000 > 4096). "
    "Running this sequence through the model will result in indexing errors",
    "huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling "
    "parallelism to avoid deadlocks...",
    "HTTPSConnectionPool(host='huggingface.co', port=443): Read timed out. Retrying in 1s [Retry 1/5].",
    "HTTPSConnectionPool(host='huggingface.co', port=443): Max retries exceeded with url: /api; retrying (2/5)",
    "HTTP Error 429 thrown while requesting HEAD https://huggingface.co/a/b/resolve/main/config.json",
    "Using the latest cached version of the dataset since wikitext couldn't be found on the Hugging Face Hub",
    "Couldn't find a cached version, downloading",
    "Download failed, retrying (1/5): Connection reset by peer",
    "ModelArguments: ignore_mismatched_sizes=False token=None trust_remote_code=False",
    "lm_head.weight local shape torch.Size([0]) under ZeRO-3",
    "WARNING skipping line 12: JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
    "Could not locate the best model at out/checkpoint-500/pytorch_model.bin, if you are running a distributed "
    "training",
    "WARNING:datasets.load:Using the latest cached version of the module from /cache/modules since it couldn't be "
    "found "
    "locally at stas/openwebtext-10k, or remotely (OfflineModeIsEnabled).",
    // packages that are not needed
    "The module name xyz is not installed; falling back to eager (flash-attn optional)",
    "FlashAttention2 is not installed, using sdpa",
    "flash_attn is not installed, attention is slower",
    "xformers not found, continuing without it",
    "apex is not installed",
    "No module named 'apex' - using torch.optim instead",
    "Warning: No module named 'triton'",
    "ImportError: flash_attn not available, falling back",
    "Note: the 8-bit optimizer requires bitsandbytes",
    "Could not load library libcudnn_cnn_infer.so.8, falling back",
    // trackers
    "wandb: WARNING Symlinked 0 file into the W&B run directory, call wandb.save again to sync new files.",
    "wandb: ERROR Failed to detect the name of this notebook, you can set it manually with the WANDB_NOTEBOOK_NAME "
    "environment variable to enable code saving.",
    "wandb: Network error (ConnectTimeout), entering retry loop.",
    "Connection to tracker closed cleanly",
    // counts, checks and settings
    "INFO: No errors found in dataset",
    "Error rate: 0.0%",
    "eval/word_error_rate: 0.123",
    "Invalid token ids: 0",
    "0 validation errors for train split",
    "404 pages crawled; not found: 0",
    "Aborted requests: 0",
    "num aborted generations: 3",
    "NaN check: 0 errors found",
    "Max gradient mismatch across ranks: 0.0",
    "val split: size mismatch 0 samples",
    "Permission denied samples filtered: 0",
    "Too many open files limit: 65536",
    "No space left check: 120 GB free",
    "disk quota exceeded: false",
    "Disk quota exceeded: false",
    "oom_kill 0",
    "\"OOMKilled\": false,",
    "Interrupt handler installed; press Ctrl-C to save",
    "Received SIGTERM handler registration",
    "Received signal 10 (SIGUSR1): saving checkpoint",
    "Spot interruption handler enabled",
    "Initializing weight update group with timeout 600s",
    "vocabulary: gated repos: 0",
    "skipping corrupted sample 12: cannot identify image file",
    "traceback disabled",
    "Expected to finish in 3 hours",
    // the end of processes that ended well
    "exit code 0",
    "Process exited with code 0",
    "Child process 12 exited with code 0",
    "slurmstepd: info: task 0 exited",
    "Killed 3 stale processes on port 29500 before start",
    // checkpoints that need not be there
    "Checkpoint not found at out/ckpt, starting from scratch",
    "No checkpoint found in output dir, training from scratch",
    "Resume checkpoint does not exist; starting new run",
    "[WARNING] cache entry unreadable (FileNotFoundError: [Errno 2] No such file or directory: 'x'), rebuilt",
    // devices
    "Xid check: none",
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module",
    "ECC errors: 0",
    "Volatile uncorrectable ECC errors : 0",
    "GPU 0: SXid errors 0",
    "thermal throttling: none",
    "GPU thermal throttling: none",
    "        SW Thermal Slowdown : Not Active",
    "        HW Thermal Slowdown : Not Active",
    // source code, and words of it
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
    // texts that a model wrote or read
    "Answer: the process was Killed by the king, who had no such file or directory of knights.",
    "Sample 3: \"Traceback is a word; RuntimeError: is an exception in Python\"",
    "generated: Segmentation fault (core dumped) occurs when a program accesses invalid memory",
    "completion: FileNotFoundError: [Errno 2] No such file or directory: 'foo.txt' means that the file is missing",
    "prompt: fix this code: ValueError: invalid literal for int() with base 10",
    "[Question 12]: why do I see CUDA out of memory. Tried to allocate 2.00 GiB?",
    "{\"role\": \"user\", \"content\": \"RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB\"}",
    "\xE2\x94\x82 Explain this error: PermissionError: [Errno 13] Permission denied \xE2\x94\x82 0.5 \xE2\x94\x82",
};

TEST(Signatures, AreNoneInHarmlessLines) {
  for (const std::string_view line : kHarmless) {
    for (const model::Event& event : EventsOf(ReadLog(std::string(line) + "\n"), EventKind::kSignature))
      ADD_FAILURE() << event.name << ": " << line;
  }
}

TEST(Signatures, AreNoneInAHealthyRunFullOfHarmlessLines) {
  std::string text;
  int step = 0;
  for (const std::string_view line : kHarmless) {
    text += "step " + std::to_string(++step) + " | loss 2.5 | lr 1e-4\n";
    text += std::string(line) + "\n";
  }
  text += "Training complete\n";
  for (const bool use_hints : {true, false}) {
    const model::Run run = ReadLog(text, 0, use_hints);
    EXPECT_THAT(EventsOf(run, EventKind::kSignature), IsEmpty());
    EXPECT_THAT(EventsOf(run, EventKind::kException), IsEmpty());
  }
}

// A message that was only mentioned before counts where it happens.
TEST(Signatures, AreFoundWhereTheSameWordsAreMeant) {
  constexpr std::string_view kMeant[] = {
      "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB. If reserved memory is large try setting "
      "max_split_size_mb to avoid fragmentation.",
      "Segmentation fault (core dumped)",
      "run.sh: line 5: 12345 Segmentation fault      (core dumped) python train.py",
      "[ERROR] FileNotFoundError: [Errno 2] No such file or directory: 'data/train.bin'",
      "Could not load library libcudnn_cnn_infer.so.8. Error: libnvrtc.so: cannot open shared object file",
      "[E socket.cpp:511] [c10d] The server socket has failed to listen on any local network address.",
      "OSError: [Errno 24] Too many open files",
  };
  for (const std::string_view line : kMeant)
    EXPECT_EQ(EventsOf(ReadLog(std::string(line) + "\n"), EventKind::kSignature).size(), 1U) << line;
}

struct Xid {
  int number;
  std::string_view row;
};

TEST(Signatures, DistinguishFaultyHardwareFromFaultyProgramsByTheXid) {
  constexpr Xid kXids[] = {
      {48, "log/gpu-fault"},         {62, "log/gpu-fault"},          {64, "log/gpu-fault"},
      {74, "log/gpu-fault"},         {79, "log/gpu-fault"},          {94, "log/gpu-fault"},
      {95, "log/gpu-fault"},         {119, "log/gpu-fault"},         {140, "log/gpu-fault"},
      {13, "log/xid-application"},   {31, "log/xid-application"},    {43, "log/xid-application"},
      {69, "log/xid-application"},   {109, "log/xid-application"},   {45, "log/xid-informational"},
      {63, "log/xid-informational"}, {154, "log/xid-informational"}, {777, "log/xid-other"},
  };
  for (const Xid& xid : kXids) {
    const std::string line =
        "[12.3] NVRM: Xid (PCI:0000:3b:00): " + std::to_string(xid.number) + ", pid=1234, name=python, Ch 00000008\n";
    const auto events = EventsOf(ReadLog(line), EventKind::kSignature);
    ASSERT_EQ(events.size(), 1U) << line;
    EXPECT_EQ(events[0].name, xid.row) << line;
  }
}

TEST(IsOnlyMentioned, LooksAtWhatStandsAroundTheMessage) {
  const auto mentioned = [](std::string_view text, std::string_view message) {
    const std::size_t at = text.find(message);
    return IsOnlyMentioned(text, at, at + message.size());
  };
  EXPECT_TRUE(mentioned("If you see CUDA error: x, do y", "CUDA error: "));
  EXPECT_FALSE(mentioned("CUDA error: x. If you see this, do y", "CUDA error: "));
  EXPECT_TRUE(mentioned("Disk quota exceeded = 0", "Disk quota exceeded"));
  EXPECT_FALSE(mentioned("Disk quota exceeded", "Disk quota exceeded"));
  EXPECT_TRUE(mentioned("completion[0] = Segmentation fault", "Segmentation fault"));
  EXPECT_FALSE(mentioned("completion failed: Segmentation fault", "Segmentation fault"));
  EXPECT_FALSE(mentioned("", ""));
}

}  // namespace
}  // namespace vigil::textlog
