"""The benchmark in the formats of other harnesses."""
