"""Child processes that can be killed, forked from a warm zygote: what every document is decoded in."""
