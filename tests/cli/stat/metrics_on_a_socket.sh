[ -w /dev/shm ] || exit 77 # where the page lies
. "$DATA/wait.sh"
command -v python3 >/dev/null || exit 77
XSEG_SIM_DATA=0 xseg replay --driver sim --passes 1000 "$DATA/../../../bench/traces/llama_varlen.trace.gz" >out 2>&1 &
pid=$!
xseg metrics --socket here.sock &
server=$!
wait_for test -S here.sock
wait_for xseg stat $pid
stat -c %a here.sock
python3 -c "
import socket
s = socket.socket(socket.AF_UNIX)
s.connect(\"here.sock\")
s.sendall(b\"GET /metrics HTTP/1.0\\r\\n\\r\\n\")
text = b\"\"
while more := s.recv(65536):
    text += more
head, body = text.decode().split(\"\\r\\n\\r\\n\", 1)
print(head.splitlines()[0])
print(any(l.startswith(\"xseg_reserved_bytes{pid=\\\"$pid\\\",command=\\\"xseg\\\",device=\\\"0\\\"} \") for l in body.splitlines()))
"
kill $server $pid
wait 2>/dev/null
true
