"""Predictions: rows read from any source and checked."""
