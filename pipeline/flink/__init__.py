"""Running the job on Flink: submission and its defaults, checks on the cluster, progress, the worker's boot, a cluster for development."""
