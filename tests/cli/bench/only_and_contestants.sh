xseg bench --quick --driver sim --json --only churn,pair --contestants glibc 2>/dev/null >out || exit
cut -d, -f1,2,6 out
