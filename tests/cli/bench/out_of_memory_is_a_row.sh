XSEG_SIM_CAPACITY=128MiB xseg bench --quick --driver sim --json --only pair --contestants cuMemAlloc >out 2>err
status=$?
python3 -c '
import json
rows = [json.loads(line) for line in open("out")]
print(len(rows), rows[0]["size"], rows[-1]["ns_per_pair"], rows[-1]["error"])'
grep -c 'pair: cuMemAlloc: alloc of 268435456 bytes' err
exit $status
