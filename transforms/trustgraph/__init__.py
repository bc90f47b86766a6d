"""What the job and TrustGraph say to each other: its gateway, and the library that stands behind it."""
