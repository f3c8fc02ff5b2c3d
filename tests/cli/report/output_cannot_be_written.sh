xseg report "$DATA/small.trace" -o nowhere/page.html
