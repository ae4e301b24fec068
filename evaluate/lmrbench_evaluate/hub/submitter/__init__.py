"""The submitter's side: a run becomes a pull request, and a verified one gives a model page its scores."""
