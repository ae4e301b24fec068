"""The SimPO trainer and its settings."""
