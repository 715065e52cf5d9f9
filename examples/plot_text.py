"""
Texts, and where the vocabulary comes from
==========================================

*Can I learn from texts without giving away who wrote which word?*

A vocabulary that is read off private texts publishes every rare word in them. Take one from public
texts, or none, as ``HashingVectorizer`` does. What is learned about the words is then protected by
the private model alone.

Real texts that need no download: paragraphs of the documentation inside scikit-learn and NumPy.
Each paragraph is a row. Which of the two libraries does it come from?
"""

# %%

import re
import sysconfig
from pathlib import Path

import numpy as np
import sklearn


def paragraphs(folder, files="**/*.py"):
    """Paragraphs of at least ten words in the docstrings of a folder, each once."""
    sources = (path.read_text(errors="ignore") for path in sorted(Path(folder).glob(files)))
    docstrings = (doc for text in sources for doc in re.findall(r'"""(.+?)"""', text, re.DOTALL))
    found = (part for doc in docstrings for part in re.split(r"\n\s*\n", doc))
    return [part for part in dict.fromkeys(found) if len(part.split()) >= 10 and ">>>" not in part]


texts = [paragraphs(Path(library.__file__).parent) for library in (np, sklearn)]
y = np.repeat([0, 1], [len(part) for part in texts])
print(f"{len(texts[0]):,} paragraphs of NumPy, {len(texts[1]):,} of scikit-learn")

# %%
# The vocabulary is that of Python's own standard library, which says nothing about the rows. Each
# row is then scaled to length 1 by itself, so ``data_norm=1`` is known and costs nothing.

from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

public = paragraphs(sysconfig.get_path("stdlib"), "*.py")
vocabulary = CountVectorizer(
    binary=True, max_features=4_000, stop_words="english", token_pattern="[a-z]{3,}"
).fit(public)
X = normalize(vocabulary.transform(texts[0] + texts[1]).astype(float))
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# Rows stay sparse. A part of the budget finds out which words are frequent, so that rare ones, of
# which nothing but noise would be learned, do not drown the others.

from sklearn.linear_model import LogisticRegression

from skdp import DPLogisticRegression

exact = LogisticRegression(C=10).fit(X_train, y_train)
fits = [
    DPLogisticRegression(epsilon=1.0, data_norm=1.0, classes=[0, 1]).fit(X_train, y_train)
    for _ in range(10)
]
accuracy = np.mean([fit.score(X_test, y_test) for fit in fits])
print(f"accuracy without privacy  {exact.score(X_test, y_test):.3f}")
print(f"accuracy with epsilon = 1 {accuracy:.3f}, mean of ten fits")

# %%
# What it has learned
# -------------------
# The words with the largest coefficients in the mean of ten fits. Each dot is one fit: how far they
# scatter is what noise does to a single model.

import matplotlib.pyplot as plt

coefs = np.array([fit.coef_.ravel() for fit in fits])
order = np.argsort(coefs.mean(axis=0))
chosen = [*order[:10], *order[-10:]]
words = vocabulary.get_feature_names_out()[chosen]

figure, ax = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
places = np.arange(20)
for fit in coefs[:, chosen]:
    ax.plot(fit, places, ".", color="0.3", markersize=4)
ax.barh(places, coefs[:, chosen].mean(axis=0), color=np.repeat(["C1", "C0"], 10), alpha=0.6)
ax.set_yticks(places, words)
ax.axvline(0, color="black", linewidth=0.8)
ax.text(0.02, 0.95, "speaks for NumPy", color="C1", transform=ax.transAxes)
ax.text(0.98, 0.05, "speaks for scikit-learn", color="C0", transform=ax.transAxes, ha="right")
ax.set(
    xlabel="coefficient: a dot for each private fit, bars for means",
    title=f"Epsilon = 1 leaves the telling words, and {accuracy:.0%} right answers",
)
plt.show()
