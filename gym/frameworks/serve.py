"""Runs one script many times: loads it once, and forks for each run that a line on stdin describes."""

import importlib
import json
import os
import signal
import sys
import traceback


def child(script, job):
    log = os.open(job["log"], os.O_WRONLY | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(job["cwd"])
    os.environ["FW_RECORD"] = job["record"]
    sys.argv = [script.__file__, *job["words"]]
    signal.alarm(job["seconds"])
    code = 0
    try:
        script.main()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    script = importlib.import_module(sys.argv[1])
    script.__name__ = "__main__"
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            child(script, job)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        answers.write(f"{code}\n")
        answers.flush()


if __name__ == "__main__":
    main()
