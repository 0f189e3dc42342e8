"""Tests of Weft. Helpers are imported as `from tests.oracle import ...`."""
