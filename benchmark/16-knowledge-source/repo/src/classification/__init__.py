"""Linear probes of the knowledge source."""
