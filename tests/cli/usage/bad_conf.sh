xseg replay --driver sim --conf max_split_size_mb:3 "$DATA/small.trace"
