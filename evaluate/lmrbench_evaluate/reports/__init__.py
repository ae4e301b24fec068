"""Turn the rows of runs into reports: scores, statistics, agreement, tables, text and HTML."""
