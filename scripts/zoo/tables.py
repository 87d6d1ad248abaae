"""Models of tables: scikit-learn, xgboost and lightgbm, on the data that scikit-learn ships."""

from functools import cache, partial

import numpy as np

from .entry import Entry

HOLES = ", a fifth missing"
"""What stands behind the name of a data set a fifth of whose numbers are missing."""


@cache
def _data(name):
    """Numbers and targets of a data set, the first four fifths to learn from."""
    from sklearn import datasets

    x, y = getattr(datasets, f"load_{name.removesuffix(HOLES)}")(return_X_y=True)
    random = np.random.default_rng(0)
    order = random.permutation(len(x))
    x, y = x[order].astype("f4"), y[order]
    if name.endswith(HOLES):
        x[random.random(x.shape) < 0.2] = np.nan
    cut = len(x) * 4 // 5
    return (x[:cut], y[:cut]), x[cut:]


def _rows(name, rng, n):
    held_out = _data(name)[1]
    return held_out[rng.integers(len(held_out), size=n)]


def _fit(data, estimator):
    x, y = _data(data)[0]
    if data == "diabetes":
        y = (y - y.mean()) / y.std()
    return estimator().fit(x, y), x.shape[1]


def _skl(data, estimator, path):
    """What skl2onnx writes of a fitted estimator, left as it is."""
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType

    model, features = _fit(data, estimator)
    types, sets = [("x", FloatTensorType([None, features]))], {"": 21, "ai.onnx.ml": 3}
    made = convert_sklearn(model, initial_types=types, target_opset=sets)
    path.write_bytes(made.SerializeToString())


def _mltools(kind, data, estimator, path):
    """What onnxmltools writes of a fitted model of xgboost or lightgbm."""
    import onnxmltools
    from onnxmltools.convert.common.data_types import FloatTensorType

    model, features = _fit(data, estimator)
    convert = getattr(onnxmltools, f"convert_{kind}")
    made = convert(model, initial_types=[("x", FloatTensorType([None, features]))])
    path.write_bytes(made.SerializeToString())


def _estimators():
    """Names, data sets, and functions that make estimators of scikit-learn."""
    from sklearn import ensemble, linear_model, naive_bayes, neighbors, neural_network, svm, tree
    from sklearn.decomposition import PCA
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, Normalizer, PolynomialFeatures, StandardScaler

    scaled = partial(make_pipeline, StandardScaler())
    mlp = partial(neural_network.MLPClassifier, (32,), max_iter=300, random_state=0)
    forest = partial(ensemble.RandomForestClassifier, random_state=0)
    return [
        ("LogisticRegression", "iris", partial(linear_model.LogisticRegression, max_iter=2000)),
        ("LogisticRegression, 2 classes", "breast_cancer",
         lambda: scaled(linear_model.LogisticRegression())),
        ("LinearRegression", "diabetes", linear_model.LinearRegression),
        ("Ridge", "diabetes", linear_model.Ridge),
        ("Lasso", "diabetes", partial(linear_model.Lasso, 0.01)),
        ("SGDClassifier", "wine", lambda: scaled(linear_model.SGDClassifier(random_state=0))),
        ("Perceptron", "wine", lambda: scaled(linear_model.Perceptron(random_state=0))),
        ("RidgeClassifier", "wine", lambda: scaled(linear_model.RidgeClassifier())),
        ("GaussianNB", "iris", naive_bayes.GaussianNB),
        ("KNeighborsClassifier", "iris", neighbors.KNeighborsClassifier),
        ("SVC, rbf", "wine", lambda: scaled(svm.SVC(random_state=0))),
        ("SVC, probability", "breast_cancer",
         lambda: scaled(svm.SVC(probability=True, random_state=0))),
        ("SVC, poly", "iris", partial(svm.SVC, kernel="poly", random_state=0)),
        ("SVR", "diabetes", svm.SVR),
        ("OneClassSVM", "iris", svm.OneClassSVM),
        ("DecisionTreeClassifier", "iris", partial(tree.DecisionTreeClassifier, random_state=0)),
        ("DecisionTreeRegressor", "diabetes",
         partial(tree.DecisionTreeRegressor, max_depth=5, random_state=0)),
        ("RandomForestClassifier", "breast_cancer", partial(forest, 50, max_depth=6)),
        ("RandomForestClassifier, digits", "digits", partial(forest, 20, max_depth=7)),
        ("RandomForestRegressor", "diabetes",
         partial(ensemble.RandomForestRegressor, 30, max_depth=5, random_state=0)),
        ("ExtraTreesClassifier", "wine",
         partial(ensemble.ExtraTreesClassifier, 30, max_depth=6, random_state=0)),
        ("GradientBoostingClassifier", "breast_cancer",
         partial(ensemble.GradientBoostingClassifier, n_estimators=50, random_state=0)),
        ("GradientBoostingClassifier, 3 classes", "iris",
         partial(ensemble.GradientBoostingClassifier, n_estimators=20, random_state=0)),
        ("GradientBoostingRegressor", "diabetes",
         partial(ensemble.GradientBoostingRegressor, n_estimators=50, random_state=0)),
        ("AdaBoostClassifier", "iris",
         partial(ensemble.AdaBoostClassifier, n_estimators=10, random_state=0)),
        ("BaggingClassifier", "wine",
         partial(ensemble.BaggingClassifier, n_estimators=10, random_state=0)),
        ("VotingClassifier", "iris", lambda: ensemble.VotingClassifier(
            [("tree", tree.DecisionTreeClassifier(max_depth=4, random_state=0)),
             ("linear", linear_model.LogisticRegression(max_iter=2000))], voting="soft",
            flatten_transform=False)),
        ("IsolationForest", "iris",
         partial(ensemble.IsolationForest, n_estimators=20, random_state=0)),
        ("MLPClassifier", "digits", mlp),
        ("MLPClassifier, tanh", "wine", lambda: scaled(mlp(activation="tanh"))),
        ("MLPRegressor", "diabetes",
         lambda: neural_network.MLPRegressor(
             hidden_layer_sizes=(32,), max_iter=500, random_state=0)),
        ("pipeline: scaler, PCA, logistic", "breast_cancer",
         lambda: scaled(PCA(8), linear_model.LogisticRegression())),
        ("pipeline: imputer, min-max, forest", "wine",
         lambda: make_pipeline(SimpleImputer(), MinMaxScaler(), forest(20, max_depth=5))),
        ("pipeline: imputer of missing values, logistic", "wine" + HOLES,
         lambda: make_pipeline(
             SimpleImputer(), StandardScaler(), linear_model.LogisticRegression())),
        ("pipeline: normalizer, SVC", "iris", lambda: make_pipeline(Normalizer(), svm.SVC())),
        ("pipeline: polynomials, ridge", "diabetes",
         lambda: make_pipeline(PolynomialFeatures(2), linear_model.Ridge())),
    ]  # fmt: skip


def estimator(name, data, make):
    """An estimator of scikit-learn as skl2onnx writes it, fitted to a data set."""
    return Entry(name, partial(_skl, data, make), partial(_rows, data))


def sklearn():
    """Estimators and pipelines of scikit-learn."""
    return [estimator(*each) for each in _estimators()]


def boosted():
    """Boosted trees of xgboost and lightgbm as onnxmltools writes them."""

    def xgboost(kind, **options):
        def make():
            import xgboost

            return getattr(xgboost, kind)(n_estimators=50, max_depth=4, random_state=0, **options)

        return make

    def lightgbm(kind, **options):
        def make():
            import lightgbm

            return getattr(lightgbm, kind)(n_estimators=50, verbose=-1, random_state=0, **options)

        return make

    models = [
        ("xgboost", "xgboost", "breast_cancer", xgboost("XGBClassifier")),
        ("xgboost, 3 classes", "xgboost", "iris", xgboost("XGBClassifier")),
        ("xgboost, regression", "xgboost", "diabetes", xgboost("XGBRegressor")),
        ("xgboost, forest", "xgboost", "wine", xgboost("XGBRFClassifier")),
        ("xgboost, missing values", "xgboost", "breast_cancer" + HOLES, xgboost("XGBClassifier")),
        ("lightgbm", "lightgbm", "breast_cancer", lightgbm("LGBMClassifier")),
        ("lightgbm, 3 classes", "lightgbm", "wine", lightgbm("LGBMClassifier")),
        ("lightgbm, regression", "lightgbm", "diabetes", lightgbm("LGBMRegressor")),
        ("lightgbm, missing values", "lightgbm", "breast_cancer" + HOLES,
         lightgbm("LGBMClassifier")),
        ("lightgbm, forest", "lightgbm", "breast_cancer",
         lightgbm("LGBMClassifier", boosting_type="rf", subsample=0.8, subsample_freq=1)),
    ]  # fmt: skip
    return [
        Entry(name, partial(_mltools, kind, data, estimator), partial(_rows, data))
        for name, kind, data, estimator in models
    ]
