"""Load: a client that does not measure itself, and what its bytes say.

1. `closed_loop` sends and keeps: every byte that came back, and the kernel's stamp of every read. Nothing
   is parsed while it measures. `record` is how that is written down.
2. `rows` is a pure function from those bytes to one row for each request. It has a version; the same bytes
   give the same rows, bit for bit, on any machine and at any time.
3. `truth` is a server of ours that knows when it really wrote, and `resolution` compares: how far a
   figure of this client can be from what happened.

docs/load.md has the definitions and both file formats.
"""
