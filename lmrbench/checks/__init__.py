"""Run the benchmark's own tasks: record the references, check that tasks are sound, keep the proofs."""
