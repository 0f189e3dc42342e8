"""The front end of a Spark Connect session: sqlglot reads the text, the server says what it means."""

from __future__ import annotations

from weft.spark.connect.front import ConnectFront

__all__ = ["ConnectFront"]
