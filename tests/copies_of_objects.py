"""Ways in which an object travels or is copied."""

import copy
import io
import pickle

import joblib


def through_joblib(thing):
    buffer = io.BytesIO()
    joblib.dump(thing, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


COPIES = {
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "oldest pickle": lambda thing: pickle.loads(pickle.dumps(thing, protocol=0)),
    "joblib": through_joblib,
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}
