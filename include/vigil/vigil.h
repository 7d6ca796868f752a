/*
 * vigil: records a training run from inside the training process. C99; the C++ face is vigil.hpp.
 *
 * A run is recorded into a journal, one file for each rank, which `vigil diagnose FOLDER` reads at any time. Promises:
 *   - any thread may call anything; vigil_series_add and the other calls made every step take some nanoseconds,
 * allocate nothing, and make no system call, but for the first one of a thread in a run, which takes memory for it;
 *   - nothing throws, prints, aborts, takes a lock that is held for long, or waits for a disk, except where said;
 *   - what a call returned VIGIL_OK for survives kill -9 of the process, while survives_kill is set in its status. What
 * comes faster than it is written, and fills the memory of its thread (lane_kib), is refused with VIGIL_FULL and
 * counted;
 *   - what a vigil_run_flush returned VIGIL_OK for survives a loss of power, when sync_interval_ms was given. Without,
 * nothing recorded is promised to;
 *   - when the disk is full, missing, or does not answer for two seconds, the training goes on, the newest values and
 * the first words are kept, and the journal says what is missing;
 *   - misuse gives a code: handles that are zero, closed, forged or inherited through fork() are recognised.
 *
 * Every function returns VIGIL_OK or one of the codes below. It is safe to ignore them: calls on a run that could not
 * be opened do nothing.
 */
#ifndef VIGIL_VIGIL_H
#define VIGIL_VIGIL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define VIGIL_API __attribute__((visibility("default")))
#else
#define VIGIL_API
#endif

/* Codes are never given another meaning; later versions may add some. */
enum {
  VIGIL_OK = 0,
  VIGIL_INVALID = 1, /* an argument that makes no sense, or no handle at all */
  VIGIL_CLOSED = 2,  /* the handle's run was closed */
  VIGIL_FORKED = 3,  /* the handle belongs to the parent process: open a run in the child */
  VIGIL_LIMIT = 4,   /* too many runs (8), series (1,000,000, or 16 MiB of names and labels, with some
                        bytes for each) or bytes */
  VIGIL_IO = 5,      /* the journal could not be created (vigil_last_error() says why), or not be written to its end */
  VIGIL_BUSY = 6,    /* dropped: called in a signal handler that interrupted a record call, or by too many threads */
  VIGIL_TIMEOUT = 7, /* not done in time */
  VIGIL_NO_MEMORY = 8, /* memory or threads are out */
  VIGIL_FULL = 9       /* not recorded: more came at once than there is room for until it is written */
};

VIGIL_API const char* vigil_version(void);
/* What a code means, in words. Never null. */
VIGIL_API const char* vigil_error_text(int code);
/* Why the last vigil_run_open or vigil_guard_open of this thread failed; empty when it did not. Valid until the next.
 */
VIGIL_API const char* vigil_last_error(void);

/* ---- handles: values to copy and pass around. All zero is no handle. */

typedef struct vigil_run {
  uint64_t id;
} vigil_run;
typedef struct vigil_series {
  uint64_t id;
} vigil_series;
typedef struct vigil_tensor {
  uint64_t id;
} vigil_tensor;

/* ---- runs */

typedef struct vigil_run_options {
  uint32_t size; /* sizeof(vigil_run_options): lets later versions add fields */
  int32_t rank;
  int32_t world_size;         /* 0: 1 */
  uint32_t flush_interval_ms; /* how often the journal's file is written; 0: 250 */
  uint32_t
      lane_kib; /* shared memory for each recording thread; 32 bytes hold one scalar until it is written; 0: 2048 */
  uint32_t private_ring; /* not 0: no shared memory; a killed process loses the last flush interval */
  const char* folder;    /* of the run; made when it is not there */
  const char* run_id;    /* equal for all ranks and restarts; null: what is in one folder is one run */
  const char* name;      /* for people; may be null */
  /* not 0: the journal is synced to the disk so often, and by vigil_run_flush and vigil_run_close. What was recorded
   * before then survives a loss of power. The training does not wait for it. 0: left to the operating system. */
  uint32_t sync_interval_ms;
  uint32_t reserved;
} vigil_run_options;

#define VIGIL_RUN_OPTIONS_INIT {sizeof(vigil_run_options), 0, 1, 250, 2048, 0, NULL, NULL, NULL, 0, 0}

/* Starts a thread named vigil-record, with all signals blocked, which opens the journal, and waits for it: ten seconds
 * at most. Another one, vigil-drain, empties what killed processes left in that folder, and ends. */
VIGIL_API int vigil_run_open(const vigil_run_options* options, vigil_run* run);
/* Writes what is left and ends the thread; waits for the disk, some seconds at most. `status` is how the run ended: 0
 * is well. A process that exits without it has its journal closed too, without a status. VIGIL_IO: not all could be
 * written (the disk is full, say); the rest stays in shared memory for `vigil diagnose`. VIGIL_TIMEOUT: it goes on. */
VIGIL_API int vigil_run_close(vigil_run run, int64_t status);
/* Waits until what was recorded before is in the file, and on the disk with sync_interval_ms; at most timeout_ms. For
 * other hosts' eyes; not needed otherwise. VIGIL_IO: the disk reported that it could not keep what was recorded since
 * the flush before. */
VIGIL_API int vigil_run_flush(vigil_run run, uint32_t timeout_ms);

typedef struct vigil_run_status {
  uint32_t size; /* sizeof(vigil_run_status), set by the caller */
  int32_t error; /* errno while the journal cannot be written, else 0 */
  uint64_t written_bytes;
  uint64_t records;       /* in the journal's file */
  uint64_t lost_records;  /* refused (VIGIL_FULL, VIGIL_BUSY), or overwritten while the journal could not be written:
                             in neither the file nor shared memory now */
  uint32_t survives_kill; /* not 0: what is recorded outlives a killed process */
  uint32_t shared_kib;    /* shared memory that it takes: an eighth of /dev/shm at most, all of a user's a quarter */
  uint32_t lane_kib;      /* for each thread: less than asked for where shared memory is small */
  uint32_t reserved;
} vigil_run_status;
VIGIL_API int vigil_run_get_status(vigil_run run, vigil_run_status* status);

/* ---- series of numbers */

enum { VIGIL_AXIS_STEP = 0, VIGIL_AXIS_TOKENS = 1, VIGIL_AXIS_SAMPLES = 2, VIGIL_AXIS_EPOCH = 3, VIGIL_AXIS_TIME = 4 };
enum { VIGIL_VALUE_UNKNOWN = 0, VIGIL_VALUE_INSTANT = 1, VIGIL_VALUE_MEAN = 2 };
enum { VIGIL_CLIP_UNKNOWN = 0, VIGIL_CLIP_BEFORE = 1, VIGIL_CLIP_AFTER = 2 };

typedef struct vigil_label {
  const char* key; /* rank, layer, reward, dataset, task, phase */
  const char* value;
} vigil_label;

typedef struct vigil_series_options {
  uint32_t size;    /* sizeof(vigil_series_options) */
  int32_t axis;     /* what it is counted against */
  int32_t value;    /* whether a value stands for its step or is the mean since the one before */
  int32_t clipping; /* of gradient norms: taken before or after clipping */
  const char* unit;
  const vigil_label* labels;
  uint32_t label_count;
  uint32_t reserved;
} vigil_series_options;

#define VIGIL_SERIES_OPTIONS_INIT {sizeof(vigil_series_options), 0, 0, 0, NULL, NULL, 0, 0}

/* Opens a series, once: the same name and labels give the same handle. Allocates. `options` may be null. Name, unit and
 * labels together have at most 64 KiB. */
VIGIL_API int vigil_series_open(vigil_run run, const char* name, const vigil_series_options* options,
                                vigil_series* series);
/* Records a value, any bits of it. */
VIGIL_API int vigil_series_add(vigil_series series, int64_t step, double value);

/* ---- steps and their phases: durations become the series step_time_s and phase_time_s{phase} */

enum { VIGIL_PHASE_DATA = 0, VIGIL_PHASE_FORWARD = 1, VIGIL_PHASE_BACKWARD = 2, VIGIL_PHASE_OPTIMIZER = 3 };

VIGIL_API int vigil_step_begin(vigil_run run, int64_t step);
VIGIL_API int vigil_step_end(vigil_run run);
/* A phase may begin and end several times in a step; the times add up. */
VIGIL_API int vigil_phase_begin(vigil_run run, int phase);
VIGIL_API int vigil_phase_end(vigil_run run, int phase);

/* ---- statistics of tensors, one row a step: series <what>/norm, <what>/min, ... with the label layer */

typedef struct vigil_tensor_stats {
  double norm;
  double min;
  double max;
  double mean;
  double deviation;
  uint64_t elements;
  uint64_t non_finite;
  uint64_t zeros;
} vigil_tensor_stats;

/* `what` is gradient, parameter, activation, update, or a name of yours. */
VIGIL_API int vigil_tensor_open(vigil_run run, const char* what, const char* layer, vigil_tensor* tensor);
VIGIL_API int vigil_tensor_add(vigil_tensor tensor, int64_t step, const vigil_tensor_stats* stats);

/* ---- words: copied, cut at 64 KiB; these calls allocate */

enum { VIGIL_INFO = 0, VIGIL_WARNING = 1, VIGIL_ERROR = 2, VIGIL_FATAL = 3 };
enum {
  VIGIL_EVENT_MESSAGE = 0,
  VIGIL_EVENT_EXCEPTION = 1,
  VIGIL_EVENT_CHECKPOINT = 2,
  VIGIL_EVENT_RESUME = 3,
  VIGIL_EVENT_EPOCH = 4
};

typedef struct vigil_event {
  uint32_t size; /* sizeof(vigil_event) */
  int32_t kind;
  int32_t severity;
  uint32_t reserved;
  int64_t step;     /* -1: of no step */
  const char* name; /* type of the exception, path of the checkpoint; may be null */
  const char* text;
  const char* json; /* details for programs; may be null */
} vigil_event;

#define VIGIL_EVENT_INIT {sizeof(vigil_event), 0, 0, 0, -1, NULL, NULL, NULL}

VIGIL_API int vigil_event_add(vigil_run run, const vigil_event* event);
/* A setting of the run: lr, warmup_steps, model, ... */
VIGIL_API int vigil_config_set(vigil_run run, const char* key, const char* value);
/* A file that the run left, by its path (relative to the run's folder, or absolute). */
VIGIL_API int vigil_artifact_add(vigil_run run, int64_t step, const char* kind, const char* path);

/* ---- data: a fingerprint of the batch of a step, so that a spike can be tied to it */

VIGIL_API int vigil_batch_add(vigil_run run, int64_t step, uint64_t fingerprint);
/* A fingerprint of bytes (token ids, say): the same on every machine and in every version. */
VIGIL_API uint64_t vigil_fingerprint(const void* data, size_t size_bytes);

/* ---- the guard: what to do with a step, asked before the optimizer applies it */

typedef struct vigil_guard {
  uint64_t id;
} vigil_guard;

enum {
  VIGIL_POLICY_OBSERVE = 0, /* record it, apply the step */
  VIGIL_POLICY_WARN = 1,    /* record a warning, leave the step out */
  VIGIL_POLICY_SKIP = 2,    /* leave the step out */
  VIGIL_POLICY_RAISE = 3,   /* stop the training */
  VIGIL_POLICY_ROLLBACK = 4 /* return to the last checkpoint from before it */
};
enum { VIGIL_ACTION_GO = 0, VIGIL_ACTION_SKIP = 1, VIGIL_ACTION_STOP = 2, VIGIL_ACTION_ROLLBACK = 3 };
enum { VIGIL_TRIGGER_NONE = 0, VIGIL_TRIGGER_NON_FINITE = 1, VIGIL_TRIGGER_SPIKE = 2 };

typedef struct vigil_guard_options {
  uint32_t size;                  /* sizeof(vigil_guard_options) */
  int32_t non_finite;             /* policy for a loss or gradient norm that is NaN or infinite */
  int32_t spike;                  /* policy for a loss or gradient norm far above its level */
  int32_t max_consecutive;        /* so many steps in a row are left out; at the next one it is given up */
  int32_t rollback_when_given_up; /* then: not 0 rolls back, 0 stops */
  int32_t max_rollbacks;          /* so many are asked for in a run; then it stops */
  double spike_ratio;             /* spikes below so many times the level are observed only */
  const char* control_file;       /* TOML with the names above, read again whenever it changes; may be null */
} vigil_guard_options;

#define VIGIL_GUARD_OPTIONS_INIT \
  {sizeof(vigil_guard_options), VIGIL_POLICY_WARN, VIGIL_POLICY_OBSERVE, 10, 0, 3, 0, NULL}

typedef struct vigil_decision {
  uint32_t size; /* sizeof(vigil_decision), set by the caller */
  int32_t action;
  int32_t trigger;
  int32_t consecutive; /* bad steps in a row, observed ones and this one included */
  int64_t rollback_to; /* with VIGIL_ACTION_ROLLBACK: the step of the checkpoint to return to */
  char message[256];   /* why, in words; empty when there is nothing to say */
} vigil_decision;

/* A guard of a run (without one nothing is recorded). What it decides about a bad step becomes an event of the journal:
 * guard/observe, guard/skip, guard/stop or guard/rollback; guard/control is about its control file. At most 8 at once.
 * With a control file it has one thread, named vigil-guard, that looks at the file every second. */
VIGIL_API int vigil_guard_open(vigil_run run, const vigil_guard_options* options, vigil_guard* guard);
/* Judges the step that is about to be applied; NaN is a value here, so give vigil_not_known() for what is not known.
 * When it fails, `decision` says to go on. One thread at a time for each guard; waits for no disk. */
VIGIL_API int vigil_guard_judge(vigil_guard guard, int64_t step, double loss, double grad_norm,
                                vigil_decision* decision);
/* The state after `step` was saved and can be returned to. */
VIGIL_API int vigil_guard_note_checkpoint(vigil_guard guard, int64_t step);
/* The training was set back to `step`: levels are learned again. A rollback counts when it is asked for. */
VIGIL_API int vigil_guard_note_rollback(vigil_guard guard, int64_t step);
VIGIL_API int vigil_guard_close(vigil_guard guard);
/* Stands for a value that is not known. */
VIGIL_API double vigil_not_known(void);

#ifdef __cplusplus
}
#endif

#endif
