"""What PyTorch's own tests ask of its allocator (by behaviour), of all tensors on xseg.

    pytorch_behaviour.py [CONF [TEST...]]        PYTHONPATH has xseg_torch.py, XSEG_LIBRARY names the library

One line a test; the last line is "N passed, N failed, N skipped". Tests that need a second GPU, a compiler or a package
that is not there say so.
"""
import gc
import os
import pickle
import random
import subprocess
import sys
import tempfile
import threading
import traceback

import torch
import xseg_torch

CONF = sys.argv[1] if len(sys.argv) > 1 else ""
CLASSIC = "expandable_segments:False" in CONF
MiB = 1 << 20
tests = []


class Skip(Exception):
    pass


def test(f):
    tests.append(f)
    return f


def mib(n):
    return torch.empty(int(n * MiB), dtype=torch.uint8, device="cuda")


def clean():
    gc.collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()


def stat(name):
    return torch.cuda.memory_stats()[name]


def raises(call, kind=torch.OutOfMemoryError, text=""):
    try:
        call()
    except kind as e:
        assert text in str(e), str(e)
        return e
    raise AssertionError(f"no {kind.__name__}")


# ---- basics ---------------------------------------------------------------------------------------


@test
def memory_allocation():  # 1
    before = torch.cuda.memory_allocated()
    t = torch.empty(1, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_allocated() > before
    del t
    assert torch.cuda.memory_allocated() == before


@test
def the_snippet_of_the_readme():
    model = torch.nn.Linear(1024, 1024).cuda()

    def step():
        model(torch.randn(512, 1024, device="cuda")).sum().backward()

    torch.cuda.reset_peak_memory_stats()
    step()
    assert torch.cuda.max_memory_reserved() >= torch.cuda.max_memory_allocated() > 0
    torch.cuda.memory._record_memory_history()
    step()
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "mem.pickle")
        torch.cuda.memory._dump_snapshot(name)
        with open(name, "rb") as f:
            snapshot = pickle.load(f)
        from torch.cuda import _memory_viz
        assert len(_memory_viz.trace_plot(snapshot)) > 1000
    torch.cuda.memory._record_memory_history(None)
    names = {f["name"] for e in snapshot["device_traces"][0] for f in e.get("frames", [])}
    assert "step" in names, "no Python frame of ours in the history"


@test
def out_of_memory():  # 2, 4
    e = raises(lambda: mib(1 << 22), text="CUDA out of memory. ")
    assert "reserved" in str(e)
    raises(lambda: torch.empty(1 << 61, dtype=torch.uint8, device="cuda"), RuntimeError)
    assert (torch.ones(8, device="cuda") * 2).sum().item() == 16  # no sticky error


@test
def out_of_memory_retry():  # 3
    clean()
    half = int(torch.cuda.mem_get_info()[0] / MiB * 0.6)
    t = mib(half)
    raises(lambda: mib(half))
    del t
    t = mib(half)
    del t
    clean()


@test
def memory_fraction():  # 6
    clean()
    raises(lambda: torch.cuda.set_per_process_memory_fraction(1), TypeError)
    raises(lambda: torch.cuda.set_per_process_memory_fraction(-0.1), ValueError)
    torch.cuda.set_per_process_memory_fraction(0.5)
    assert abs(torch.cuda.get_per_process_memory_fraction() - 0.5) < 1e-6
    total = torch.cuda.get_device_properties(0).total_memory
    t = torch.empty(int(total * 0.499) - torch.cuda.memory_reserved(), dtype=torch.uint8, device="cuda")
    del t
    raises(lambda: torch.empty(int(total * 0.51), dtype=torch.uint8, device="cuda"))
    torch.cuda.set_per_process_memory_fraction(1.0)
    assert torch.cuda.get_per_process_memory_fraction() == 1.0
    clean()


@test
def mem_get_info():  # 11
    clean()
    free, total = torch.cuda.mem_get_info()
    t = mib(256)
    assert torch.cuda.mem_get_info()[0] < free and torch.cuda.mem_get_info()[1] == total
    del t
    clean()


@test
def stats_through_a_script():  # 12
    clean()
    torch.cuda.reset_peak_memory_stats()
    base = torch.cuda.memory_allocated()
    live = []
    for step in range(35):
        if step % 3 == 2:
            live.pop(random.randrange(len(live)))
        else:
            live.append(torch.empty(random.choice([0, 1, 512, 4096, MiB, 9 * MiB]), dtype=torch.uint8, device="cuda"))
        s = torch.cuda.memory_stats()
        for name in ("allocated_bytes", "active_bytes", "reserved_bytes", "requested_bytes"):
            assert s[f"{name}.all.current"] <= s[f"{name}.all.peak"], name
        assert s["allocated_bytes.all.current"] <= s["reserved_bytes.all.current"]
    live.clear()
    assert torch.cuda.memory_allocated() == base
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == base
    assert isinstance(torch.cuda.memory_summary(), str) and "CUDA memory summary" in torch.cuda.memory_summary()
    assert isinstance(torch.cuda.memory_snapshot(), list)


@test
def peak_reset_keeps_totals():  # report R87
    clean()
    a = mib(30)
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()
    before = torch.cuda.memory_allocated()
    calls = stat("allocation.all.allocated")
    b = mib(10)
    del b
    assert torch.cuda.max_memory_allocated() == before + 10 * MiB
    assert stat("allocation.all.allocated") == calls + 1
    torch.cuda.reset_accumulated_memory_stats()
    assert stat("allocation.all.allocated") == 0 and torch.cuda.memory_allocated() == before
    del a


@test
def fuzz():  # 13
    random.seed(1)
    live, next_id = [], 0
    for _ in range(10000):
        kind = random.choices(("alloc", "free", "empty"), (10, 10, 0.1))[0]
        if kind == "alloc":
            n = random.choice((1, 100, 5000, 70000, MiB, 3 * MiB)) + random.randrange(64)
            live.append((next_id % 251, torch.full((n,), next_id % 251, dtype=torch.uint8, device="cuda")))
            next_id += 1
        elif kind == "free" and live:
            value, t = live.pop(random.randrange(len(live)))
            if len(live) % 7 == 0:
                assert bool((t == value).all())
        elif kind == "empty":
            torch.cuda.empty_cache()
    for value, t in live:
        assert bool((t == value).all())


@test
def empty_cache_gives_back():  # 37, report R85
    clean()
    ts = [mib(20) for _ in range(10)]
    del ts
    clean()
    assert torch.cuda.memory_reserved() - torch.cuda.memory_allocated() <= 64 * MiB


@test
def expandable_toggled_at_run_time():  # report R25
    xseg_torch.configure("expandable_segments:True")
    p = mib(64)
    xseg_torch.configure("expandable_segments:False")
    q = mib(64)
    at = p.data_ptr()
    del p
    r = mib(64)
    assert r.data_ptr() != at
    xseg_torch.configure("expandable_segments:True")
    del q, r
    clean()
    xseg_torch.configure("expandable_segments:" + ("False" if CLASSIC else "True"))


# ---- streams ---------------------------------------------------------------------------------------


@test
def record_stream():  # 29
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        t = torch.full((4 * MiB,), 7, dtype=torch.uint8, device="cuda")
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda._sleep(50_000_000)
    copy = t.clone()
    t.record_stream(torch.cuda.current_stream())
    at = t.data_ptr()
    del t
    with torch.cuda.stream(side):
        other = torch.full((4 * MiB,), 1, dtype=torch.uint8, device="cuda")
    assert other.data_ptr() != at
    torch.cuda.synchronize()
    assert bool((copy == 7).all())


@test
def record_stream_does_not_run_out():  # 27
    clean()
    torch.cuda.set_per_process_memory_fraction(min(1.0, 2048 * MiB / torch.cuda.get_device_properties(0).total_memory))
    side = torch.cuda.Stream()
    try:
        for _ in range(100):
            t = mib(160)
            with torch.cuda.stream(side):
                torch.cuda._sleep(200_000)
            t.record_stream(side)
            del t
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    clean()


@test
def threads():  # 23 and report R98
    errors = []

    def churn(seed):
        try:
            rng = random.Random(seed)
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(500):
                    t = torch.full((rng.randrange(1, 200000),), seed, dtype=torch.uint8, device="cuda")
                    assert bool((t[-1:] == seed).all())
                    torch.cuda.memory_stats()
        except BaseException as e:
            errors.append(e)

    workers = [threading.Thread(target=churn, args=(i,)) for i in range(4)]
    [w.start() for w in workers]
    [w.join() for w in workers]
    assert not errors, errors


# ---- pools and graphs ------------------------------------------------------------------------------


@test
def pools():  # 34, 42, 43
    a, b = torch.cuda.MemPool(), torch.cuda.MemPool()
    assert a.id < b.id
    with torch.cuda.use_mem_pool(a):
        p = mib(1)
        with torch.cuda.use_mem_pool(b):
            q = mib(1)
        elsewhere = []
        thread = threading.Thread(target=lambda: elsewhere.append(mib(1)))
        thread.start()
        thread.join()
    owner = {t.data_ptr(): i for i, t in enumerate((p, q, elsewhere[0]))}
    found = {}
    for segment in torch.cuda.memory_snapshot():
        for block in segment["blocks"]:
            if block["address"] in owner:
                found[owner[block["address"]]] = segment["address"]
    assert len(set(found.values())) == 3, found


@test
def pool_is_not_used_on_oom_unless_asked():  # 39
    for use_on_oom in (False, True):
        clean()
        pool = torch.cuda.MemPool(use_on_oom=use_on_oom)
        with torch.cuda.use_mem_pool(pool):
            t = mib(512)
        at = t.data_ptr()
        del t
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 4 * MiB) / total)
        try:
            if use_on_oom:
                assert mib(512).data_ptr() == at
            else:
                raises(lambda: mib(512))
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
        del pool
    clean()


def captured(pool=None):
    x = torch.zeros(MiB, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        y = (x + 1) * 2
        y = y + y.mean()
    return graph, x, y


@test
def graphs():
    graph, x, y = captured()
    for value in range(5):
        x.fill_(value)
        graph.replay()
        torch.cuda.synchronize()
        assert abs(y[0].item() - 4 * (value + 1)) < 1e-3


@test
def graph_memory_stays():  # report R48
    graph, x, y = captured()
    del y
    clean()
    others = [mib(random.randrange(1, 40)) for _ in range(100)]
    x.fill_(3)
    graph.replay()
    torch.cuda.synchronize()
    del others
    before = torch.cuda.memory_reserved()
    del graph
    clean()
    assert torch.cuda.memory_reserved() < before


@test
def graphs_share_a_pool():  # 32
    first, x1, y1 = captured()
    second, x2, y2 = captured(first.pool())
    for graph in (first, second):
        graph.replay()
    torch.cuda.synchronize()


@test
def failed_capture_leaks_nothing():  # report R50
    clean()
    before = torch.cuda.memory_reserved()
    graph = torch.cuda.CUDAGraph()
    stream = torch.cuda.Stream()
    try:
        with torch.cuda.graph(graph, stream=stream):
            t = mib(256)
            torch.cuda.synchronize()  # not allowed
    except RuntimeError:
        pass
    torch.cuda.set_stream(torch.cuda.default_stream())
    t = None
    del graph
    clean()
    assert torch.cuda.memory_reserved() <= before + 32 * MiB, torch.cuda.memory_reserved() / MiB


@test
def record_stream_in_a_capture():  # report R51, 28
    side = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    clean()
    before = torch.cuda.memory_reserved()
    with torch.cuda.graph(graph):
        main = torch.cuda.current_stream()
        for _ in range(8):
            t = mib(64)
            side.wait_stream(main)
            with torch.cuda.stream(side):
                t.add_(1)
            main.wait_stream(side)
            t.record_stream(side)
            del t
    assert torch.cuda.memory_reserved() - before <= 9 * 64 * MiB
    graph.replay()
    torch.cuda.synchronize()
    del graph
    clean()
    assert torch.cuda.memory_reserved() <= before + 32 * MiB


@test
def make_graphed_callables():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 16)).cuda()
    x = torch.randn(64, 256, device="cuda", requires_grad=True)
    expected = net(x).detach().clone()
    graphed = torch.cuda.make_graphed_callables(net, (x,))
    for _ in range(3):
        out = graphed(x)
        out.sum().backward()
        assert torch.allclose(out, expected, atol=1e-5)


@test
def compile_reduce_overhead():
    try:
        import triton  # noqa: F401
    except ImportError:
        raise Skip("no triton") from None
    f = torch.compile(lambda x: (x.sin() + x.cos()).relu().sum(-1), mode="reduce-overhead")
    x = torch.randn(512, 512, device="cuda")
    expected = (x.sin() + x.cos()).relu().sum(-1)
    for _ in range(5):
        torch.compiler.cudagraph_mark_step_begin()
        assert torch.allclose(f(x), expected, atol=1e-3)


@test
def cudnn_benchmark():  # report R84
    torch.backends.cudnn.benchmark = True
    net = torch.nn.Conv2d(16, 32, 3, padding=1).cuda()
    for size in (32, 48, 64):
        net(torch.randn(8, 16, size, size, device="cuda")).sum().backward()
    torch.cuda.synchronize()
    torch.backends.cudnn.benchmark = False


# ---- more devices, more processes --------------------------------------------------------------------


@test
def devices():  # 25, reports R101, R104
    if torch.cuda.device_count() < 2:
        raise Skip("one GPU")
    a = torch.randn(MiB, device="cuda:0")
    before = torch.cuda.memory_allocated(0)
    b = a.to("cuda:1")
    c = torch.randn(1024, 1024, device="cuda:1").t().contiguous().to("cuda:0")
    assert torch.equal(a.cpu(), b.cpu()) and c.shape == (1024, 1024)
    assert torch.cuda.memory_allocated(1) >= 4 * MiB and torch.cuda.memory_allocated(0) == before + 4 * MiB


@test
def peer_access():
    if torch.cuda.device_count() < 2 or not torch.cuda.can_device_access_peer(0, 1):
        raise Skip("no two GPUs with peer access")
    before = torch.arange(float(MiB), device="cuda:1")
    before.to("cuda:0")  # asks for it
    after = torch.arange(float(MiB), device="cuda:1")
    for t in (before, after):  # copied by a kernel, since it is not contiguous
        strided = t.view(1024, 1024).t()
        here = torch.empty(1024, 1024, device="cuda:0")
        here.copy_(strided)
        assert torch.equal(here.cpu(), strided.cpu())


RECEIVER = """
import sys
import torch, xseg_torch
import torch.multiprocessing as mp

def receive(inbox, outbox):
    if sys.argv[1] == "xseg":
        xseg_torch.install()
    try:
        t, view = inbox.get()
        good = bool((t == 7).all()) and view.tolist() == [7.0] * 10
        t.fill_(9)
        torch.cuda.synchronize()
        del t, view
        outbox.put(good)
    except Exception as e:
        outbox.put(str(e))
    inbox.get()

if __name__ == "__main__":
    mp.set_start_method("spawn")
    xseg_torch.install()
    inbox, outbox = mp.Queue(), mp.Queue()
    process = mp.Process(target=receive, args=(inbox, outbox))
    process.start()
    t = torch.full((1 << 20,), 7.0, device="cuda")
    inbox.put((t, t[100:110]))
    print("received:", outbox.get(timeout=120), t[0].item(), t[-1].item())
    inbox.put(None)
    process.join()
    reserved = torch.cuda.memory_reserved()
    del t
    torch.cuda.ipc_collect()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    print("let go:", torch.cuda.memory_reserved() < reserved, process.exitcode)
"""


def receiver(kind):
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "receiver.py")
        with open(name, "w") as f:
            f.write(RECEIVER)
        return subprocess.run([sys.executable, name, kind], capture_output=True, text=True, timeout=300)


@test
def tensors_between_processes():
    if CLASSIC:
        raise Skip("classic memory cannot be sent")
    out = receiver("xseg")
    assert out.stdout.splitlines()[:2] == ["received: True 9.0 9.0", "let go: True 0"], out.stdout + out.stderr[-3000:]


@test
def tensors_to_a_process_without_xseg():
    if CLASSIC:
        raise Skip("classic memory cannot be sent")
    out = receiver("native")
    assert "received: received sharable handle" in out.stdout, out.stdout + out.stderr[-3000:]


@test
def forked_workers():
    data = torch.utils.data.TensorDataset(torch.arange(64.0))
    total = sum(float(b[0].cuda().sum()) for b in torch.utils.data.DataLoader(data, 8, num_workers=2))
    assert total == 64 * 63 / 2


@test
def pool_without_install():  # report R15
    program = """
import torch, xseg_torch
pool = xseg_torch.pool()
total = torch.cuda.get_device_properties(0).total_memory
torch.cuda.set_per_process_memory_fraction(0.8)
with torch.cuda.use_mem_pool(pool):
    a = torch.empty(int(total * 0.3), dtype=torch.uint8, device='cuda')
    del a
    b = torch.empty(int(total * 0.4), dtype=torch.uint8, device='cuda')
    b.fill_(1); torch.cuda.synchronize()
    del b
assert not xseg_torch.is_installed() and torch.cuda.memory_reserved() > 0
torch.cuda.empty_cache()
print('fine')
"""
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert out.stdout.strip() == "fine", out.stderr[-2000:]


def main():
    xseg_torch.install(CONF or None)
    torch.cuda.init()
    counts = {"ok": 0, "FAIL": 0, "skip": 0}
    wanted = sys.argv[2:] or [f.__name__ for f in tests]
    for f in (f for f in tests if f.__name__ in wanted):
        why = ""
        try:
            f()
            result = "ok"
        except Skip as e:
            result, why = "skip", str(e)
        except BaseException:
            result, why = "FAIL", traceback.format_exc(limit=-3)
        counts[result] += 1
        print(f"  {result:4}  {f.__name__}  {why}", flush=True)
    print(f"{counts['ok']} passed, {counts['FAIL']} failed, {counts['skip']} skipped")
    return counts["FAIL"] > 0


sys.exit(main())
