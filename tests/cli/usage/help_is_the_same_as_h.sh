xseg replay -h | cmp - "$(xseg help replay >help && echo help)"
