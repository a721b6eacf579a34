"""The Python side of tests that need torch: one process, started once, that serves many cases.

`cupel run` starts it through its own worker (`cupel-worker`) and speaks the same frames with it (docs/reference/worker-protocol.md).
For an operator case it makes the inputs from the seed, runs the operator on the CPU, and hands back the values and the operator calls
that torch made, in the form of a torch.export program, so that the C++ side can lower, compile and judge them.
"""
