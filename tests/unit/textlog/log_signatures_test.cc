// Known error messages: found where they are meant, and nowhere else.
// Tracebacks, error messages and exit codes in logs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include "log_messages.h"
#include "log_support.h"
#include "textlog/hints.h"
#include "textlog/signatures.h"

namespace vigil::textlog {
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

// The lines that people meet, and the signature each must carry.
const Message kMessages[] = {
    {"log/failed-exit", "exit status 3"},
    {"log/loss-not-finite", "step 200: loss is nan, skipping batch"},
    {"log/loss-not-finite", "WARNING: non-finite loss detected at step 200, skipping update"},
    {"log/loss-not-finite", "Batch 120: Invalid loss, terminating training"},
    {"log/loss-not-finite", "FloatingPointError: Loss became infinite or NaN at iteration=120!"},
    {"log/loss-not-finite", "ValueError: The loss returned in `training_step` is nan."},
    {"log/loss-not-finite", "AssertionError: loss is NaN at step 120"},
    {"log/loss-not-finite", "NaN detected in loss at iteration 40"},
    {"log/gradients-skipped", "WARNING: NaN or Inf found in gradients, skipping step"},
    {"log/nan-in-summary", "NaN or Inf found in input tensor."},
    {"log/cuda-oom",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. GPU 0 has a total capacity"},
    {"log/cuda-oom", "RuntimeError: CUDA error: out of memory"},
    {"log/xla-oom",
     "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1 bytes"},
    {"log/xla-oom",
     "tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[32,512]"},
    {"log/cuda-oom-other-process",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 128.00 MiB. GPU 1 has a total capacity of 79.19 "
     "GiB of "
     "which 41.50 MiB is free. Process 3300267 has 74.86 GiB memory in use. Process 3646427 has 4.28 GiB memory in "
     "use. Of "
     "the allocated memory 2.69 GiB is allocated by PyTorch, and 50.24 MiB is reserved by PyTorch but unallocated."},
    {"log/cuda-oom-other-process",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 200.00 MiB. GPU 4 has a total capacity of 178.35 "
     "GiB "
     "of which 127.44 MiB is free. Process 3052282 has 124.32 GiB memory in use. Including non-PyTorch memory, this "
     "process "
     "has 53.88 GiB memory in use. Of the allocated memory 52.18 GiB is allocated by PyTorch, and 34.97 MiB is "
     "reserved by "
     "PyTorch but unallocated."},
    {"log/cuda-oom-other-process",
     "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB (GPU 0; 79.33 GiB total capacity; "
     "27.16 "
     "GiB already allocated; 244.44 MiB free; 31.59 GiB reserved in total by PyTorch) If reserved memory is >> "
     "allocated"},
    // Within a container the process sees itself under a number that it does not know.
    {"log/cuda-oom",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB "
     "of "
     "which 1.20 GiB is free. Process 4411 has 77.90 GiB memory in use. Of the allocated memory 74.10 GiB is allocated "
     "by "
     "PyTorch, and 1.40 GiB is reserved by PyTorch but unallocated."},
    {"log/cuda-oom-fragmented",
     "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.11 GiB "
     "of "
     "which 1.20 GiB is free. Including non-PyTorch memory, this process has 77.90 GiB memory in use. Of the allocated "
     "memory 39.10 GiB is allocated by PyTorch, and 36.40 GiB is reserved by PyTorch but unallocated."},
    {"log/cuda-oom-fragmented",
     "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 15.78 GiB total capacity; 10.36 GiB "
     "already "
     "allocated; 19.44 MiB free; 14.42 GiB reserved in total by PyTorch)"},
    {"log/cuda-oom-evaluation", "[train.py] CUDA out of memory during evaluation, skipping it"},
    {"log/cuda-oom-saving", "RuntimeError: CUDA out of memory while gathering the full state dict"},
    {"log/cuda-oom-optimizer", "RuntimeError: CUDA out of memory while initializing optimizer states"},
    {"log/dataloader-oom", "RuntimeError: DataLoader worker (pid 8812) is killed by signal: Killed. "},
    {"log/dataloader-killed", "RuntimeError: DataLoader worker (pid 8812) is killed by signal: Segmentation fault. "},
    {"log/shared-memory-full",
     "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm)."},
    {"log/abort", "E0522 18:53:25.569000 1002795 api.py:988] failed (exitcode: -6) local_rank: 6 (pid: 1005501)"},
    {"log/empty-dataset", "StopIteration"},
    {"log/code-error", "NameError: name 'tokenizer' is not defined"},
    {"log/code-error", "AttributeError: 'NoneType' object has no attribute 'shape'"},
    {"log/code-error", "TypeError: forward() missing 1 required positional argument: 'labels'"},
    {"log/hub-gated",
     "OSError: You are trying to access a gated repo. Make sure to have access to it at https://huggingface.co/a/b."},
    {"log/hub-gated", "huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-2;3)"},
    {"log/hub-gated",
     "requests.exceptions.HTTPError: 401 Client Error: Unauthorized for url: https://huggingface.co/a/b/x.json"},
    {"log/hub-access", "huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error. (Request ID: Root=1-2)"},
    {"log/tensor-shapes", "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x512 and 768x10)"},
    {"log/tensor-shapes", "RuntimeError: shape '[8, -1, 64]' is invalid for input of size 1000"},
    {"log/tensor-shapes",
     "RuntimeError: The size of tensor a (512) must match the size of tensor b (514) at non-singleton dimension 1"},
    {"log/tensor-mismatch",
     "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"},
    {"log/killed-signal",
     "E0419 20:44:13 2341 api.py:869] failed (exitcode: -9) local_rank: 0 (pid: 2423) of binary: python"},
    {"log/killed-signal", "[INFO] [launch.py:319:sigkill_handler] python train.py exits with return code = -9"},
    {"log/host-oom-kill",
     "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0. Some of the step tasks have been OOM Killed."},
    {"log/killed-signal", "run.sh: line 3:  2423 Killed                  python train.py"},
    {"log/killed-signal", "Container exited with exit code 137"},
    {"log/host-oom-kill", "[12345.6] Out of memory: Killed process 2423 (python) total-vm:1234kB"},
    {"log/host-oom-kill", "Last State: Terminated  Reason: OOMKilled  Exit Code: 137"},
    {"log/segfault", "Job failed: Exit status 139"},
    {"log/host-alloc",
     "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory"},
    {"log/host-alloc", "MemoryError"},
    {"log/host-alloc",
     "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 3.00 TiB for an array with shape (1,)"},
    {"log/shared-memory-full",
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
    {"log/rank-killed", "vigil gym: rank 3 was killed by signal 9"},
    {"log/collective-timeout", "all-reduce timed out after 5 s: rank 2 did not arrive"},
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
    {"log/vllm-kv-cache",
     "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing "
     "the engine."},
    {"log/vllm-kv-cache",
     "ValueError: Free memory on device (12.3/79.1 GiB) on startup is less than desired GPU memory utilization (0.9, "
     "71.2 GiB)."},
    {"log/shared-memory-full", "RuntimeError: unable to write to file </torch_1234_567>: No space left on device (28)"},
    {"log/shared-memory-full",
     "RuntimeError: unable to mmap 1024 bytes from file </torch_12>: Cannot allocate memory (12)"},
    {"log/pinned-memory", "RuntimeError: Failed to allocate pinned host memory of 8589934592 bytes"},
    {"log/too-many-open-files", "OSError: [Errno 24] Too many open files: '/tmp/pymp-1'"},
    {"log/too-many-open-files", "RuntimeError: received 0 items of ancdata"},
    {"log/cpu-threads", "RuntimeError: can't start new thread"},
    {"log/cpu-threads", "libgomp: Thread creation failed: Resource temporarily unavailable"},
    {"log/gpu-lost",
     "Unable to determine the device handle for GPU0000:3B:00.0: GPU is lost.  Reboot the system to recover this GPU"},
    {"log/gpu-lost", "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable"},
    {"log/nvlink-fault",
     "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 802: CUDA error: system not yet initialized"},
    {"log/thermal", "        HW Thermal Slowdown               : Active"},
    {"log/misaligned-address", "RuntimeError: CUDA error: misaligned address"},
    {"log/invalid-launch", "RuntimeError: CUDA error: invalid device ordinal"},
    {"log/invalid-launch", "RuntimeError: CUDA error: too many resources requested for launch"},
    {"log/mps-unsupported",
     "NotImplementedError: The operator 'aten::linalg_qr.out' is not currently implemented for the MPS device."},
    {"log/tpu-fault", "jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: socket closed"},
    {"log/nccl-watchdog-stuck",
     "[rank3]:[F ProcessGroupNCCL.cpp:1200] [PG 0 Rank 3] ProcessGroupNCCL's watchdog got stuck for 480 seconds "
     "without making progress"},
    {"log/monitored-barrier",
     "RuntimeError: Rank 0 successfully reached monitoredBarrier, but received errors while waiting for send/recv: "
     "rank 1 failed to pass monitoredBarrier in 30000 ms"},
    {"log/nccl-duplicate-gpu",
     "node1:12:34 [0] init.cc:943 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 3b000"},
    {"log/nccl-bootstrap",
     "node1:12:34 [0] misc/socket.cc:456 NCCL WARN socketStartConnect: Connect to 10.0.0.2<41234> failed : Connection "
     "refused"},
    {"log/nccl-bootstrap", "node1:1:1 [0] NCCL WARN Bootstrap : no socket interface found"},
    {"log/nccl-ib",
     "node1:12:34 [0] transport/net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.2<41234> with "
     "status=12 opcode=0 len=0 vendor err 129"},
    {"log/nccl-ib", "node1:12:34 [0] NCCL WARN Call to ibv_modify_qp failed with error Connection timed out"},
    {"log/nccl-net-plugin", "node1:12:34 [0] NCCL INFO NET/IB : No device found."},
    {"log/nccl-shm",
     "node1:12:34 [0] include/shm.h:28 NCCL WARN Call to posix_fallocate failed : No space left on device"},
    {"log/nccl-version", "node1:12:34 [0] bootstrap.cc:80 NCCL WARN Bootstrap Root : mismatched version: rank 3"},
    {"log/nccl-cuda-failure",
     "node1:12:34 [0] enqueue.cc:1000 NCCL WARN Cuda failure 'an illegal memory access was encountered'"},
    {"log/nccl-warn", "node1:12:34 [0] graph/xml.cc:409 NCCL WARN Could not find real path of /sys/class/pci_bus"},
    {"log/desync-report", "Desync debug report:"},
    {"log/desync-report",
     "[Rank 0] To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:"},
    {"log/ddp-mismatch",
     "RuntimeError: DDP expects same model across all ranks, but Rank 1 has 148 params, while rank 0 has inconsistent "
     "150 params."},
    {"log/ddp-marked-twice",
     "RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following reasons"},
    {"log/mpi-abort", "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD"},
    {"log/mpi-abort", "mpirun noticed that process rank 2 with PID 1234 on node n1 exited on signal 9 (Killed)."},
    {"log/ray-actor-died", "ray.exceptions.RayActorError: The actor died unexpectedly before finishing this task."},
    {"log/ray-actor-died",
     "ray.exceptions.ActorDiedError: The actor died because of an error raised in its creation task"},
    {"log/ray-resources", "ValueError: Total available GPUs 4 is less than total desired GPUs 8"},
    {"log/rollout-server",
     "ConnectionError: The vLLM server can't be reached at http://0.0.0.0:8000 after 120 seconds. Make sure the server "
     "is running"},
    {"log/rollout-server", "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue."},
    {"log/worker-exception", "KeyError: Caught KeyError in DataLoader worker process 0."},
    {"log/collate-unequal",
     "RuntimeError: stack expects each tensor to be equal size, but got [12] at entry 0 and [15] at entry 1"},
    {"log/collate-unequal",
     "ValueError: Unable to create tensor, you should probably activate truncation and/or padding with 'padding=True'"},
    {"log/dataset-columns",
     "ValueError: No columns in the dataset match the model's forward method signature: (input_ids, labels)."},
    {"log/dataset-columns", "KeyError: 'messages'"},
    {"log/dataset-broken",
     "datasets.exceptions.DatasetGenerationError: An error occurred while generating the dataset"},
    {"log/dataset-broken", "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)"},
    {"log/chat-template",
     "jinja2.exceptions.TemplateError: Conversation roles must alternate user/assistant/user/assistant/..."},
    {"log/chat-template", "ValueError: Cannot use chat template functions because tokenizer.chat_template is not set"},
    {"log/sequence-too-long",
     "ValueError: This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens"},
    {"log/s3-io", "OSError: [Errno 116] Stale file handle: '/data/train.bin'"},
    {"log/s3-io", "botocore.exceptions.NoCredentialsError: Unable to locate credentials"},
    {"log/s3-io", "OSError: [Errno 5] Input/output error"},
    {"log/checkpoint-corrupt",
     "RuntimeError: PytorchStreamReader failed reading zip archive: failed finding central directory"},
    {"log/checkpoint-corrupt", "_pickle.UnpicklingError: invalid load key, 'v'."},
    {"log/checkpoint-corrupt", "safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge"},
    {"log/weights-only", "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded"},
    {"log/resume-nothing", "ValueError: No valid checkpoint found in output directory (out/run)"},
    {"log/resume-nothing", "ValueError: Can't find a valid checkpoint at out/checkpoint-500"},
    {"log/resume-mismatch", "ValueError: loaded state dict has a different number of parameter groups"},
    {"log/resume-mismatch",
     "RuntimeError: The checkpoint being loaded used a DP world size of 8 but the current world size is 4."},
    {"log/permission", "PermissionError: [Errno 13] Permission denied: '/root/.cache'"},
    {"log/hub-rate-limit", "huggingface_hub.errors.HfHubHTTPError: 429 Client Error: Too Many Requests for url: x"},
    {"log/hub-rate-limit",
     "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='x', port=443): Max retries exceeded with url: "
     "/api"},
    {"log/trust-remote-code",
     "ValueError: Loading this model requires you to execute the configuration file in that repo"},
    {"log/unknown-architecture",
     "ValueError: The checkpoint you are trying to load has model type `qwen9` but Transformers does not recognize "
     "this architecture."},
    {"log/git-lfs-pointer", "OSError: model.safetensors is a git-lfs pointer, not a model file"},
    {"log/fp16-unscale", "ValueError: Attempting to unscale FP16 gradients."},
    {"log/fp16-unscale", "AssertionError: No inf checks were recorded for this optimizer."},
    {"log/bf16-unsupported",
     "ValueError: Your setup doesn't support bf16/gpu. You need torch>=1.10, using Ampere GPU with cuda>=11.0"},
    {"log/bf16-unsupported", "RuntimeError: \"addmm_impl_cpu_\" not implemented for 'Half'"},
    {"log/flash-attention",
     "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following error"},
    {"log/flash-attention", "RuntimeError: FlashAttention only supports Ampere GPUs or newer."},
    {"log/flash-attention", "RuntimeError: No available kernel.  Aborting execution."},
    {"log/quantised-training",
     "ValueError: You cannot perform fine-tuning on purely quantized models. Please attach trainable adapters"},
    {"log/quantised-training", "CUDA Setup failed despite GPU being available."},
    {"log/lora-targets",
     "ValueError: Target modules {'c_attn'} not found in the base model. Please check the target modules and try "
     "again."},
    {"log/deepspeed-config",
     "AssertionError: Check batch related parameters. train_batch_size is not equal to micro_batch_per_gpu * "
     "gradient_acc_step * world_size 32 != 4 * 1 * 4"},
    {"log/deepspeed-build", "RuntimeError: Error building extension 'fused_adam'"},
    {"log/deepspeed-build",
     "deepspeed.ops.op_builder.builder.CUDAMismatchException: >- DeepSpeed Op Builder: Installed CUDA version 12.4 "
     "does not match the version torch was compiled with 11.8"},
    {"log/deepspeed-build",
     "OSError: CUDA_HOME environment variable is not set. Please set it to your CUDA install root."},
    {"log/zero3-partition", "RuntimeError: still have inflight params [1, 2]"},
    {"log/zero3-partition",
     "RuntimeError: tracing error at step 12: module id: 3, expected the next 2 parameters in the parameter fetch "
     "queue"},
    {"log/fsdp-wrap", "ValueError: Must flatten tensors with uniform dtype but got torch.bfloat16 and torch.float32"},
    {"log/fsdp-wrap", "ValueError: Could not find the transformer layer class LlamaLayer in the model."},
    {"log/meta-tensor", "NotImplementedError: Cannot copy out of meta tensor; no data!"},
    {"log/device-map",
     "ValueError: You can't train a model that has been loaded with `device_map='auto'` in any distributed mode."},
    {"log/batch-indivisible", "AssertionError: 32 is not divisible by 5"},
    {"log/batch-indivisible", "ValueError: hidden_size must be divisible by num_heads (got 100 and 12)."},
    {"log/reward-function", "TypeError: accuracy_reward() missing 1 required positional argument: 'solution'"},
    {"log/loss-watchdog", "Loss is nan, stopping training"},
    {"log/loss-watchdog", "AssertionError: Rank 3: found NaN in local forward loss calculation. Device: 3, node: n1"},
    {"log/grad-none", "RuntimeError: grad can be implicitly created only for scalar outputs"},
    {"log/grad-none",
     "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they "
     "have already been freed)."},
    {"log/scheduler-order",
     "UserWarning: Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later"},
    {"log/wandb-failed",
     "wandb.errors.errors.UsageError: api_key not configured (no-tty). call wandb.login(key=[your_api_key])"},
    {"log/tokenizer-load",
     "Exception: data did not match any variant of untagged enum ModelWrapper at line 1 column 3"},
    {"log/tokenizer-load", "OSError: Can't load tokenizer for 'my/model'. If you were trying to load it from the hub"},
    {"log/numpy-abi",
     "ValueError: numpy.dtype size changed, may indicate binary incompatibility. Expected 96 from C header, got 88 "
     "from PyObject"},
    {"log/glibc", "ImportError: /lib/x86_64-linux-gnu/libstdc++.so.6: version `GLIBCXX_3.4.32' not found"},
    {"log/glibc", "OSError: libcudart.so.12: cannot open shared object file: No such file or directory"},
    {"log/code-error", "NameError: name 'model' is not defined"},
    {"log/syntax", "SyntaxError: invalid syntax"},
    {"log/yaml-config", "yaml.scanner.ScannerError: mapping values are not allowed here"},
    {"log/yaml-config", "hydra.errors.ConfigCompositionException: Could not override 'trainer.foo'."},
    {"log/tensor-parallel",
     "AssertionError: Invalid parallel dims: dp_replicate(2) * dp_shard(4) * cp(1) * tp(2) * pp(1) != WORLD_SIZE(8)"},
    {"log/compile-limit",
     "[rank0]:W1115 torch/_dynamo/convert_frame.py:844] [0/8] torch._dynamo hit config.cache_size_limit (8)"},
    {"log/node-failed",
     "slurmstepd: error: *** JOB 123 ON node7 CANCELLED AT 2024-01-01T00:00:00 DUE TO NODE FAILURE, SEE SLURMCTLD LOG "
     "FOR DETAILS ***"},
    {"log/srun-failed", "srun: error: node1: task 3: Exited with exit code 1"},
    {"log/srun-failed", "srun: Job step aborted: Waiting up to 32 seconds for job step to finish."},
    {"log/illegal-instruction", "Illegal instruction (core dumped)"},
    {"log/illegal-instruction", "failed (exitcode: -4) local_rank: 0 (pid: 12) of binary: python"},
    {"log/floating-point-exception", "Floating point exception (core dumped)"},
    {"log/broken-pipe", "BrokenPipeError: [Errno 32] Broken pipe"},
    {"log/broken-pipe", "ConnectionResetError: [Errno 104] Connection reset by peer"},
    {"log/barrier-after-failure", "[PG 0 Rank 2] Process group watchdog thread terminated with exception: x"},
    {"log/barrier-after-failure", "To avoid data inconsistency, we are taking the entire process down."},
    {"log/grad-scaler-skip", "skipping update due to loss z-score of 12.31"},
    {"log/launcher-retry",
     "INFO:torch.distributed.elastic.agent.server.api:[default] Worker group FAILED. 3/3 attempts left; will restart "
     "worker group"},
    {"log/launcher-abort", "ray.exceptions.RayTaskError(ValueError): ray::main_task() (pid=12, ip=10.0.0.1)"},
    {"log/launcher-abort", "torch.distributed.elastic.rendezvous.api.RendezvousClosedError"},
    {"log/nccl-peer-closed",
     "node1:12:34 [0] misc/socket.cc:58 NCCL WARN socketProgress: Connection closed by remote peer node2<41234>"},
    {"log/collective-given-up", "error: all-reduce was given up in step 70: rank 1 did not arrive"},
    {"log/guard", "guard: step 150: the gradient norm is nan; back to step 120"},
    {"log/guard", "guard: step 21: the loss is nan; 10 bad steps in a row; stopped"},
    {"log/liveness-failed", "NCCL health check failed at step 300, stopping"},
    {"log/faulthandler-timeout", "Timeout (0:00:06)!"},
    {"log/dataloader-timeout", "RuntimeError: DataLoader timed out after 5 seconds"},
    {"log/state-missing", "warning: optimizer state was not found in the checkpoint"},
    {"log/state-missing", "resumed without the optimizer state"},
    {"log/masked-dropped", "Dropping fully masked examples from train dataset: 100%"},
    {"log/gloo-peer-closed",
     "RuntimeError: [gloo/transport/tcp/pair.cc:545] Read error [127.0.0.1]:29602: Connection reset by peer"},
    {"log/host-oom-kill", "job step: process 17464 ended with exitcode -9 (Killed), memory limit 1600 MB"},
    {"log/abort", "  what():  something odd"},
    {"log/nan-in-summary", "WARNING:root:NaN or Inf found in input tensor."},
};

std::vector<Message> AllMessages() {
  std::vector<Message> all(std::begin(kMessages), std::end(kMessages));
  all.insert(all.end(), std::begin(kFurtherMessages), std::end(kFurtherMessages));
  return all;
}

TEST(Signatures, AreFoundInTheLinesPeopleMeet) {
  for (const Message& message : AllMessages()) {
    const model::Run run = ReadLog(std::string(message.line) + "\n");
    EXPECT_THAT(NamesOf(EventsOf(run, EventKind::kSignature)), ElementsAre(std::string(message.id))) << message.line;
  }
}

TEST(Signatures, HoldForEveryRowALineThatCarriesIt) {
  const std::vector<Message> messages = AllMessages();
  for (const catalogue::SignatureRow& row : catalogue::Signatures()) {
    if (row.id == "log/uncaught-exception") continue;
    const bool covered =
        std::any_of(messages.begin(), messages.end(), [&](const Message& message) { return message.id == row.id; });
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

TEST(Signatures, AreNotFoundInTheSourceLinesOfATraceback) {
  const model::Run run = ReadLog(
      "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    log('CUDA out of memory')\nValueError: "
      "x\n");
  EXPECT_THAT(EventsOf(run, EventKind::kSignature), IsEmpty());
}

// Lines of healthy runs that speak of errors, and a healthy run full of them.
constexpr std::string_view kWarnings =
    "UserWarning: Was asked to gather along dimension 0, but all input tensors were scalars\n"
    "FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated. RuntimeError: CUDA out of memory is now raised\n"
    "/usr/lib/python3/torch/utils/data.py:557: UserWarning: This DataLoader will create 8 worker processes in total. "
    "Our suggested max number of worker is 2, DataLoader running slow or even freeze\n"
    "Token indices sequence length is longer than the specified maximum sequence length for this model (1234 > 1024). "
    "Running this sequence through the model will result in indexing errors\n"
    "[W socket.cpp:436] [c10d] The server socket cannot be initialized on [::]:29500 (errno: 97 - Address family not "
    "supported by protocol).\n"
    "[W ProcessGroupNCCL.cpp:1856] Warning: 0NCCL_AVOID_RECORD_STREAMS=1 has no effect for point-to-point collectives\n"
    "2024-01-01 10:00:00.1: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register cuDNN "
    "factory: Attempting to register factory for plugin cuDNN when one has already been registered\n"
    "Could not load dynamic library 'libnvinfer.so.7'; dlerror: libnvinfer.so.7: cannot open shared object file: No "
    "such "
    "file or directory\n"
    "wandb: WARNING Symlinked 0 files into the W&B run directory, call wandb.save again to sync new files.\n"
    "huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling "
    "parallelism to avoid deadlocks...\n"
    "[WARNING] async_io requires the dev libaio .so object and headers but these were not found.\n"
    "Error handling is set to strict; errors: 0; failed: 0; timeouts: 0\n"
    "NCCL_ASYNC_ERROR_HANDLING=1 TORCH_NCCL_TIMEOUT=600\n"
    "node1:12:34 [0] NCCL INFO comm 0x1 rank 0 nranks 8 cudaDev 0 busId 3b000 - Init COMPLETE\n"
    "node1:12:34 [0] NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.\n"
    "The attention mask is not set and cannot be inferred from input because pad token is same as eos token.\n"
    "Setting `pad_token_id` to `eos_token_id` for open-end generation.\n"
    "early stopping: eval_loss did not improve, Stopping training soon if it stays\n"
    "vocab size 50257 is not divisible by 64, padding to 50304\n"
    "Retrying in 1s [Retry 1/5]. HTTP Error 504 thrown while requesting HEAD x\n";

TEST(Signatures, AreNoRootsInAHealthyLogFullOfWarnings) {
  std::string text = "step 1 | loss 2.5 | lr 1e-4\n";
  text += kWarnings;
  text += "step 2 | loss 2.4 | lr 1e-4\n";
  for (const model::Event& event : EventsOf(ReadLog(text), EventKind::kSignature)) {
    const catalogue::SignatureRow* row = catalogue::FindSignature(event.name);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->severity, model::Severity::kInfo) << event.name << ": " << event.text;
  }
}

TEST(Signatures, AreManyAndSayWhereToReadMore) {
  std::size_t patterns = 0;
  for (const catalogue::SignatureRow& row : catalogue::Signatures()) {
    patterns += row.patterns.size();
    EXPECT_TRUE(row.link.starts_with("https://")) << row.id;
    EXPECT_TRUE(row.role == "root" || row.role == "cascade" || row.role == "teardown") << row.id;
  }
  EXPECT_GE(patterns, 800U);
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

TEST(LiteralRuns, AreAllThatEveryMatchHolds) {
  EXPECT_THAT(LiteralRuns("Failed (a|b) with error: \\d+x"), ElementsAre("failed ", " with error: "));
  EXPECT_THAT(LiteralRuns("a|b"), IsEmpty());
}

TEST(HintScanner, IsSilentAboutLinesOfHealthyRanks) {
  HintScanner scanner;
  if (!scanner.works()) GTEST_SKIP() << "no search engine on this machine";
  constexpr std::string_view kLines =
      "[rank3]:[titan] 2026-05-22 18:51:59,123 - root - INFO - Swapped layers.1.weight to MXFP8TrainingWeightWrapper\n"
      "node000:4945:5221 [0] NCCL INFO Channel 01/32 : 1[0] -> 2[0] via P2P/IPC\n"
      "[Rank 3] Starting training on GPU 0 with manager 10.0.0.1, parameters sharded\n";
  std::vector<Hint> hints;
  scanner.Scan(kLines, hints);
  for (const Hint& hint : hints) ADD_FAILURE() << HintScanner::TextOf(hint.literal);
}

TEST(HintScanner, StaysSmallEnoughToBeMadeQuickly) { EXPECT_LE(HintScanner::literal_count(), 400U); }

}  // namespace
}  // namespace vigil::textlog
