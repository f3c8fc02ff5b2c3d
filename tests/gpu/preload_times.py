"""Times with the preload and without, on a machine whose clock moves: what is compared runs in turns, and a median of
differences, or of ratios, counts. Each row is a line NAME|WITHOUT|UNDER|VERDICT.

  preload_times.py start PRELOAD NAME SLACK_MS ROUNDS COMMAND...    what the preload adds to a run of the command
  preload_times.py torch PRELOAD FOLDER LIMIT                       the training of preload_frameworks.py: PyTorch's own
                                                                    cache; every tensor ours; its own cache over ours
Numbers in brackets are an interval that the median is in with a probability of 95 %, whatever the noise; with fewer than
six numbers all of them. A row fails when all of the interval is above what is allowed.
"""
import os
import re
import signal
import statistics
import subprocess
import sys
import time

from median_interval import median_interval
from one_core import share_one_core

GIB = 1 << 30
WARM, WINDOWS, SECONDS = 3, 21, 120


def shown(values, form="%.3f"):
    return "%s (%s to %s)" % tuple(form % v for v in median_interval(values))


def verdict(values, limit, noise, unit=""):
    """noise: a wider interval is mentioned"""
    _, low, high = median_interval(values)
    if low > limit:
        return "FAILED: above %g%s" % (limit, unit)
    return "ok" if high - low <= noise else "ok, noise %.2f%s" % (high - low, unit)


def row(*columns):
    print("|".join(columns), flush=True)


# ---- a run of a command ----------------------------------------------------------------------------


def run_ms(command, env):
    begin = time.perf_counter()
    subprocess.run(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=60)
    return (time.perf_counter() - begin) * 1000


def start(preload, name, slack, rounds, *command):
    plain_env, under_env = dict(os.environ), dict(os.environ, LD_PRELOAD=preload)
    plain, added, control = [], [], []
    for env in (plain_env, under_env):
        run_ms(command, env)
    for i in range(int(rounds)):
        before = [run_ms(command, plain_env) for _ in range((1, 0, 2)[i % 3])]
        under = run_ms(command, under_env)
        pair = before + [run_ms(command, plain_env) for _ in range(2 - len(before))]
        plain += pair
        added.append(under - sum(pair) / 2)
        control.append(pair[1] - pair[0])
    result = verdict(added, float(slack), float(slack), " ms")
    row(name + ": ms; more under it", "%.2f" % statistics.median(plain), shown(added, "%.2f"),
        "%s; two without: %s" % (result, shown(control, "%.2f")))


# ---- PyTorch ---------------------------------------------------------------------------------------


class Training:
    """One process. It waits for a line, trains for a window, and answers 'SECONDS LOSS...'."""

    def __init__(self, folder, name, **env):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "preload_frameworks.py")
        self.err = os.path.join(folder, name + ".err")
        self.seconds, self.losses = [], []
        with open(self.err, "w") as err:
            self.process = subprocess.Popen([sys.executable, script, "torch"], stdin=subprocess.PIPE, stderr=err,
                                            stdout=subprocess.PIPE, text=True, env=dict(os.environ, XSEG_REPORT="1", **env))

    def window(self):
        print("go", file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline().split()
        if not answer:
            raise RuntimeError("a training has ended (%s)" % self.err)
        self.seconds.append(float(answer[0]))
        self.losses += answer[1:]

    def end(self):
        self.process.stdin.close()
        if self.process.wait() != 0:
            raise RuntimeError("status %d (%s)" % (self.process.returncode, self.err))

    def found(self, pattern):
        with open(self.err) as f:
            match = re.search(pattern, f.read(), re.M)
        return match.group(1) if match else ""


def torch_rows(own, every, over, limit):
    step = lambda training: "%.6f" % (statistics.median(training.seconds[WARM:]) / 6)
    for name, training in (("every tensor ours", every), ("its cache over ours", over)):
        ratios = [t / plain for plain, t in zip(own.seconds[WARM:], training.seconds[WARM:])]
        row("torch, %s: s a step" % name, step(own), step(training), "note")
        row("torch, %s: ratio (%g)" % (name, limit), "", shown(ratios), verdict(ratios, limit, limit - 1))
        row("torch, %s: losses" % name, own.losses[-1], training.losses[-1],
            "ok" if training.losses == own.losses else "FAILED: differ")
        row("torch, %s: allocations served" % name, "", training.found(r"^xseg: device 0: (\d+) allocations"), "note")
        row("torch, %s: several streams since" % name, "",
            training.found(r"^xseg: freed memory waited for all streams from here on: (.*)") or "never", "note")
    peak, ours = own.found(r"^peak (\d+)"), every.found(r"requested, (.* GiB) reserved")
    ok = peak and ours and float(ours.split()[0]) <= round(int(peak) / GIB, 2)
    row("torch, every tensor ours: peak reserved", "%.2f GiB" % (int(peak or 0) / GIB), ours,
        "ok" if ok else "FAILED: above its cache's")


def torch(preload, folder, limit):
    signal.alarm(SECONDS + 20)
    os.environ["XSEG_TEST_SECONDS"] = str(SECONDS)
    own = Training(folder, "torch_own")
    every = Training(folder, "torch_every", LD_PRELOAD=preload, PYTORCH_NO_CUDA_MEMORY_CACHING="1")
    over = Training(folder, "torch_over", LD_PRELOAD=preload)
    turns = [own, every, over]
    try:
        for i in range(WARM + WINDOWS):
            if i == WARM:
                share_one_core([training.process.pid for training in turns])
            for j in range(3):
                turns[(i + j) % 3].window()
        for training in turns:
            training.end()
    finally:
        for training in turns:
            training.process.kill()
    torch_rows(own, every, over, float(limit))


try:
    {"start": start, "torch": torch}[sys.argv[1]](*sys.argv[2:])
except (OSError, RuntimeError, subprocess.SubprocessError) as e:
    name = sys.argv[3] if sys.argv[1] == "start" else "torch"
    row(name, "", "", "FAILED: " + " ".join(str(e).replace("|", "/").split()))
