"""The parts that SimPO trains on: a tiny language model and preference data."""
