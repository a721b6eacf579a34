"""Peers of `cupel bench`: other runtimes that run the same program on the same inputs, timed in the same way.

Started by `cupel bench`, a process for each peer; needs only the packages of the peer that is asked for.
"""
