"""Frameworks over the preload: preload_frameworks.py torch|torch_graph|cupy|jax

Results go to standard output, and must be the same with and without it. torch answers each line of its standard input
with a window, a step of each of six lengths: 'SECONDS LOSS...'; at the end 'peak BYTES' goes to standard error. It ends by
a signal after XSEG_TEST_SECONDS.
"""
import os
import signal
import sys
import time


def torch_training():
    import torch
    import torch.nn.functional as F

    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.use_deterministic_algorithms(True, warn_only=True)
    for fused in ("flash", "mem_efficient", "cudnn"):  # their backward adds up in any order
        getattr(torch.backends.cuda, "enable_%s_sdp" % fused)(False)
    layer = lambda: torch.nn.TransformerEncoderLayer(1024, 16, 4096, dropout=0.0, batch_first=True)
    model = torch.nn.Sequential(*[layer() for _ in range(8)], torch.nn.Linear(1024, 256)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    inputs = [
        (torch.randn(16, length, 1024).pin_memory(), torch.randint(0, 256, (16, length)).pin_memory())
        for length in (128, 512, 320, 448, 256, 384)
    ]

    def step(x, y):
        x, y = x.cuda(non_blocking=True), y.cuda(non_blocking=True)
        with torch.autocast("cuda", torch.bfloat16):
            loss = F.cross_entropy(model(x).flatten(0, 1).float(), y.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    for _ in sys.stdin:
        torch.cuda.synchronize()
        begin = time.perf_counter()
        losses = [step(x, y) for x, y in inputs]
        torch.cuda.synchronize()
        seconds = time.perf_counter() - begin
        print("%.6f" % seconds, *["%.7f" % loss.item() for loss in losses], flush=True)
    if not os.environ.get("PYTORCH_NO_CUDA_MEMORY_CACHING"):
        print("peak %d" % torch.cuda.max_memory_reserved(), file=sys.stderr)


def torch_graph():
    import torch

    x = torch.ones(1024, 1024, device="cuda")
    for _ in range(3):
        y = (x @ x).relu().sum()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = (x @ x).relu().sum()
    for i in range(5):
        x.fill_(i)
        z = torch.ones(1 << (16 + i), device="cuda")
        graph.replay()
        print("graph", y.item(), z.sum().item())


def cupy_loop():
    import cupy

    cupy.cuda.set_allocator(None)
    total = 0.0
    for i in range(300):
        a = cupy.arange(100000 + i * 1000, dtype=cupy.float64)
        total += float((a * 2 + 1).sum()) + float(cupy.sort(a[::-1])[i])
    print("cupy %.1f" % total)


def jax_loop():
    import jax
    import jax.numpy as jnp

    @jax.jit
    def step(w, x):
        return w - 0.01 * jax.grad(lambda w: jnp.mean((jnp.tanh(x @ w) - 0.5) ** 2))(w)

    w = jnp.full((512, 512), 0.01)
    for i in range(100):
        w = step(w, jnp.linspace(0, 1, (64 + i % 7) * 512).reshape(-1, 512))
    print("jax %.6f" % float(jnp.sum(w)))


signal.alarm(int(os.environ.get("XSEG_TEST_SECONDS", "0")))
{
    "torch": torch_training,
    "torch_graph": torch_graph,
    "cupy": cupy_loop,
    "jax": jax_loop,
}[sys.argv[1]]()
