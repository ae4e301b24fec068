"""A run: many predictions evaluated into one folder, which is resumed and read back (`evaluate`, `folder`, `jsonl`)."""
