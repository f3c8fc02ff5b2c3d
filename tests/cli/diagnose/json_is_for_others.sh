echo '{"segments": []}' >snapshot.json
xseg diagnose snapshot.json
