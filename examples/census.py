"""What the examples share about the 1994 census extract: where it lies, and its code book."""

import os
from pathlib import Path

import pandas as pd
from sklearn.datasets import fetch_openml

NUMBERS = {"age": (17, 90), "education-num": (1, 16), "hours-per-week": (1, 99)}
AMOUNTS = {"capital-gain": 99_999, "capital-loss": 4_356}
CATEGORIES = {
    "workclass": "? Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc "
    "State-gov Without-pay",
    "education": "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors "
    "Doctorate HS-grad Masters Preschool Prof-school Some-college",
    "marital-status": "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent "
    "Never-married Separated Widowed",
    "occupation": "? Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing "
    "Handlers-cleaners Machine-op-inspct Other-service Priv-house-serv Prof-specialty "
    "Protective-serv Sales Tech-support Transport-moving",
    "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
    "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
    "sex": "Female Male",
    "native-country": "United-States",  # the others share the all-zero code
}
LABELS = ["<=50K", ">50K"]
# Those for training are the first so many rows.
TRAINING_ROWS = 32_561


def folder():
    """Where benchmark data are: SKDP_DATA, else ``shared/data`` beside the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("SKDP_DATA") or beside)


def fetched(fetch, *args, **options):
    """What a function of scikit-learn downloads; without a network the program ends."""
    try:
        return fetch(*args, **options)
    except OSError as error:
        raise SystemExit(
            f"This example needs data, which are not in {folder()} and could not be downloaded "
            f"({error}). Connect to the network, or set SKDP_DATA to a folder that has them."
        ) from None


def table():
    """The whole extract, with a column ``"split"`` of ``"train"`` and ``"test"``.

    From ``adult_raw.csv.gz`` in the folder of data, else the copy of OpenML.
    """
    path = folder() / "adult_raw.csv.gz"
    if path.is_file():
        return pd.read_csv(path)
    found = fetched(fetch_openml, "adult", version=2, as_frame=True).frame.rename(
        columns={"class": "income"}
    )
    words = found.select_dtypes("category").columns
    found[words] = found[words].astype(object).fillna("?")
    found["split"] = ["train"] * TRAINING_ROWS + ["test"] * (len(found) - TRAINING_ROWS)
    return found


def known_categories():
    """In the form that ``OneHotEncoder`` takes."""
    return [names.split() for names in CATEGORIES.values()]
