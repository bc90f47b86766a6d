"""The decoder's version: part of every fingerprint, so that a new version never mixes with results of an old one."""

VERSION = "0.1.0"
