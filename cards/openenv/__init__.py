"""LMR-Bench as an OpenEnv environment."""
