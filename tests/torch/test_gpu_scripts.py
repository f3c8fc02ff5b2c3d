"""The scripts that measure PyTorch on a GPU, without one: pytorch_run.py and pytorch_compare.py over a worker of made-up figures."""
import collections
import itertools
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
GPU = os.path.join(HERE, "..", "gpu")
ALLOCATORS = ["native", "expandable", "xseg"]
WORKER = f"{sys.executable} {os.path.join(HERE, 'fake_worker.py')}"


def script(name, *arguments, **environment):
    return subprocess.run([sys.executable, "-B", os.path.join(GPU, name), *arguments], env={**os.environ, **environment},
                          capture_output=True, text=True, timeout=120)


def run(results, *arguments, **environment):
    return script("pytorch_run.py", results, "--worker", WORKER, *arguments, **environment)


def lines(results):
    with open(results) as f:
        return [json.loads(line) for line in f]


def turns(results):
    return [(r["workload"], r["allocator"], r["turn"]) for r in lines(results) if "turn" in r]


def table(results, ours, control=(1.0,) * 20, workload="lora"):
    """The line of a workload of which these times are known, beside native ones of 1 to 20."""
    run(results, "--workloads", workload, "--repeat", "1")
    native = list(range(1, 21))
    other = {"native": native, "expandable": [a * b for a, b in zip(native, control)], "xseg": [a * b for a, b in zip(native, ours)]}
    changed = [{**r, "ms": other[r["allocator"]]} for r in lines(results) if "turn" in r]
    with open(results, "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in changed)
    return next(x for x in script("pytorch_compare.py", results).stdout.splitlines() if x.startswith(workload))


def goes_on(results):
    assert run(results, "--workloads", "small,lora", "--repeat", "1").returncode == 0
    assert run(results, "--workloads", "small,lora", "--repeat", "2").returncode == 0
    expected = [(w, a, n) for n in (0, 1) for w in ("small", "lora") for a in ALLOCATORS]
    assert turns(results) == expected, turns(results)
    out = script("pytorch_compare.py", results)
    assert out.returncode == 0 and "6 passed, 0 failed, 0 skipped, 0 open" in out.stdout, out.stdout
    assert "+0.00" in out.stdout and "1.500" in out.stdout and "1.004" in out.stdout
    assert "90.0" in out.stdout and "2.667" in out.stdout and "1.33" in out.stdout  # hits, driver ms, growths


def goes_in_lockstep(results):
    log = results + ".log"
    run(results, "--workloads", "lora,generate", "--repeat", "1", FAKE_LOG=log)
    with open(log) as f:
        did = [tuple(line.split()) for line in f]
    for name in ("lora", "generate"):
        groups = [(a, int(n)) for w, a, n in did if w == name and n.isdigit() and n != "0"]
        assert [n for _, n in groups] == [n for n in range(1, 13) for _ in ALLOCATORS], groups
        order = [a for a, _ in groups]
        assert all(set(order[i:i + 3]) == set(ALLOCATORS) for i in range(0, 36, 3)), order
        for place in range(3):
            assert all(order[place::3].count(a) == 4 for a in ALLOCATORS), order
        after = collections.Counter(zip(order, order[1:] + order[:1]))
        assert after == {pair: 6 for pair in itertools.permutations(ALLOCATORS, 2)}, after
        begin, end = did.index((name, order[0], "1")), did.index((name, order[-1], "12"))
        assert all(w == name and n.isdigit() for w, _, n in did[begin:end + 1]), did  # nobody loads, none ends
    assert did.index(("generate", "xseg", "loading")) < did.index(("lora", "native", "1")), did  # but ahead of that


def groups_are_compared_in_pairs(results):
    line = table(results, [(n % 20 + 1) / n for n in range(1, 21)])  # the same times, each a group earlier
    assert "+9.55 (+6.67…+16.67)" in line and "time FAIL (20 groups)" in line, line


def slower_by_how_much(results):
    assert "+2.00 (+2.00…+2.00)" in (line := table(results, [1.02] * 20)) and "time FAIL" in line, line
    assert "+0.90" in (line := table(results, [1.009] * 20)) and "time ok" in line, line
    assert "+2.00 (+0.00…+2.00)" in (line := table(results, [1] * 6 + [1.02] * 14)) and "time open" in line, line
    assert "+2.00 (+2.00…+2.00)" in (line := table(results, [1] * 5 + [1.02] * 15)) and "time FAIL" in line, line
    assert "+0.00 (+0.00…+2.00)" in (line := table(results, [1.02] * 9 + [1] * 11)) and "time ok" in line, line
    line = table(results, [1] * 20, [1.5] * 9 + [1.4] * 11)
    assert "+0.00 (+0.00…+0.00) +40.00 (+40.00…+50.00)" in line and "time ok" in line, line


def small_may_be_no_slower(results):
    assert "time FAIL" in (line := table(results, [1.001] * 20, workload="small")), line
    assert "time open" in (line := table(results, [0.999] * 6 + [1.001] * 14, workload="small")), line
    assert "time ok" in (line := table(results, [0.999] * 14 + [1.001] * 6, workload="small")), line


def turns_add_up(results):
    run(results, "--workloads", "lora,generate", "--repeat", "1", FAKE_SLOWER="0.05")
    run(results, "--workloads", "lora,generate", "--repeat", "2", FAKE_SLOWER="0.02")
    out = script("pytorch_compare.py", results)
    assert out.returncode == 1 and out.stdout.count("+3.50 (+2.00…+5.00)") == out.stdout.count("time FAIL (24 groups)") == 2, out.stdout


def one_that_breaks_off_ends_the_turn(results):
    died, hung, full = "failed: no luck today\nexit status 1", "failed: killed after 5 s", "out_of_memory: CUDA out of memory."
    for how, when, why in (("DIES", "loading", died), ("DIES", 0, died), ("DIES", 2, died), ("HANGS", 2, hung), ("FULL", 0, full),
                           ("FULL", 2, full)):
        out = run(results, "--workloads", "lora,small", "--repeat", "2", "--patience", "5", **{f"FAKE_{how}": f"lora xseg {when}"})
        assert out.returncode == 0 and "left out: lora: 1 of 2 turns" in out.stdout, out.stdout + out.stderr
        assert turns(results) == [("lora", "xseg", 0)] + [("small", a, n) for n in (0, 1) for a in ALLOCATORS], turns(results)
        out = script("pytorch_compare.py", results)
        assert out.returncode == 1 and f"FAIL: xseg {why}" in out.stdout and "+0.00" in out.stdout, out.stdout + out.stderr
        os.remove(results)


def limits_by_bisection(results):
    out = run(results, "--workloads", "lora", "--repeat", "1", "--limits")
    assert out.returncode == 0 and "left out" not in out.stdout, out.stdout
    refused = {r["allocator"]: r["limit"] for r in lines(results) if "probe" in r and "losses" not in r}
    assert 10025 <= refused["xseg"] < 10040 and 10480 <= refused["expandable"] < 10500, refused
    out = script("pytorch_compare.py", results)
    line = next(x for x in out.stdout.split("smallest limit")[1].splitlines() if x.startswith("lora"))
    assert line.split()[1:3] == ["1.0500", "1.0040"] and line.endswith("ok"), out.stdout


def what_does_not_fit_is_left_out(results):
    out = run(results, "--minutes", "0.1", "--workloads", "lora,experts", "--repeat", "2", "--soak", "30")
    assert out.returncode == 0
    assert "left out: lora: 0 of 2 turns" in out.stdout and "left out: soak: 0.0 of 30.0 minutes" in out.stdout, out.stdout


def what_is_cut_off_is_no_failure(results):
    out = run(results, "--minutes", "0.2", "--grace", "0", "--guess", "0", "--workloads", "experts", "--repeat", "1",
              FAKE_HANGS="experts xseg 2")
    assert out.returncode == 0 and "left out: experts: 0 of 1 turns" in out.stdout and not turns(results), out.stdout
    assert script("pytorch_compare.py", results).returncode == 0


def soaks(results):
    out = run(results, "--minutes", "2", "--workloads", "lora", "--repeat", "1", "--soak", "1")
    assert out.returncode == 0 and "left out" not in out.stdout, out.stdout
    out = script("pytorch_compare.py", results)
    assert "70 steps, 700 allocations" in out.stdout and "100 MiB in the first third, 100 in the last: ok" in out.stdout, out.stdout
    assert " 100/90" * 10 in out.stdout, out.stdout


def a_soak_that_fails_is_told(results):
    run(results, "--minutes", "2", "--workloads", "lora", "--repeat", "1", "--soak", "1", FAKE_SOAK="out of luck")
    out = script("pytorch_compare.py", results)
    assert out.returncode == 1 and "soak: FAIL: exit status 1" in out.stdout, out.stdout


def what_is_missing_costs_no_table(results):
    run(results, "--workloads", "lora,generate", "--repeat", "1", "--limits")
    kept = [r for r in lines(results) if not (r["workload"] == "generate" and r["allocator"] == "xseg" and "turn" in r)]
    kept.append({"workload": "lora", "allocator": "expandable", "turn": 1, "failed": "no luck today"})
    with open(results, "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in kept)
    out = script("pytorch_compare.py", results)
    assert "generate          skipped: not run with all three" in out.stdout, out.stdout + out.stderr
    assert "FAIL: expandable failed: no luck today" in out.stdout and "smallest limit" in out.stdout, out.stdout + out.stderr


def failures_are_told_early(results):
    out = run(results, FAKE_DIES="small xseg 1")
    assert out.returncode == 1 and "the check failed with xseg:\nno luck today" in out.stderr, out.stderr
    assert not turns(results)


def skipped_is_no_pass(results):
    run(results, "--workloads", "maskrcnn", "--repeat", "3", FAKE_SKIPPED="maskrcnn")
    out = script("pytorch_compare.py", results)
    assert "0 passed, 0 failed, 1 skipped" in out.stdout and "torchvision" in out.stdout and len(turns(results)) == 3, out.stdout


def wrong_name_is_refused(results):
    assert run(results, "--workloads", "nothing").returncode == 2


tests = (goes_on, goes_in_lockstep, groups_are_compared_in_pairs, slower_by_how_much, small_may_be_no_slower, turns_add_up,
         one_that_breaks_off_ends_the_turn, limits_by_bisection, what_does_not_fit_is_left_out, what_is_cut_off_is_no_failure, soaks,
         a_soak_that_fails_is_told, what_is_missing_costs_no_table, failures_are_told_early, skipped_is_no_pass, wrong_name_is_refused)
for test in tests:
    with tempfile.TemporaryDirectory() as folder:
        test(os.path.join(folder, "results.jsonl"))
print(f"{len(tests)} passed, 0 failed")
