"""Training and generation with random weights and data: losses, memory and time of one allocator in one process.

    pytorch_workload.py native|expandable|xseg WORKLOAD [--groups N] [--limit MIB] [--wait]
    pytorch_workload.py native|expandable|xseg --soak MINUTES
    pytorch_workload.py native WORKLOAD --groups 0 --trace FILE.trace.gz

Prints one line of JSON. The same seed gives the same numbers to every allocator, and but for maskrcnn the kernels are deterministic.

The warm-up has all the data once; what is timed has the same data again, over and over. A size that is new makes PyTorch load
kernels and choose among them, which takes several times as long as the step. So nothing timed is of a new size, but for maskrcnn's
number of masks, which hangs on what the network finds. --groups 0 times the second half of the warm-up.

Steps are timed by groups, from the first one's begin until the GPU has done the last, so that within a group the CPU may run ahead
of the GPU as it does in earnest. With --wait several of these take turns: each says "waits" before it touches the GPU and before
each group, and goes on after "go" on its standard input; after any other line it ends. Its GPU is idle while it waits.

--trace records what is allocated and freed, as a trace for xseg replay. Only native tells.

--soak has two layers instead of twelve, so that a few minutes have many steps; it says how many, and how many allocations.
"""
import argparse
import gc
import gzip
import itertools
import json
import math
import os
import statistics
import sys
import time
import warnings

parser = argparse.ArgumentParser()
parser.add_argument("allocator", choices=("native", "expandable", "xseg"))
parser.add_argument("workload", nargs="?")
parser.add_argument("--groups", type=int, default=24, help="how many are timed, without --wait")
parser.add_argument("--limit", type=float, default=0, help="MiB that the allocator may reserve")
parser.add_argument("--soak", type=float, default=0, help="minutes of variable lengths; reserved must not creep")
parser.add_argument("--wait", action="store_true")
parser.add_argument("--trace", metavar="FILE", help="records a trace")
args = parser.parse_args()
if args.trace and args.allocator != "native":
    parser.error("--trace is for native")
for name in ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"):
    os.environ.pop(name, None)
if args.allocator == "expandable":
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch  # noqa: E402
import torch.nn as nn  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

if args.allocator == "xseg":
    import xseg_torch

    warnings.filterwarnings("error", message="this PyTorch")  # half of it in place is no measurement
    xseg_torch.install()
if args.workload != "maskrcnn":  # torchvision has another RoIAlign for this, which is compiled and takes far more memory
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.utils.deterministic.fill_uninitialized_memory = False
    warnings.filterwarnings("ignore", message="(?s).*deterministic")


def goes_on(group=0):
    """Of a group, or of all else, whether it is to be done."""
    if not args.wait:
        return group < max(1, args.groups)
    print("waits", flush=True)
    return sys.stdin.readline() == "go\n"


DIM, LAYERS, HEADS, VOCAB = 1536, 12, 12, 16000


class Norm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5).to(x.dtype) * self.weight


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM, bias=False), nn.Linear(DIM, DIM, bias=False)

    def forward(self, x, cache=None):
        b, n, _ = x.shape
        q, k, v = (t.view(b, n, HEADS, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        if cache is not None:
            if cache:
                k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
            cache[:] = (k, v)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        return self.out(y.transpose(1, 2).reshape(b, n, DIM))


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        hidden = DIM * 8 // 3 // 64 * 64
        self.gate, self.up = nn.Linear(DIM, hidden, bias=False), nn.Linear(DIM, hidden, bias=False)
        self.down = nn.Linear(hidden, DIM, bias=False)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    """Two of eight for each token, by lot: each gets some number of them, and for the same data the same, whatever was learnt."""

    def __init__(self):
        super().__init__()
        self.router, self.seed = nn.Linear(DIM, 8, bias=False), int(torch.randint(1 << 30, ()))
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(DIM, DIM, bias=False), nn.SiLU(), nn.Linear(DIM, DIM, bias=False)) for _ in range(8))

    def forward(self, x):
        flat = x.reshape(-1, DIM)
        lots = torch.rand(len(flat), 8, device=x.device, generator=torch.Generator(x.device).manual_seed(self.seed + len(flat)))
        chosen = lots.topk(2, -1).indices
        weight = self.router(flat).softmax(-1)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            token, _ = (chosen == i).nonzero(as_tuple=True)
            out = out.index_add(0, token, expert(flat[token]) * weight[token, i, None])
        return out.view_as(x)


class Layer(nn.Module):
    def __init__(self, mlp):
        super().__init__()
        self.n1, self.n2, self.attention, self.mlp = Norm(DIM), Norm(DIM), Attention(), mlp()

    def forward(self, x, cache=None):
        x = x + self.attention(self.n1(x), cache)
        return x + self.mlp(self.n2(x))


class Llama(nn.Module):
    def __init__(self, layers=LAYERS, mlp=Dense, checkpoints=False):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(Layer(mlp) for _ in range(layers))
        self.norm, self.head = Norm(DIM), nn.Linear(DIM, VOCAB, bias=False)
        self.checkpoints = checkpoints

    def forward(self, tokens, caches=None):
        x = self.embed(tokens)
        for i, layer in enumerate(self.layers):
            if self.checkpoints:
                x = checkpoint(layer, x, use_reentrant=False)
            else:
                x = layer(x, caches[i] if caches else None)
        return self.head(self.norm(x))


class Lora(nn.Module):
    def __init__(self, base, rank=16):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, base.in_features) * 0.01)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.a.t() @ self.b.t()


def with_lora(model):
    model.requires_grad_(False)
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear) and child.out_features != VOCAB:
                setattr(module, name, Lora(child))
    return model


def batches(n, lengths, batch=4):
    rng = torch.Generator().manual_seed(torch.initial_seed())
    for i in range(n):
        yield torch.randint(0, VOCAB, (batch, lengths(rng, i) + 1), generator=rng)


def fixed(_rng, _i):
    return 1024


def variable(rng, _i):
    return int(torch.randint(128, 1536, (), generator=rng))


def bucketed(rng, i):
    return 256 * math.ceil(variable(rng, i) / 256)


def train(lengths=fixed, accumulate=1, lora=False, **options):
    def run(period):
        with torch.device("cuda"):
            model = Llama(**options)
            model = (with_lora(model) if lora else model).bfloat16()
        optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], 1e-4, foreach=True)
        for i, tokens in enumerate(itertools.cycle(batches(period * accumulate, lengths))):
            tokens = tokens.cuda(non_blocking=True)
            logits = model(tokens[:, :-1])
            loss = F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
            (loss / accumulate).backward()
            del logits
            if (i + 1) % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
                yield loss.detach()

    return run


def small(_period):
    """Bound by the CPU: many little tensors, next to no arithmetic."""
    model = nn.Sequential(*[m for _ in range(20) for m in (nn.Linear(64, 64), nn.ReLU())]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 1e-3, foreach=True)
    x = torch.randn(32, 64, device="cuda")
    while True:
        for _ in range(20):
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        yield loss.detach()


@torch.no_grad()
def generate(period):
    with torch.device("cuda"):
        model = Llama().bfloat16().eval()
    for prompts in itertools.cycle(batches(period, variable, 8)):
        caches = [[] for _ in model.layers]
        token = prompts.cuda()
        for _ in range(24):
            logits = model(token, caches)[:, -1]
            token = logits.argmax(-1, keepdim=True)
        yield logits.float().mean()


def scenes(n):
    rng = torch.Generator().manual_seed(0)
    for _ in range(n):
        images, targets = [], []
        for _ in range(4):
            h, w = (int(torch.randint(400, 900, (), generator=rng)) for _ in range(2))
            images.append(torch.rand(3, h, w, generator=rng))
            n = int(torch.randint(1, 12, (), generator=rng))
            corner = torch.rand(n, 2, generator=rng) * torch.tensor([w * 0.6, h * 0.6])
            boxes = torch.cat((corner, corner + 20 + torch.rand(n, 2, generator=rng) * 100), 1)
            masks = torch.zeros(n, h, w, dtype=torch.uint8)
            targets.append({"boxes": boxes, "labels": torch.ones(n, dtype=torch.int64), "masks": masks})
        yield images, targets


def maskrcnn(period):
    import torchvision

    model = torchvision.models.detection.maskrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=10).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)
    for images, targets in itertools.cycle(scenes(period)):
        loss = sum(model([x.cuda() for x in images], [{k: v.cuda() for k, v in t.items()} for t in targets]).values())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        yield loss.detach()


# name: the steps, how many until the data come again, how many steps a group (0.15 to 0.3 s)
WORKLOADS = {
    "llama_fixed": (train(), 24, 4),
    "llama_varlen": (train(variable), 60, 5),
    "llama_bucketed": (train(bucketed), 48, 4),
    "llama_checkpoint": (train(variable, checkpoints=True, layers=18), 60, 3),
    "lora": (train(variable, lora=True), 60, 4),
    "accumulation": (train(variable, accumulate=4, layers=6), 18, 2),
    "maskrcnn": (maskrcnn, 18, 1),
    "experts": (train(variable, mlp=Experts, layers=6), 48, 3),
    "generate": (generate, 24, 1),
    "small": (small, 12, 1),
}


def counters():
    """What the allocator has done so far, by its own account."""
    stats = torch.cuda.memory_stats()
    own = {name: stats[name] for name in ("num_alloc_retries", "num_device_alloc", "num_device_free", "num_sync_all_streams")}
    own["allocations"] = stats["allocation.all.allocated"]
    if args.allocator == "xseg":
        all_of_it = xseg_torch.stats(torch.cuda.current_device())
        own |= {name: n for name, n in all_of_it.items() if name.startswith(("driver_", "rung_")) or name in (
            "cache_hits", "extents_moved", "extents_aliased")}
    return own


def difference(later, earlier):
    return {name: later[name] - earlier[name] for name in later}


def measure(name):
    torch.manual_seed(0)
    run, period, size = WORKLOADS[name]
    warm_up, size = (period, size) if args.groups else (period // 2, period - period // 2)
    steps, losses, seconds, host = run(period), [], [], []

    def group(n):
        begin = time.perf_counter()
        losses.extend(itertools.islice(steps, n))
        issued = time.perf_counter()
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - begin)
        host.append(issued - begin)

    torch.cuda.reset_peak_memory_stats()
    group(warm_up)
    before = counters()
    while goes_on(len(seconds) - 1):
        group(size)
    steady = difference(counters(), before)
    stats = torch.cuda.memory_stats()
    return {
        "losses": [float(loss).hex() for loss in losses],
        "requested": stats["requested_bytes.all.peak"],
        "reserved": stats["reserved_bytes.all.peak"],
        "steps": len(losses) - warm_up,
        "ms": [round(s * 1e3 / size, 4) for s in seconds[1:]],
        "host_ms": round(statistics.median(host[1:]) * 1e3 / size, 4),
        "steady": steady,
    }


def soak(minutes):
    """Each tenth of the time, a line of its own, so that a run that is cut off has said something: how much was done in it, what
    has been requested at most so far, what was reserved at most in it, and at its end, with every tensor freed but the cache kept."""
    begin, seed, before = time.time(), 0, counters()
    for i in range(10):
        most = steps = 0
        while time.time() < begin + minutes * 6 * (i + 1):
            torch.manual_seed(seed := seed + 1)
            for _ in itertools.islice(train(variable, layers=2)(50), 50):
                most = max(most, torch.cuda.memory_reserved())
                steps += 1
        gc.collect()
        before, earlier = counters(), before
        requested = torch.cuda.memory_stats()["requested_bytes.all.peak"]
        yield {"soak": minutes, "tenth": i, "requested": requested, "reserved": most, "freed": torch.cuda.memory_reserved(), "steps": steps,
               "counters": difference(before, earlier)}


def write_trace(path, events):
    """Blocks and streams by number, in order of appearance."""
    number, size, stream, lines, live, peak = {}, {}, {}, [], 0, 0
    for event in events:
        if event["action"] == "alloc":
            block = number[event["addr"]] = len(size)
            size[block] = event["size"]
            live += event["size"]
            lines.append(f"a {block} {event['size']} {stream.setdefault(event['stream'], len(stream))}\n")
        elif event["action"] == "free_requested" and event["addr"] in number:
            block = number.pop(event["addr"])
            live -= size[block]
            lines.append(f"f {block}\n")
        peak = max(peak, live)
    with gzip.open(path, "wt") as f:
        f.write(f"# xseg-trace 1\n# source PyTorch {torch.__version__}, {args.workload}\n")
        f.write(f"# events {len(lines)} streams {max(1, len(stream))} peak_requested {peak}\n")
        f.writelines(lines)


def tell(result):
    on = f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}"
    print(json.dumps({"allocator": args.allocator, "on": on, **result}), flush=True)


def main():
    if args.wait and not goes_on():
        return
    torch.cuda.init()
    if args.limit:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction((args.limit + 0.5) * 2**20 / total)  # and a half, lest rounding takes a granule
    if args.soak:
        for result in soak(args.soak):
            tell(result)
        return
    if args.trace:
        torch.cuda.memory._record_memory_history(context=None, max_entries=1 << 25)
    result = {"workload": args.workload, "limit": args.limit}
    try:
        result |= measure(args.workload)
        if args.trace:
            write_trace(args.trace, torch.cuda.memory._snapshot()["device_traces"][0])
    except ImportError as e:
        result["skipped"] = str(e)
    except torch.OutOfMemoryError as e:
        result["out_of_memory"] = str(e)[:2000]
    tell(result)


if __name__ == "__main__":
    main()
