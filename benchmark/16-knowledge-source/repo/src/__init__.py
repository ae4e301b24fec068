"""Knowledge probing: from triplets to the success rates of the probes."""
