"""Labels of privacy units, as two parts of a table may hold them."""

from datetime import date

import numpy as np
import pandas

DAYS = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="datetime64[D]")
LARGE = 2**53 + np.arange(1, 4)
# Three people whom two parts of a table name in labels of one kind,
ALIKE = {
    "widths": (np.arange(3, dtype=np.int8), np.arange(3, dtype=np.uint64)),
    "large numbers": (LARGE, LARGE.astype(np.uint64)),
    "numbers in a list": (np.arange(3), [0, np.uint8(1), 2]),
    "truth values": (np.array([0, 1, 2]), [False, True, 2]),
    "nullable numbers": (np.arange(3), pandas.Series(range(3), dtype="Int64")),
    "lengths of text": (np.array(["a", "b", "c"]), np.array(["a", "b", "c"], dtype="U9")),
    "text of pandas": (["a", "b", "c"], pandas.Series(["a", "b", "c"], dtype="string")),
    "categories": (["a", "b", "c"], pandas.Series(["a", "b", "c"], dtype="category")),
    "zeros": (np.array([0.0, 1.5, 2.0]), [-0.0, 1.5, np.float64(2)]),
    "days": (DAYS, DAYS[::-1]),
    "byte orders": (DAYS.astype("<M8[s]"), DAYS.astype(">M8[s]")),
    "tuples": ([("a", k) for k in range(3)], [("a", np.int16(k)) for k in range(3)]),
}
# or in labels that would make two of each.
UNLIKE = {
    "zeros in front": (["01", "02", "03"], [1, 2, 3]),
    "text": (np.array(["1", "2", "3"]), np.array([1, 2, 3])),
    "floats": (np.array([1, 2, 3]), np.array([1.0, 2.0, 3.0])),
    "large floats": (LARGE, LARGE.astype(float)),
    "precisions": (np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 0.3], dtype=np.float32)),
    "units of dates": (DAYS, DAYS.astype("datetime64[ns]")),
    "dates of Python": (DAYS, [date(2020, 1, day) for day in (1, 2, 3)]),
    "dates as text": (DAYS, DAYS.astype(str)),
    "moments": (DAYS.astype("datetime64[ns]"), list(pandas.Series(DAYS))),
    "durations": (DAYS - DAYS[0], DAYS.astype(np.int64) - DAYS[0].astype(np.int64)),
    "bytes": (np.array([b"a", b"b\0", b"c"]), [b"a", b"b\0", b"c"]),
    "text of bytes": (np.array(["a", "b", "c"]), np.array([b"a", b"b", b"c"])),
    "categories": (pandas.Series([1, 2, 3], dtype="category"), pandas.Series(list("123"))),
    "tuples": ([("a", 1), ("a", 2), ("a", 3)], [("a", "1"), ("a", "2"), ("a", "03")]),
    "tuples within": ([((1,), 1)] * 3, [(("1",), 1)] * 3),
    "sets": ([frozenset([k]) for k in (1, 2, 3)], [frozenset([str(k)]) for k in (1, 2, 3)]),
}
