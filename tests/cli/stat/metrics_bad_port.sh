xseg metrics --port 70000
