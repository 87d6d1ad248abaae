"""More of scikit-learn: columns of categories, several inputs, and estimators of every kind."""

from functools import partial

import numpy as np

from .entry import Entry
from .tables import estimator

SETS = {"": 21, "ai.onnx.ml": 3}
COLUMNS = {"age": float, "income": float, "grade": int, "region": int}
"""A small table with inputs of their own: two of numbers, two of categories."""


def _table(rng, n):
    columns = {"age": rng.normal(40, 12, n), "income": rng.normal(50, 15, n)}
    columns = {name: np.round(values, 1).astype("f4") for name, values in columns.items()}
    return {**columns, "grade": rng.integers(0, 5, n), "region": rng.integers(0, 8, n)}


def _inputs(rng, n):
    return {name: values[:, None] for name, values in _table(rng, n).items()}


def _mixed(encoder, model, path):
    """What skl2onnx writes of encoders of categories, a scaler and a model behind them."""
    import pandas
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    table = pandas.DataFrame(_table(np.random.default_rng(0), 400))
    told = table["age"] + 20 * (table["grade"] % 3) + 5 * table["region"]
    parts = [("numbers", StandardScaler(), ["age", "income"]),
             ("categories", encoder(), ["grade", "region"])]  # fmt: skip
    fitted = make_pipeline(ColumnTransformer(parts), model()).fit(table, told > told.median())
    kinds = {float: FloatTensorType, int: Int64TensorType}
    types = [(name, kinds[kind]([None, 1])) for name, kind in COLUMNS.items()]
    made = convert_sklearn(fitted, initial_types=types, target_opset=SETS)
    path.write_bytes(made.SerializeToString())


def _kinds():
    """Names, data sets, and functions that make estimators of scikit-learn."""
    from sklearn import (
        discriminant_analysis,
        ensemble,
        feature_selection,
        gaussian_process,
        linear_model,
        mixture,
        multiclass,
        naive_bayes,
        neighbors,
        svm,
        tree,
    )
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.cluster import KMeans
    from sklearn.decomposition import KernelPCA
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer

    logistic = partial(linear_model.LogisticRegression, max_iter=2000)
    kernel = gaussian_process.kernels.RBF()
    members = [("tree", tree.DecisionTreeRegressor(max_depth=3)), ("ridge", linear_model.Ridge())]
    return [
        ("LinearDiscriminantAnalysis", "iris", discriminant_analysis.LinearDiscriminantAnalysis),
        ("QuadraticDiscriminantAnalysis", "iris",
         discriminant_analysis.QuadraticDiscriminantAnalysis),
        ("BernoulliNB", "digits", partial(naive_bayes.BernoulliNB, binarize=8.0)),
        ("MultinomialNB", "digits", naive_bayes.MultinomialNB),
        ("KNeighborsRegressor", "diabetes", neighbors.KNeighborsRegressor),
        ("KNeighborsClassifier, unscaled", "wine", neighbors.KNeighborsClassifier),
        ("GaussianNB, unscaled", "breast_cancer", naive_bayes.GaussianNB),
        ("NuSVC", "iris", svm.NuSVC),
        ("NuSVC, unscaled", "breast_cancer", partial(svm.NuSVC, nu=0.3)),
        ("SVR, unscaled", "wine", svm.SVR),
        ("HuberRegressor, unscaled", "breast_cancer",
         partial(linear_model.HuberRegressor, max_iter=1000)),
        ("LinearSVC", "iris", svm.LinearSVC),
        ("BayesianRidge", "diabetes", linear_model.BayesianRidge),
        ("GaussianProcessRegressor", "iris",
         lambda: gaussian_process.GaussianProcessRegressor(kernel, alpha=0.01)),
        ("KMeans", "iris", partial(KMeans, 4, random_state=0, n_init=3)),
        ("GaussianMixture", "iris", partial(mixture.GaussianMixture, 3, random_state=0)),
        ("KernelPCA", "iris", partial(KernelPCA, 2, kernel="rbf")),
        ("CalibratedClassifierCV", "iris", lambda: CalibratedClassifierCV(logistic(), cv=2)),
        ("OneVsRestClassifier", "iris", lambda: multiclass.OneVsRestClassifier(logistic())),
        ("SelectKBest, logistic", "wine",
         lambda: make_pipeline(feature_selection.SelectKBest(k=5), logistic())),
        ("KBinsDiscretizer, logistic", "iris",
         lambda: make_pipeline(KBinsDiscretizer(4, encode="ordinal"), logistic())),
        ("StackingRegressor", "diabetes", lambda: ensemble.StackingRegressor(members)),
        ("VotingRegressor", "diabetes", lambda: ensemble.VotingRegressor(members)),
    ]  # fmt: skip


def columns():
    """Pipelines over columns of categories, and estimators of other kinds."""
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, TargetEncoder

    one_hot = partial(OneHotEncoder, handle_unknown="ignore")
    forest = partial(RandomForestClassifier, 10, max_depth=5, random_state=0)
    boosted = partial(GradientBoostingClassifier, n_estimators=20, random_state=0)
    mixed = [
        ("columns: one-hot, logistic", one_hot, LogisticRegression),
        ("columns: one-hot, boosted", one_hot, boosted),
        ("columns: ordinal, forest", OrdinalEncoder, forest),
        ("columns: target, logistic", TargetEncoder, LogisticRegression),
    ]
    found = [Entry(name, partial(_mixed, code, model), _inputs) for name, code, model in mixed]
    return [*found, *(estimator(*kind) for kind in _kinds())]
