"""The scripts that measure PyTorch on a GPU, without one: pytorch_run.py and pytorch_compare.py over a worker of made-up figures."""
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
GPU = os.path.join(HERE, "..", "gpu")
WORKER = f"{sys.executable} {os.path.join(HERE, 'fake_worker.py')}"


def script(name, *arguments, **environment):
    return subprocess.run([sys.executable, os.path.join(GPU, name), *arguments], env={**os.environ, **environment},
                          capture_output=True, text=True, timeout=120)


def run(results, *arguments, **environment):
    return script("pytorch_run.py", results, "--worker", WORKER, *arguments, **environment)


def lines(results):
    with open(results) as f:
        return [json.loads(line) for line in f]


def turns(results):
    return [(r["workload"], r["allocator"], r["turn"]) for r in lines(results) if "turn" in r]


def alternates_and_goes_on(results):
    assert run(results, "--workloads", "small,lora", "--repeat", "1").returncode == 0
    assert run(results, "--workloads", "small,lora", "--repeat", "2").returncode == 0
    order = ["native", "expandable", "xseg"]
    expected = [(w, a, 0) for w in ("small", "lora") for a in order] + [(w, a, 1) for w in ("small", "lora") for a in order[::-1]]
    assert turns(results) == expected, turns(results)
    out = script("pytorch_compare.py", results)
    assert out.returncode == 0 and "6 passed, 0 failed, 0 skipped, 0 open" in out.stdout, out.stdout
    assert "+0.00" in out.stdout and "1.500" in out.stdout and "1.004" in out.stdout
    assert "90.0" in out.stdout and "2.667" in out.stdout and "1.33" in out.stdout  # hits, driver ms, growths


def slower_is_a_failure(results):
    run(results, "--workloads", "lora,generate", "--repeat", "2", FAKE_SLOWER="0.02")
    out = script("pytorch_compare.py", results)
    assert out.returncode == 1 and "+2.00" in out.stdout and out.stdout.count("time FAIL (2 turns)") == 2, out.stdout


def disagreement_is_no_result(results):
    run(results, "--workloads", "lora", "--repeat", "1", FAKE_SLOWER="0.05")
    run(results, "--workloads", "lora", "--repeat", "3", FAKE_SLOWER="0.015")
    run(results, "--workloads", "lora", "--repeat", "4", FAKE_SLOWER="0")
    out = script("pytorch_compare.py", results)
    assert "time open (4 turns)" in out.stdout and "1 open" in out.stdout, out.stdout


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
    out = run(results, "--minutes", "0.2", "--grace", "0", "--workloads", "experts", "--repeat", "1", FAKE_SLOW="experts")
    assert out.returncode == 0 and "left out: experts: 0 of 1 turns" in out.stdout and not turns(results), out.stdout
    assert script("pytorch_compare.py", results).returncode == 0


def soaks(results):
    out = run(results, "--minutes", "2", "--workloads", "lora", "--repeat", "1", "--soak", "1")
    assert out.returncode == 0 and "left out" not in out.stdout, out.stdout
    out = script("pytorch_compare.py", results)
    assert "in the first third, 100 in the last: ok" in out.stdout, out.stdout


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
    out = run(results, FAKE_BROKEN="xseg")
    assert out.returncode == 1 and "the check failed with xseg:\nno luck today" in out.stderr, out.stderr
    assert not turns(results)


def skipped_is_no_pass(results):
    run(results, "--workloads", "maskrcnn", "--repeat", "3", FAKE_SKIPPED="maskrcnn")
    out = script("pytorch_compare.py", results)
    assert "0 passed, 0 failed, 1 skipped" in out.stdout and "torchvision" in out.stdout and len(turns(results)) == 3, out.stdout


def wrong_name_is_refused(results):
    assert run(results, "--workloads", "nothing").returncode == 2


tests = (alternates_and_goes_on, slower_is_a_failure, disagreement_is_no_result, limits_by_bisection,
         what_does_not_fit_is_left_out, what_is_cut_off_is_no_failure, soaks, a_soak_that_fails_is_told,
         what_is_missing_costs_no_table, failures_are_told_early, skipped_is_no_pass, wrong_name_is_refused)
for test in tests:
    with tempfile.TemporaryDirectory() as folder:
        test(os.path.join(folder, "results.jsonl"))
print(f"{len(tests)} passed, 0 failed")
