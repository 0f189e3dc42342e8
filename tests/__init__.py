"""Tests of Weft. Helpers are imported as `from weft_lab.oracle import ...`."""
