"""What the job does to data, usable from any Beam pipeline.

Nothing that a decoding child imports (`transforms.decode` and all below it) may import Beam: that would cost every child memory and
start-up time.
"""
