"""What a person sees of a job: the plan before it, the summary after it."""
