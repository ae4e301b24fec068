"""The benchmark's own tasks, run: record the references, check that a task is sound, note what was proved."""
