"""Fitted models of scikit-learn that predict privately within scikit-learn."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import tacit

sklearn = pytest.importorskip("sklearn", reason="scikit-learn is not installed")
pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")

from sklearn.base import clone, is_classifier, is_regressor  # noqa: E402
from sklearn.compose import ColumnTransformer  # noqa: E402
from sklearn.datasets import load_diabetes, load_wine  # noqa: E402
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor  # noqa: E402
from sklearn.linear_model import LogisticRegression, RidgeClassifier  # noqa: E402
from sklearn.model_selection import cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import MinMaxScaler, StandardScaler  # noqa: E402

from tacit.sklearn import PrivateClassifier, PrivateRegressor  # noqa: E402

CLEAR = tacit.local(protocol="clear")


@pytest.fixture(scope="module")
def wine():
    """Rows and classes in an order of chance."""
    x, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    return np.round(x[order], 4).astype(np.float32), y[order]


def forest(x, y):
    return RandomForestClassifier(5, max_depth=4, random_state=0).fit(x, y)


@pytest.mark.parametrize("names", [[0, 1, 2], [7, -3, 20], ["red", "white", "rosé"]])
def test_a_classifier(names, wine):
    x, y = wine
    y = np.array(names)[y]
    model = forest(x[60:], y[60:])
    private = PrivateClassifier(model, session=tacit.local("bicoptor"))
    found = private.predict(x[:20])
    np.testing.assert_array_equal(found, model.predict(x[:20]))
    assert found.dtype.kind == np.array(names).dtype.kind
    assert private.report_.reveal == "class"
    np.testing.assert_allclose(
        private.predict_proba(x[:20]), model.predict_proba(x[:20]), atol=1e-3
    )
    np.testing.assert_array_equal(private.classes_, model.classes_)
    assert private.score(x[:20], y[:20]) == model.score(x[:20], y[:20])


def test_a_pipeline_is_planned_with_samples(wine):
    x, y = wine
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x[60:], y[60:])
    private = PrivateClassifier(model, samples=x[60:], session=CLEAR)
    np.testing.assert_array_equal(private.predict(x[:60]), model.predict(x[:60]))
    np.testing.assert_allclose(
        private.predict_proba(x[:60]), model.predict_proba(x[:60]), atol=0.01
    )


def test_it_is_an_estimator_of_scikit_learn(wine):
    x, y = wine
    model = forest(x[60:], y[60:])
    private = PrivateClassifier(model, session=CLEAR, batch=50)
    assert is_classifier(private) and not is_regressor(private)
    assert private.get_params(deep=False)["batch"] == 50
    assert private.set_params(batch=30).batch == 30
    assert clone(private) is private and private.fit(x, y) is private
    scores = cross_val_score(private, x[:60], y[:60], cv=3)
    parts = np.array_split(np.arange(60), 3)
    assert scores.mean() == pytest.approx(model.score(x[:60], y[:60]), abs=0.05)
    assert len(scores) == len(parts)
    again = pickle.loads(pickle.dumps(private))
    np.testing.assert_array_equal(again.predict(x[:5]), model.predict(x[:5]))
    assert "PrivateClassifier" in repr(private)


def test_columns_by_their_names(wine):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    x, y = wine
    frame = pandas.DataFrame(x[:, :4], columns=["a", "b", "c", "d"])
    model = forest(frame[60:], y[60:])
    private = PrivateClassifier(model, session=CLEAR)
    wanted = model.predict(frame[:20])
    np.testing.assert_array_equal(private.predict(frame[:20]), wanted)
    np.testing.assert_array_equal(private.predict(frame[["d", "b", "a", "c"]][:20]), wanted)
    scaled = ColumnTransformer([("s", StandardScaler(), ["d", "a"]), ("m", MinMaxScaler(), ["b"])])
    model = make_pipeline(scaled, LogisticRegression()).fit(frame[60:], y[60:])
    private = PrivateClassifier(model, samples=frame[60:], session=CLEAR)
    np.testing.assert_array_equal(private.predict(frame[:20]), model.predict(frame[:20]))


def test_a_regressor():
    x, y = load_diabetes(return_X_y=True)
    x = x.astype(np.float32)
    model = RandomForestRegressor(5, max_depth=4, random_state=0).fit(x[100:], y[100:])
    private = PrivateRegressor(model, session=CLEAR)
    found = private.predict(x[:50])
    np.testing.assert_allclose(found, model.predict(x[:50]), rtol=1e-3)
    assert is_regressor(private)
    assert private.score(x[:50], y[:50]) == pytest.approx(model.score(x[:50], y[:50]), abs=1e-3)


def test_files_and_compiled_models(digits_path, digits_samples, digits_model, digits):
    x, _ = digits
    wanted = digits_model.reference(x[:20]).argmax(1)
    private = PrivateClassifier(digits_path, samples=digits_samples, session=CLEAR)
    np.testing.assert_array_equal(private.predict(x[:20]), wanted)
    assert private.report_.reveal == "class"
    np.testing.assert_array_equal(private.classes_, np.arange(10))
    with pytest.raises(tacit.TacitError, match="probabilities"):
        private.predict_proba(x[:2])
    private = PrivateClassifier(digits_model, session=CLEAR)
    np.testing.assert_array_equal(private.predict(x[:20]), wanted)
    assert private.report_.reveal == "logits"
    with pytest.raises(tacit.TacitError, match=r"reveals logits, no prob.*reveal='probabilities'"):
        private.predict_proba(x[:2])


def test_what_cannot_be(wine, monkeypatch):
    x, y = wine
    with pytest.raises(tacit.TacitError, match="RandomForestClassifier is not fitted"):
        PrivateClassifier(RandomForestClassifier()).predict(x)
    ridge = PrivateClassifier(RidgeClassifier().fit(x, y))
    assert not hasattr(ridge, "predict_proba")
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(tacit.TacitError, match=r"pip install tacit\[sklearn\]"):
        PrivateClassifier(forest(x, y)).predict(x)


def test_without_scikit_learn_it_says_what_to_install():
    code = "import sys; sys.modules['sklearn'] = None; import tacit.sklearn"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "MissingPackageError: tacit.sklearn needs `pip install tacit[sklearn]`" in done.stderr
