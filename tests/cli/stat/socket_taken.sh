echo precious >here.sock
xseg metrics --socket here.sock
cat here.sock
