"""Random programs through torch.compile: whatever the scopes and waits, results equal eager's.

`generator` writes a program, `compare` runs it against eager, `shrink` makes a failing one small,
`check` puts the three together, and `python -m fuzz` (half of `./dev fuzz`) runs many.
"""
