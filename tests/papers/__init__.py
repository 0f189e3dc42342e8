"""Which items of the papers are shown by a test or a benchmark."""
