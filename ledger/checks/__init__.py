"""The checks of verification: small pure pieces, each with its rules in prose and then in code.

What they find are values (`finding`). None of them opens a file or a database; what they look up,
they are given as functions.
"""
