echo nothing >file; xseg report file -o page.html
