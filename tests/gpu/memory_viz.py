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
    path = os.path.join(folder, f"torch-{expandable}.pickle")
    torch.cuda.memory._dump_snapshot(path)
    torch.cuda.memory._record_memory_history(enabled=None)
    allocated = torch.cuda.memory_allocated()
    text = subprocess.run([xseg, "diagnose", path], check=True, capture_output=True, text=True).stdout
    print(text)
    assert "No request was refused" in text and allocated > 0
    subprocess.run([xseg, "report", path, "-o", path + ".html"], check=True)
    del model, optimizer


def main(xseg, program, library, folder):
    ours_opens_there(program, library, folder)
    for expandable in (False, True):
        theirs_is_read_here(xseg, folder, expandable)
    print("memory_viz: 3 passed, 0 failed")


if __name__ == "__main__":
    main(*sys.argv[1:])
