"""What the scripts that `cargo xtask bench --kernels` starts have in common.

A request a line on standard input, an answer a line on standard output, JSON both: see xtask's `peer_process.rs`. Before them a line
that says which version this is, or what is missing.
"""

import json
import os
import sys
import time

# A turn that would make more repetitions than this ends before its seconds do.
MOST = 1000


def answer(value):
    print(json.dumps(value), flush=True)


def missing(error):
    """Ends a script that this Python cannot run."""
    answer({"missing": f"{error}"})
    sys.exit(0)


def processor_time():
    """Nanoseconds running and waiting for a processor of each thread, as Linux counts them; none where it does not."""
    threads = {}
    try:
        for task in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{task}/schedstat", encoding="ascii") as file:
                running, waiting, _ = file.read().split()
                threads[task] = int(running), int(waiting)
    except OSError:
        return None
    return threads


def share(before, after):
    """The share of the processor time asked for that was got."""
    if before is None or after is None:
        return None
    running, waiting = (
        sum(now[i] - before.get(task, (0, 0))[i] for task, now in after.items()) for i in (0, 1)
    )
    return running / (running + waiting) if running + waiting > 0 else None


def take(multiply, copies, seconds):
    """Multiplies at least once, and until the seconds are over."""
    repetitions = []
    begin = time.perf_counter()
    while not repetitions or (time.perf_counter() - begin < seconds and len(repetitions) < MOST):
        before = processor_time()
        start = time.perf_counter()
        multiply()
        elapsed = time.perf_counter() - start
        after = processor_time()
        repetitions.append({"seconds": elapsed / copies, "processor_share": share(before, after)})
    return repetitions


def serve(version, about, prepare):
    """Answers requests. `prepare(case, data)` gives what is told of each setting, and by its name how it multiplies all copies."""
    answer({"version": version, "about": about})
    sides, copies = {}, 1
    for line in sys.stdin:
        ((what, request),) = json.loads(line).items()
        if what == "Prepare":
            # The memory of the case before first.
            sides.clear()
            copies = request["data"]["copies"]
            prepared, sides = prepare(request["case"], request["data"])
            answer(prepared)
        else:
            answer(take(sides[request["setting"]], copies, request["turn"]["seconds"]))


def run(main):
    """Runs a script, whose errors are one line for whoever started it."""
    try:
        main()
    except Exception as error:
        sys.exit(f"error: {type(error).__name__}: {' '.join(str(error).split())}")
