"""The weights of a candidate: which files, which bytes, and what should not be among them.

A snapshot comes from strangers. Nothing of it is unpickled, imported, inflated or executed; every number
in it is a claim, and is compared with what is there before anything is allocated or read by it.
"""
