"""Draft the files of a new task or a new benchmark; facts that only a person knows are marked TODO, never invented."""
