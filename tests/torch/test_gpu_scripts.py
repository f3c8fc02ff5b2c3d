"""The scripts that measure PyTorch on a GPU, without one: pytorch_run.py and pytorch_compare.py over a worker of made-up figures, and
the order in which pytorch_workload.py does things, without PyTorch."""
import collections
import itertools
import json
import os
import random
import runpy
import subprocess
import sys
import tempfile
from unittest import mock

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
GPU = os.path.join(HERE, "..", "gpu")
ALLOCATORS = ["native", "expandable", "xseg"]
WORKER = f"{sys.executable} {os.path.join(HERE, 'fake_worker.py')}"


def script(name, *arguments, **environment):
    return subprocess.run([sys.executable, "-B", os.path.join(GPU, name), *arguments], env={**os.environ, **environment},
                          capture_output=True, text=True, timeout=120)


def run(results, *arguments, **environment):
    return script("pytorch_run.py", results, "--worker", WORKER, "--seconds", "0", *arguments, **environment)


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
    assert "+0.00" in out.stdout and "1.500" in out.stdout and "1.025" in out.stdout
    assert "90.0" in out.stdout and "2.667" in out.stdout and "1.33" in out.stdout  # hits, driver ms, growths


def goes_in_lockstep(results):
    log = results + ".log"
    run(results, "--workloads", "lora,generate", "--repeat", "1", FAKE_LOG=log)
    with open(log) as f:
        did = [tuple(line.split()) for line in f]
    for name in ("lora", "generate"):
        groups = [(a, int(n)) for w, a, n in did if w == name and n.isdigit() and n != "0"]
        assert [n for _, n in groups] == [n for n in range(1, 7) for _ in ALLOCATORS], groups
        order = [a for a, _ in groups]
        assert all(set(order[i:i + 3]) == set(ALLOCATORS) for i in range(0, 18, 3)), order
        for place in range(3):
            assert all(order[place::3].count(a) == 2 for a in ALLOCATORS), order
        after = collections.Counter(zip(order, order[1:] + order[:1]))
        assert after == {pair: 3 for pair in itertools.permutations(ALLOCATORS, 2)}, after
        begin, end = did.index((name, order[0], "1")), did.index((name, order[-1], "6"))
        assert all(w == name and n.isdigit() for w, _, n in did[begin:end + 1]), did  # nobody loads, none ends
    assert did.index(("generate", "xseg", "loading")) < did.index(("lora", "native", "1")), did  # but ahead of that


def those_that_take_turns_share_a_core(results):
    run(results, "--workloads", "lora", "--repeat", "1", "--limits")
    all_cores = sorted(os.sched_getaffinity(0))
    assert [r["cores"] for r in lines(results) if "turn" in r] == [all_cores[-1:]] * 3, lines(results)
    assert all(r["cores"] == all_cores for r in lines(results) if "probe" in r and "cores" in r), lines(results)


def groups_are_as_many_as_time_allows(results):
    run(results, "--workloads", "lora", "--repeat", "1", "--seconds", "0.5")
    many = {len(r["ms"]) for r in lines(results) if "turn" in r}
    assert len(many) == 1 and max(many) > 6 and max(many) % 6 == 0, many


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
    assert out.returncode == 1 and out.stdout.count("+3.50 (+2.00…+5.00)") == out.stdout.count("time FAIL (12 groups)") == 2, out.stdout


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


def edited(results, change):
    """What change makes of each line; None: without it."""
    changed = [change(r) for r in lines(results)]
    with open(results, "w") as f:
        f.writelines(json.dumps(r) + "\n" for r in changed if r)


def limit_line(results, workload="lora"):
    out = script("pytorch_compare.py", results).stdout
    return next(x for x in out.split("smallest limit")[1].splitlines() if x.startswith(workload) and "failed at" not in x)


def tries(results):
    return {(r["allocator"], r["limit"]): "losses" in r for r in lines(results) if "probe" in r}


def limits_by_bisection(results):
    out = run(results, "--workloads", "lora", "--repeat", "1", "--limits")
    assert out.returncode == 0 and "left out" not in out.stdout, out.stdout
    # of xseg: 10020 10050 10100 10200; of expandable also 10250, what xseg takes by itself, 10300 and 10400
    assert tries(results) == {("xseg", 10100): True, ("xseg", 10050): True, ("xseg", 10020): False, ("expandable", 10200): True,
                              ("expandable", 10050): False, ("expandable", 10100): False}, tries(results)
    line = limit_line(results)
    assert line.split()[1:] == ["1.0200", "1.0050", "0.00", "10.0", "0.00", "2.67", "10.0", "ok"], line
    before = len(lines(results))
    run(results, "--workloads", "lora", "--repeat", "0", "--limits")
    assert not [r for r in lines(results)[before:] if "probe" in r]  # they are known


def a_larger_limit_fails(results):
    run(results, "--workloads", "lora", "--repeat", "1", "--limits")
    edited(results, lambda r: None if "probe" in r and r["allocator"] == "xseg" else r)
    line = limit_line(results)
    assert line.split()[1:] == ["1.0200", "1.0250", "0.00", "10.0", "-", "-", "-", "FAIL"], line


def tries_side_by_side(results):
    """As many at once as have room."""
    run(results, "--workloads", "lora,generate,experts,accumulation,llama_varlen", "--repeat", "1")
    for factor, most in ((1, 8), (4, 2), (40, 1)):  # GiB: 10, 40 and 400 each, of 120
        edited(results, lambda r: {**r, "requested": r["requested"] * factor, "reserved": r["reserved"] * factor})
        log = f"{results}.{factor}.log"
        out = run(results, "--workloads", "lora,generate,experts,accumulation,llama_varlen", "--repeat", "0", "--limits", FAKE_LOG=log,
                  FAKE_NAP="0.3")
        assert out.returncode == 0 and "left out" not in out.stdout, out.stdout + out.stderr
        with open(log) as f:
            did = [line.split()[2] for line in f if not line.startswith("small")]
        now = list(itertools.accumulate({"loading": 1, "ending": -1, "full": -1}.get(what, 0) for what in did))
        assert max(now) == most and now[-1] == 0, (factor, now)
        edited(results, lambda r: None if "turn" not in r else
               {**r, "requested": r["requested"] // factor, "reserved": r["reserved"] // factor})


def a_try_that_hangs(results):
    out = run(results, "--workloads", "lora,generate", "--repeat", "1", "--limits", "--patience", "4", FAKE_STUCK="lora xseg 10100")
    assert out.returncode == 0 and tries(results)["xseg", 10100] is False, out.stderr
    out = script("pytorch_compare.py", results)
    assert out.returncode == 1 and "lora: xseg failed at 10100 MiB: killed after 4 s" in out.stdout, out.stdout
    assert limit_line(results).split() == ["lora", "FAIL"] and limit_line(results, "generate").endswith("ok"), out.stdout


def limits_that_do_not_fit_are_left_out(results):
    run(results, "--workloads", "lora", "--repeat", "1")
    out = run(results, "--workloads", "lora,experts", "--repeat", "0", "--limits", "--minutes", "0.1")
    for what in ("limit of lora with xseg: not tried at [10020,", "limit of lora with expandable: not", "limits of experts: it has no turn"):
        assert f"left out: {what}" in out.stdout, out.stdout


def losses_are_the_same_or_as_near(results):
    for own, ours, verdict in ((1.5, 1.5, "same"), (1.5, 1.5001, "FAIL"), (1.5001, 1.5003, "ok"), (1.5001, 1.5004, "FAIL")):
        run(results, "--workloads", "lora", "--repeat", "1")
        losses = {"native": [1.5] * 4, "expandable": [1.5] * 3 + [own], "xseg": [1.5] * 3 + [ours]}
        edited(results, lambda r: {**r, "losses": [x.hex() for x in losses[r["allocator"]]]})
        out = script("pytorch_compare.py", results).stdout
        assert ("same" in out) == (ours == 1.5) and f"losses {'FAIL' if verdict == 'FAIL' else 'ok'}" in out, out
        os.remove(results)


def requested_is_what_native_says(results):
    run(results, "--workloads", "lora", "--repeat", "1")
    edited(results, lambda r: {**r, "requested": r["reserved"]} if r["allocator"] == "xseg" else r)
    out = script("pytorch_compare.py", results).stdout
    assert "1.025" in out and "1.000" not in out, out


class Shape:
    """A tensor of which there is but the shape."""

    def __init__(self, *shape):
        self.shape = shape

    def __getitem__(self, _):
        return self

    def __getattr__(self, _):
        return lambda *_a, **_k: self


def shapes(name, groups):
    """Of the data of a workload, in the order measure() has them, over a model that does nothing; and the workload."""
    torch, model, seen = mock.MagicMock(), mock.MagicMock(), []
    torch.nn.Module = object
    torch.no_grad = lambda: lambda function: function
    torch.Generator = lambda: mock.Mock(manual_seed=random.Random)
    torch.initial_seed.return_value = 0
    torch.randint = lambda low, high, shape, generator: Shape(*shape) if shape else generator.randrange(low, high)
    torch.cuda.memory_stats.return_value = collections.defaultdict(int)
    loss = torch.nn.functional.cross_entropy.return_value
    loss.__truediv__.return_value = loss
    model.bfloat16.return_value = model.bfloat16.return_value.eval.return_value = model
    model.side_effect = lambda tokens, *_: seen.append(tokens.shape) or mock.MagicMock()
    modules = {"torch": torch, "torch.nn": torch.nn, "torch.nn.functional": torch.nn.functional, "torch.utils": torch.utils,
               "torch.utils.checkpoint": torch.utils.checkpoint}
    argv = ["pytorch_workload.py", "native", name, "--groups", str(groups)]
    with mock.patch.dict(sys.modules, modules), mock.patch.object(sys, "argv", argv), mock.patch.dict(os.environ):
        worker = runpy.run_path(os.path.join(GPU, argv[0]), run_name="worker")
        worker["measure"].__globals__["Llama"] = lambda **_: model
        result = worker["measure"](name)
    return [x for x in seen if isinstance(x, tuple)], result, worker["WORKLOADS"][name]


def what_is_timed_was_in_the_warm_up(_results):
    for name, each in (("llama_varlen", 1), ("accumulation", 4), ("generate", 1)):
        had, result, (_, period, size) = shapes(name, 13)
        once = had[:period * each]
        assert len(set(once)) > 5 and had == [*once, *itertools.islice(itertools.cycle(once), 13 * size * each)], name
        assert result["steps"] == 13 * size and len(result["ms"]) == 13, result
        had, result, _ = shapes(name, 0)
        assert had == once and result["steps"] == period // 2 and len(result["ms"]) == 1, name


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


tests = (goes_on, goes_in_lockstep, those_that_take_turns_share_a_core, groups_are_as_many_as_time_allows, groups_are_compared_in_pairs,
         slower_by_how_much, small_may_be_no_slower, turns_add_up,
         one_that_breaks_off_ends_the_turn, limits_by_bisection, a_larger_limit_fails, tries_side_by_side, a_try_that_hangs,
         limits_that_do_not_fit_are_left_out, losses_are_the_same_or_as_near, requested_is_what_native_says,
         what_is_timed_was_in_the_warm_up, what_does_not_fit_is_left_out, what_is_cut_off_is_no_failure, soaks,
         a_soak_that_fails_is_told, what_is_missing_costs_no_table, failures_are_told_early, skipped_is_no_pass, wrong_name_is_refused)
for test in tests:
    with tempfile.TemporaryDirectory() as folder:
        test(os.path.join(folder, "results.jsonl"))
print(f"{len(tests)} passed, 0 failed")
