xseg bench --quick --driver sim --json --only pair --contestants xseg --conf expandable_segments:False >/dev/null 2>&1 || exit
xseg bench --quick --driver sim --json --only pair --conf no_such_key:1,strict:true 
