"""TrustGraph as a place to read a library from, and to bring results to."""
