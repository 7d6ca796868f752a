// Further lines that people meet, and the signature each must carry.
#pragma once

#include <string_view>

namespace vigil::textlog {

struct Message {
  std::string_view id;
  std::string_view line;
};

constexpr Message kFurtherMessages[] = {
    // ends of processes
    {"log/deepspeed-exit-7", "Bus error (core dumped)"},
    {"log/deepspeed-exit-7", "Fatal Python error: Bus error"},
    {"log/deepspeed-exit-7", "run.sh: line 3: 77 Bus error               (core dumped) python train.py"},
    {"log/segfault", "[node1:12345] Signal: Segmentation fault (11)"},
    {"log/segfault", "[node1:1234:0:1234] Caught signal 11 (Segmentation fault: address not mapped to object at 0x8)"},
    {"log/segfault", "[12.3] python[1234]: segfault at 7f00 ip 00007f11 sp 00007ffd error 4 in libcuda.so"},
    {"log/abort", "free(): invalid pointer"},
    {"log/abort", "*** stack smashing detected ***: terminated"},
    {"log/abort", "malloc(): corrupted top size"},
    {"log/illegal-instruction", "Fatal Python error: Illegal instruction"},
    {"log/killed-signal", "Killed: 9"},
    {"log/child-failed",
     "[2024-05-01] [INFO] [launch.py:319:sigkill_handler] python train.py exits with return code = 1"},
    {"log/child-failed", "Warning  BackOff  2m  kubelet  Back-off restarting failed container"},
    {"log/time-limit", "Job was active longer than specified deadline"},
    {"log/time-limit", "CPU time limit exceeded (core dumped)"},
    {"log/node-failed", "The node had condition: [DiskPressure]. "},
    // devices
    {"log/xid-application", "NVRM: Xid (PCI:0000:3b:00): 31, pid=1234, name=python, Ch 00000010, MMU Fault"},
    {"log/xid-informational", "NVRM: Xid (PCI:0000:3b:00): 45, pid=1234, name=python, Ch 00000010"},
    {"log/xid-other", "NVRM: Xid (PCI:0000:3b:00): 999, something new"},
    {"log/gpu-fault", "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."},
    {"log/gpu-fault", "amdgpu 0000:43:00.0: amdgpu: GPU reset begin!"},
    {"log/gpu-fault", "mce: [Hardware Error]: CPU 12: Machine Check: 0 Bank 5: be00000000800400"},
    {"log/nvlink-fault", "nvidia-nvswitch3: SXid (PCI:0000:a9:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"},
    {"log/rocm-fault",
     "Memory access fault by GPU node-1 (Agent handle: 0x55d0) on address 0x7f0000. Reason: Page not present or "
     "supervisor privilege."},
    {"log/rocm-fault", "Queue error - HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception"},
    {"log/driver-mismatch", "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!"},
    {"log/driver-mismatch",
     "NVIDIA H100 PCIe with CUDA capability sm_90 is not compatible with the current PyTorch installation."},
    {"log/no-gpu-driver",
     "docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]]."},
    {"log/no-gpu-driver",
     "RuntimeError: Unable to initialize backend 'cuda': FAILED_PRECONDITION: No visible GPU devices."},
    {"log/no-gpu-driver", "ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!"},
    {"log/cublas-failure",
     "RuntimeError: cusolver error: CUSOLVER_STATUS_INTERNAL_ERROR, when calling `cusolverDnCreate`"},
    {"log/cublas-failure", "RuntimeError: cuFFT error: CUFFT_INTERNAL_ERROR"},
    {"log/cublas-failure", "nvrtc: error: failed to open libnvrtc-builtins.so.12.1"},
    {"log/cudnn-engine", "RuntimeError: GET was unable to find an engine to execute this computation"},
    {"log/cuda-graph", "RuntimeError: CUDA error: operation not permitted when stream is capturing"},
    {"log/kernel-stall", "INFO: task python:1234 blocked for more than 120 seconds."},
    {"log/cuda-oom", "node1:12:34 [0] include/alloc.h:178 NCCL WARN Cuda failure 2 'out of memory'"},
    {"log/cuda-oom", "Failed: Cuda failure 2 'out of memory'"},
    // numbers
    {"log/sampling-not-finite", "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0"},
    {"log/sampling-not-finite",
     "ValueError: Expected parameter logits (Tensor of shape (8, 4)) of distribution Categorical to satisfy the "
     "constraint IndependentConstraint(Real(), 1), but found invalid values:"},
    {"log/loss-scale-minimum",
     "FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding."},
    {"log/grad-non-finite", "Detected nan/inf grad_norm in step 120, skipping update"},
    {"log/grad-non-finite", "WARN: rank 3 grad_norm is not finite: nan"},
    {"log/grad-non-finite",
     "RuntimeError: The total norm of order 2.0 for gradients from `parameters` is non-finite, so it cannot be "
     "clipped."},
    {"log/anomaly-nan", "FloatingPointError: invalid value (nan) encountered in jit(train_step)"},
    {"log/loss-watchdog", "ValueError: Unexpected result nan (message='found NaN in local forward loss calculation')"},
    {"log/index-out-of-range", "IndexError: index 32000 is out of bounds for dimension 0 with size 32000"},
    // communication
    {"log/nccl-setup-lost",
     "torch.distributed.DistBackendError: [1] is setting up NCCL communicator and retrieving ncclUniqueId from [0] via "
     "c10d key-value store by key '0', but store->get('0') got error: Connection reset by peer"},
    {"log/nccl-nvls",
     "node1:12:34 [0] transport/nvls.cc:226 NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory of size "
     "2097152"},
    {"log/nccl-ib", "node1:1:1 [0] nccl_net_ofi_rdma.c:99 NCCL WARN NET/OFI Request 0x7f completed with error"},
    {"log/no-process-group",
     "ValueError: Default process group has not been initialized, please make sure to call init_process_group."},
    {"log/no-process-group",
     "ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable MASTER_ADDR "
     "expected, but not set"},
    {"log/backend-device", "RuntimeError: No backend type associated with device type cpu"},
    {"log/backend-device", "RuntimeError: Distributed package doesn't have NCCL built in"},
    {"log/ssh", "ssh: connect to host worker-1 port 22: Connection refused"},
    {"log/ssh", "Host key verification failed."},
    {"log/srun-failed", "pdsh@n1: n2: ssh exited with exit code 1"},
    {"log/rendezvous-timeout",
     "torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of (10.0.0.1, "
     "29500)."},
    {"log/jax-coordination",
     "F1115 coordination_service_agent.cc:10] Terminating process because the JAX distributed service detected fatal "
     "errors."},
    {"log/tpu-fault", "jax.errors.JaxRuntimeError: INTERNAL: stream did not block host until done"},
    {"log/xla-oom", "jax.errors.JaxRuntimeError: RESOURCE_EXHAUSTED: Out of memory allocating 123 bytes."},
    // samplers, Ray
    {"log/rollout-server",
     "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"},
    {"log/rollout-server", "Exception: WorkerProc initialization failed due to an exception in a background process."},
    {"log/vllm-kv-cache", "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."},
    {"log/ray-object-store", "ray.exceptions.ObjectStoreFullError: Failed to put object 00ff in object store"},
    {"log/ray-environment", "ray.exceptions.RuntimeEnvSetupError: Failed to set up runtime environment."},
    {"log/ray-environment",
     "ConnectionError: Could not find any running Ray instance. Please specify the one to "
     "connect to by setting `--address` flag"},
    {"log/ray-actor-died",
     "A worker died or was killed while executing a task by an unexpected system error. To troubleshoot"},
    {"log/ray-resources",
     "(autoscaler +1m2s) Error: No available node types can fulfill resource request {'GPU': 16.0}."},
    {"log/host-oom-kill", "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory."},
    // hub and data
    {"log/hub-rate-limit",
     "urllib3.exceptions.MaxRetryError: HTTPSConnectionPool(host='huggingface.co'): Max retries "
     "exceeded"},
    {"log/hub-access", "huggingface_hub.errors.OfflineModeIsEnabled: Cannot reach https://huggingface.co/api"},
    {"log/hub-access",
     "OSError: my/model does not appear to have a file named config.json. Checkout 'https://huggingface.co/my/model'"},
    {"log/hub-access", "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name'"},
    {"log/dataset-config", "ValueError: BuilderConfig 'en' not found. Available: ['default']"},
    {"log/dataset-config", "ValueError: Unknown split \"train\". Should be one of ['test']."},
    {"log/dataset-config", "RuntimeError: Dataset scripts are no longer supported, but found wikipedia.py"},
    {"log/dataset-broken", "OSError: Consistency check failed: file should be of size 4976698672 but has size 1200"},
    {"log/dataset-broken", "PIL.UnidentifiedImageError: cannot identify image file <_io.BytesIO object>"},
    {"log/dataset-broken", "tarfile.ReadError: unexpected end of data"},
    {"log/dataset-columns",
     "ValueError: The model did not return a loss from the inputs, only the following keys: logits."},
    {"log/empty-dataset", "AssertionError: no samples left to consume: 1000, 1000"},
    // settings and versions
    {"log/fork-cuda",
     "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the "
     "'spawn' start method"},
    {"log/pickle", "AttributeError: Can't pickle local object 'main.<locals>.collate'"},
    {"log/pickle", "TypeError: cannot pickle '_thread.lock' object"},
    {"log/shared-tensors",
     "RuntimeError: Some tensors share memory, this will lead to duplicate memory on disk and potential differences"},
    {"log/zero-reduced-twice",
     "AssertionError: The parameter 447 has already been reduced. Gradient computed twice for this partition."},
    {"log/zero-reduced-twice",
     "AssertionError: no_sync context manager is incompatible with gradient partitioning logic of ZeRO stage 3"},
    {"log/resume-mismatch", "RuntimeError: Missing key in checkpoint state_dict: lr_scheduler."},
    {"log/quantised-training", "ValueError: `.to` is not supported for `4-bit` or `8-bit` bitsandbytes models."},
    {"log/config-rejected",
     "ValueError: --load_best_model_at_end requires the save and eval strategy to match, but found"},
    {"log/config-rejected",
     "lightning.fabric.utilities.exceptions.MisconfigurationException: No supported gpu backend"},
    {"log/config-rejected", "1 validation error for AxolotlInputConfig"},
    {"log/tensor-mismatch",
     "RuntimeError: aten.mul.Tensor: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor"},
    {"log/code-error", "jax.errors.TracerBoolConversionError: Attempted boolean conversion of traced array"},
    {"log/deepspeed-build", "ninja: build stopped: subcommand failed."},
    {"log/tokenizer-load", "ValueError: Tokenizer class Foo2Tokenizer does not exist or is not currently imported."},
    // clusters
    {"log/slurm-refused", "srun: error: Unable to create step for job 12: More processors requested than permitted"},
    {"log/slurm-refused",
     "sbatch: error: Batch job submission failed: Invalid account or account/partition combination"},
    {"log/kubernetes-pending",
     "Warning  FailedScheduling  2m  default-scheduler  0/12 nodes are available: 12 Insufficient nvidia.com/gpu."},
    {"log/kubernetes-pending", "Error: ImagePullBackOff"},
    {"log/command-missing", "run.sh: line 3: torchrun: command not found"},
    {"log/file-not-found", "slurmstepd: error: execve(): python: No such file or directory"},
    {"log/s3-io", "LustreError: 12:0:(client.c:3067) @@@ timeout"},
    {"log/disk-full", "OSError: [Errno 122] Disk quota exceeded"},
};

}  // namespace vigil::textlog
