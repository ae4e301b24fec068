"""Draft what a new task or a new benchmark begins with; what only a person can say is marked TODO, never made up."""
