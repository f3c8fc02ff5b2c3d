cp "$DATA/small.trace" 'odd "name"\.trace'
xseg replay --driver sim --json --passes 2 "$DATA/small.trace" 'odd "name"\.trace' >out || exit
while read -r line; do
    printf '%s\n' "$line" | python3 -m json.tool >/dev/null || exit
done <out
wc -l <out
