"""Read prediction rows from any source and check them."""
