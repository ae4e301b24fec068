"""From raw answers to intensities, from intensities to the empathy gap."""
