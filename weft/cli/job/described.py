"""What each key of a job file means, in one sentence: for the schema that editors read, and for the reference."""

from __future__ import annotations

__all__ = ["KEYS", "WINDOW_KEYS", "WINDOW_KINDS"]

_SOURCE = {
    "format": "The format of the stream, as in Spark's readStream.",
    "path": "The folder, or a pattern of folders, where files arrive.",
    "options": "Options of the format, as in Spark.",
    "schema": "The columns and their types, as SQL writes them. Required for files.",
    "where": "A filter on the rows of this source.",
    "select": "The columns of this source, as SQL expressions; by default all.",
    "max_files_per_trigger": "How many files one batch reads at most.",
}

KEYS: dict[str, dict[str, str]] = {
    "": {
        "checkpoint": "Spark's checkpoint folder. Keep it together with the state: a restart needs both.",
        "left": "The left stream, `l` in the condition.",
        "right": "The right stream, `r` in the condition.",
        "stream": "The stream of a self join, `a` and `b` in the condition; instead of left and right.",
        "join": "The join.",
        "sink": "Where the result goes.",
        "trigger": "When batches run; without it, one after the other.",
        "spark": "The Spark session.",
    },
    "left": _SOURCE,
    "right": _SOURCE,
    "stream": _SOURCE,
    "join": {
        "on": "The condition, SQL over `l` and `r`; in a self join over `a` and `b`.",
        "how": "The kind of join; by default inner.",
        "window": "Which rows are close enough to pair.",
        "state": "The folder where Weft keeps rows that can still match. The driver and all executors must be able to write it.",
        "scheme": "How the join is spread over tasks; by default Weft chooses.",
        "index": "How a task finds matches; by default Weft chooses.",
        "tasks": "The number of join tasks; by default one per core.",
        "select": "The columns of the result, as SQL expressions over `l` and `r`; by default all.",
        "suffix": "What is added to a right column that has the name of a left one.",
        "unordered": "In a self join: return each pair once, not in both orders.",
    },
    "sink": {
        "format": "The format of the sink, as in Spark's writeStream.",
        "path": "The folder of the result.",
        "options": "Options of the format, as in Spark.",
        "mode": "The output mode.",
        "partition_by": "Columns by which the files are put into folders.",
    },
    "trigger": {
        "available_now": "Process all data that is there, in several batches, then stop.",
        "processing_time": "Start a batch this often.",
        "once": "Process all data that is there in one batch, then stop.",
    },
    "spark": {
        "master": "Where Spark runs; by default all cores of this machine.",
        "conf": "Further settings of Spark, and those of Weft.",
    },
}
"""The meaning of each key, by table; "" is the top of the file."""

_TIME = {
    "kind": "The kind of window.",
    "on": "The time column of both sides.",
    "left": "The column of the left side, if the sides have different names for it.",
    "right": "The column of the right side, if the sides have different names for it.",
    "delay": "How late a row may be, behind the newest row of its stream. Later rows are dropped and counted.",
    "left_delay": "The delay of the left side alone.",
    "right_delay": "The delay of the right side alone.",
}
_ROWS = {**_TIME, "order": "The column that orders the rows of both sides; by default their arrival."}

WINDOW_KEYS: dict[str, dict[str, str]] = {
    "within": {
        **_TIME,
        "span": "How far apart the two times may be.",
        "before": "How much earlier the right row may be; instead of span.",
        "after": "How much later the right row may be; instead of span.",
    },
    "last": {**_ROWS, "rows": "How many rows of the other stream a row can meet."},
    "tumbling": {**_TIME, "size": "The length of a window, counted from the epoch."},
    "tumbling_rows": {**_ROWS, "rows": "How many rows of each stream make a group."},
    "unbounded": _TIME,
}
"""The meaning of each key of a window, by its kind."""

WINDOW_KINDS = {
    "within": "Rows whose times are at most a span apart.",
    "last": "Each row with the last rows of the other stream.",
    "tumbling": "Rows whose times fall into the same window.",
    "tumbling_rows": "Rows that are in the same group of rows, counted on each side.",
    "unbounded": "All rows. The state grows without bound.",
}
