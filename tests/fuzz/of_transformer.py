"""Model files with the transformers and weak learners of scikit-learn that plackett can save."""

from __future__ import annotations

import functools
import warnings

from sklearn import impute, linear_model, naive_bayes, pipeline, preprocessing, svm

import plackett as pk
from tests.fuzz.of_model import OURS, QID, SUFFIX, X, Y, as_bytes, mutate, ranker, read

__all__ = ["OURS", "SUFFIX", "TRANSFORMERS", "fitted", "mutate", "read", "seeds"]

TRANSFORMERS = [
    preprocessing.StandardScaler(),
    preprocessing.StandardScaler(with_mean=False, with_std=False),
    preprocessing.MinMaxScaler((-1, 1), clip=True),
    preprocessing.MaxAbsScaler(),
    preprocessing.RobustScaler(),
    preprocessing.QuantileTransformer(n_quantiles=5, output_distribution="normal"),
    preprocessing.PowerTransformer(),
    preprocessing.PowerTransformer("box-cox", standardize=False),
    preprocessing.OneHotEncoder(handle_unknown="ignore"),
    preprocessing.OneHotEncoder(drop="first", sparse_output=False),
    preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    impute.SimpleImputer(missing_values=0.5, strategy="median"),
    impute.SimpleImputer(missing_values=0.5, strategy="constant", fill_value=7),
    pipeline.make_pipeline(impute.SimpleImputer(missing_values=0.5), preprocessing.StandardScaler(), "passthrough"),
]
LEARNERS = [
    linear_model.LogisticRegression(),
    linear_model.Perceptron(),
    linear_model.SGDClassifier(random_state=0),
    svm.LinearSVC(),
    naive_bayes.GaussianNB(),
    naive_bayes.BernoulliNB(binarize=0.7),
    pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.LogisticRegression()),
]


@functools.cache
def fitted():
    """Return rankers with every transformer, and refiners with every weak learner."""
    models = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in TRANSFORMERS:
            models.append(ranker("regression", normalize=one).fit(X, Y, qid=QID))
        for one in LEARNERS:
            size = None if hasattr(one, "coef_") or not isinstance(one, pipeline.Pipeline) else "paper"
            refiner = pk.MultiplicativeRefiner(n_rounds=2, estimator=one, sample_size=size, random_state=0)
            models.append(refiner.fit(X, Y, qid=QID, base_score=X[:, 0]))
    return models


def seeds():
    return [as_bytes(model) for model in fitted()]
