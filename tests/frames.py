"""Libraries of data frames that tests ask for, with a reason where they cannot be had."""

from types import ModuleType

import pytest
import sklearn
from sklearn.utils.fixes import parse_version


def polars() -> ModuleType:
    library = pytest.importorskip("polars", reason="needs polars: pip install polars")
    # What scikit-learn used to read names through; polars 2 has it no more.
    readable = hasattr(library.DataFrame, "__dataframe__")
    if not readable and parse_version(sklearn.__version__) < parse_version("1.9"):
        pytest.skip("names of the columns of polars 2 need scikit-learn 1.9")
    return library
