"""Processes that take turns, on one processor core: the clock rate differs from core to core, and would be taken for theirs."""
import os


def share_one_core(pids):
    """All their threads, and those to come."""
    core = {max(os.sched_getaffinity(0))}
    for pid in pids:
        for thread in os.listdir(f"/proc/{pid}/task"):
            try:
                os.sched_setaffinity(int(thread), core)
            except ProcessLookupError:
                pass  # it has just ended
