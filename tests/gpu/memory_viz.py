"""Snapshots in both directions, on a machine with PyTorch and a GPU.

memory_viz.py XSEG PROGRAM LIBRARY FOLDER: what the program (tests/snapshot/snapshot_script) writes on LIBRARY (the
driver, libcuda.so.1) opens in torch.cuda._memory_viz; what PyTorch writes is read by `xseg diagnose` and `report`.
"""

import os
import pickle
import subprocess
import sys

import torch
from torch.cuda import _memory_viz as viz

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../snapshot"))
import check_pytorch


def ours_opens_there(program, library, folder):
    os.makedirs(folder, exist_ok=True)
    environment = dict(os.environ, XSEG_TEST_SIM=library)
    subprocess.run([program, folder, "history:65536"], env=environment, check=True)
    with open(os.path.join(folder, "end.pickle"), "rb") as file:
        snapshot = pickle.load(file)
    for name, plot in (("trace", viz.trace_plot), ("segment", viz.segment_plot)):
        html = plot(snapshot)
        assert "snapshot.pickle" in html
        with open(os.path.join(folder, f"{name}.html"), "w") as file:
            file.write(html)
    print(viz.segsum(snapshot).splitlines()[-1])
    print(viz.trace(snapshot).splitlines()[-1])


def theirs_is_read_here(xseg, folder, expandable):
    torch.cuda.memory._set_allocator_settings(f"expandable_segments:{expandable}")
    torch.cuda.empty_cache()
    torch.cuda.memory._record_memory_history(max_entries=100000)
    model = torch.nn.Sequential(*[torch.nn.Linear(1024, 1024) for _ in range(8)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for step in range(6):
        model(torch.randn(256 + 64 * step, 1024, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    graph, still = torch.cuda.CUDAGraph(), torch.ones(1 << 20, device="cuda")
    with torch.cuda.graph(graph):
        result = (still * 2).sum()  # what it does not need any more stays in its private pool
    path = os.path.join(folder, f"torch-{expandable}.pickle")
    torch.cuda.memory._dump_snapshot(path)
    torch.cuda.memory._record_memory_history(enabled=None)
    text = subprocess.run([xseg, "diagnose", path], check=True, capture_output=True, text=True).stdout
    print(text)
    assert "No request was refused" in text and "free in them" in text, text
    block_by_block(xseg, path, folder)
    del model, optimizer, graph, still, result


def block_by_block(xseg, path, folder):
    with open(path, "rb") as file:
        snapshot = pickle.load(file)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        with open(path, "wb") as file:
            pickle.dump(snapshot, file, protocol)
        check_pytorch.check_page(check_pytorch.page_of(xseg, path, folder), snapshot)
    if "TORCH_SNAPSHOTS" in os.environ:  # a folder to keep them in
        os.makedirs(os.environ["TORCH_SNAPSHOTS"], exist_ok=True)
        os.replace(path, os.path.join(os.environ["TORCH_SNAPSHOTS"], os.path.basename(path)))


def refused_is_told(xseg, folder):
    torch.cuda.memory._record_memory_history(max_entries=1000)
    path = os.path.join(folder, "torch-refused.pickle")
    torch._C._cuda_attach_out_of_memory_observer(lambda *unused: torch.cuda.memory._dump_snapshot(path))
    held = [torch.empty(1 << 30, dtype=torch.uint8, device="cuda") for _ in range(4)]
    try:
        torch.empty(1 << 42, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        pass
    torch.cuda.memory._record_memory_history(enabled=None)
    text = subprocess.run([xseg, "diagnose", path], check=True, capture_output=True, text=True).stdout
    print(text)
    assert "wanted       4.00 TiB" in text and "This is not fragmentation" in text, text
    del held


def main(xseg, program, library, folder):
    ours_opens_there(program, library, folder)
    for expandable in (False, True):
        theirs_is_read_here(xseg, folder, expandable)
    refused_is_told(xseg, folder)
    print("memory_viz: 4 passed, 0 failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
