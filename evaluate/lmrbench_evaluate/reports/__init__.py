"""From the rows of runs to what people read: scores, statistics, agreement, tables, text and HTML."""
