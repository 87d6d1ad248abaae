"""Models of tables as skl2onnx writes those of scikit-learn, held against onnxruntime."""

import numpy as np
import onnx
import onnxruntime
import pytest
from skl2onnx import to_onnx
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    Normalizer,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, NuSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import tacit
from graphs.judge import SETTINGS

LOADERS = {"cancer": load_breast_cancer, "wine": load_wine, "diabetes": load_diabetes}


def data(name):
    """Rows in float32, of four decimals as tables have them, and what is to be told of them."""
    x, y = LOADERS[name](return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    return np.round(x[order], 4).astype(np.float32), y[order]


def scaled(model):
    return make_pipeline(StandardScaler(), model)


CLASSIFIERS = {
    "logistic": scaled(LogisticRegression()),
    "logistic, unscaled": make_pipeline(RobustScaler(), LogisticRegression()),
    "descent": scaled(SGDClassifier(loss="log_loss", random_state=0)),
    "ridge": scaled(RidgeClassifier()),
    "machine": scaled(SVC(probability=False)),
    "polynomial machine": scaled(SVC(kernel="poly", degree=2)),
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(12, max_depth=6, random_state=0),
    "bagging": BaggingClassifier(n_estimators=5, random_state=0),
    "adaptive": AdaBoostClassifier(n_estimators=5, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=15, max_depth=3, random_state=0),
    "network": scaled(MLPClassifier((16,), max_iter=300, random_state=0)),
    "pipeline": make_pipeline(
        SimpleImputer(), MinMaxScaler(), PCA(6), LogisticRegression(max_iter=300)
    ),
    "normalised": make_pipeline(StandardScaler(), Normalizer(), LogisticRegression()),
    "naive": scaled(GaussianNB()),
    "categories": make_pipeline(
        KBinsDiscretizer(4, encode="ordinal", quantile_method="linear"),
        CategoricalNB(min_categories=5),
    ),
    "near neighbours": scaled(KNeighborsClassifier(weights="distance")),
}
REGRESSORS = {
    "linear": LinearRegression(),
    "sparse": scaled(Lasso()),
    "machine": scaled(SVR(C=20)),
    "tree": DecisionTreeRegressor(max_depth=5, random_state=0),
    "forest": RandomForestRegressor(10, max_depth=5, random_state=0),
    "extra": ExtraTreesRegressor(10, max_depth=5, random_state=0),
    "adaptive": AdaBoostRegressor(n_estimators=8, random_state=0),
    "near neighbours": KNeighborsRegressor(weights="distance"),
    "boosting": GradientBoostingRegressor(n_estimators=20, random_state=0),
    "network": scaled(MLPRegressor(hidden_layer_sizes=(16,), max_iter=600, random_state=0)),
}


def fitted(model, name, path):
    """Writes the fitted model as a file; rows to plan with, and others."""
    x, y = data(name)
    third = len(x) // 3
    model.fit(x[third:], y[third:])
    # Of a classifier without probabilities the converter has no such option.
    tells = hasattr(model, "predict_proba") or "svc" in str(model).lower()
    made = to_onnx(model, x[:1], options={id(model): {"zipmap": False}} if tells else {})
    path.write_bytes(made.SerializeToString())
    return x[third:], x[:third]


def decided(path, x):
    """Rows that no threshold of a tree is as near to as float32's own rounding of both."""
    nodes = [n for n in onnx.load(path).graph.node if n.op_type.startswith("TreeEnsemble")]
    kept = np.ones(len(x), bool)
    for node in nodes:
        lists = {a.name: np.array(onnx.helper.get_attribute_value(a)) for a in node.attribute}
        inner = lists["nodes_modes"] != b"LEAF"
        at, columns = lists["nodes_values"][inner], lists["nodes_featureids"][inner]
        kept &= (np.abs(x[:, columns] - at) > 1e-6 * (1 + np.abs(at))).all(1)
    assert kept.mean() > 0.5
    return x[kept]


def expected(path, x):
    session = onnxruntime.InferenceSession(str(path))
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {session.get_inputs()[0].name: x}), strict=True))


def held(outputs, wanted, most):
    """Numbers are near, and labels right wherever the numbers tell them apart."""
    assert outputs.keys() == wanted.keys()
    scores = [v.reshape(len(v), -1) for v in wanted.values() if v.dtype.kind == "f"]
    clear = np.ones(len(next(iter(wanted.values()))), bool)
    for score in scores:
        if score.shape[1] > 1:
            best = np.sort(score, 1)
            clear &= best[:, -1] - best[:, -2] > 2 * most * score.std()
        elif len(wanted) > 1:
            clear &= np.abs(score[:, 0]) > 2 * most * score.std()
    assert clear.mean() > 0.7
    for name, right in wanted.items():
        found = outputs[name].reshape(right.shape)
        if right.dtype.kind == "f":
            assert np.abs(found - right).max() <= most * right.std(), name
        else:
            np.testing.assert_array_equal(found[clear], right[clear])


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("table", ["cancer", "wine"])
def test_classifiers(name, table, tmp_path):
    path = tmp_path / "m.onnx"
    seen, x = fitted(CLASSIFIERS[name], table, path)
    model = tacit.compile(path, samples=seen, protocol="clear")
    if not model.plan["inputs"][0]["ranked"]:
        x = decided(path, x)
    outputs = tacit.local(protocol="clear").predict(model, x).outputs
    held(outputs, expected(path, x), 0.01)


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name, tmp_path):
    path = tmp_path / "m.onnx"
    seen, x = fitted(REGRESSORS[name], "diabetes", path)
    model = tacit.compile(path, samples=seen, protocol="clear")
    if not model.plan["inputs"][0]["ranked"]:
        x = decided(path, x)
    outputs = tacit.local(protocol="clear").predict(model, x).outputs
    held(outputs, expected(path, x), 0.01)


UNSCALED = {
    "machine": SVC(),
    "few vectors": NuSVC(nu=0.3),
    "polynomials": SVC(kernel="poly"),
    "sigmoids": SVC(kernel="sigmoid"),
    "naive": GaussianNB(),
    "neighbours": KNeighborsClassifier(),
    "robust": HuberRegressor(max_iter=1000),
    "vectors": SVR(),
    "cubes": SVR(kernel="poly"),
    "network": MLPRegressor(max_iter=100, random_state=0),
}


@pytest.mark.parametrize("name", UNSCALED)
@pytest.mark.parametrize("table", ["cancer", "wine"])
def test_columns_of_all_sizes(name, table, tmp_path):
    """Columns up to 0.1 beside others up to 4000, as tables come: right, with a few samples."""
    path = tmp_path / "m.onnx"
    seen, x = fitted(UNSCALED[name], table, path)
    largest = float(max(np.abs(seen).max(), np.abs(x).max()))
    model = tacit.compile(path, samples=seen[:8], input_range=largest, protocol="clear")
    outputs = tacit.local(protocol="clear").predict(model, x).outputs
    held(outputs, expected(path, x), 0.01)


def test_classes_that_stand_beside_one_another(tmp_path):
    """The label of quadratic discriminants is one row, whose second axis is the batch."""
    path = tmp_path / "m.onnx"
    seen, x = fitted(scaled(QuadraticDiscriminantAnalysis()), "wine", path)
    model = tacit.compile(path, samples=seen)
    outputs = tacit.local(protocol="clear").predict(model, x).outputs
    wanted = expected(path, x)
    assert outputs["label"].shape == wanted["label"].shape == (1, len(x))
    rows = [{**of, "label": of["label"].T} for of in (outputs, wanted)]
    held(*rows, 0.01)


def test_a_scaled_column_on_a_threshold(tmp_path):
    """Of scaled columns beside others trees take branches as float32 does, on thresholds too."""
    path = tmp_path / "m.onnx"
    rng = np.random.default_rng(0)
    x = np.round(rng.normal(40, 12, (400, 3)), 1).astype(np.float32)
    y = x[:, 0] + x[:, 1] * (x[:, 2] > 41) > 60
    scaler = ColumnTransformer([("scaled", StandardScaler(), [0, 1])], remainder="passthrough")
    model = make_pipeline(scaler, GradientBoostingClassifier(n_estimators=20, random_state=0))
    model.fit(x, y)
    made = to_onnx(model, x[:1], options={id(model): {"zipmap": False}})
    path.write_bytes(made.SerializeToString())
    # Thresholds are halfway between two numbers, so that many a number of one decimal is on one.
    halves = np.round(x + 0.05, 2) - np.float32(0.05)
    rows = np.concatenate([x, halves, np.round(x + 0.1, 1)]).astype(np.float32)
    found = tacit.local(protocol="clear").predict(tacit.compile(path), rows).outputs
    wanted = expected(path, rows)
    np.testing.assert_array_equal(found["label"].ravel(), wanted["label"])
    assert np.abs(found["probabilities"] - wanted["probabilities"]).max() < 1e-3


def test_trees_between_two_take_branches_as_float32_does(tmp_path):
    """Few bits would take a number next to a threshold for it: trees have all."""
    path = tmp_path / "m.onnx"
    seen, _ = fitted(RandomForestRegressor(3, max_depth=4, random_state=0), "diabetes", path)
    node = onnx.load(path).graph.node[0]
    lists = {a.name: np.array(onnx.helper.get_attribute_value(a)) for a in node.attribute}
    inner = lists["nodes_modes"] != b"LEAF"
    rows = []
    for at, column in zip(
        lists["nodes_values"][inner], lists["nodes_featureids"][inner], strict=True
    ):
        for value in (at, np.nextafter(np.float32(at), np.float32(1))):
            rows.append(seen[0].copy())
            rows[-1][column] = value
    x = np.array(rows[:24], np.float32)
    model = tacit.compile(path, samples=seen[:8], protocol="sirnn")
    found = tacit.local(protocol="sirnn").predict(model, x).output
    (wanted,) = expected(path, x).values()
    assert len(np.unique(wanted)) > 1
    assert np.abs(found.reshape(wanted.shape) - wanted).max() <= 1e-3 * wanted.std()


def test_thresholds_beyond_every_number(tmp_path):
    """A branch may ask for what all numbers are, as LightGBM writes of missing values."""
    path = tmp_path / "m.onnx"
    seen, x = fitted(RandomForestRegressor(3, max_depth=4, random_state=0), "diabetes", path)
    model = onnx.load(path)
    lists = {a.name: a for a in model.graph.node[0].attribute}
    ends = {"BRANCH_LEQ": [np.inf, -np.inf], "BRANCH_GT": [np.inf, -np.inf], "BRANCH_LT": [np.inf]}
    asked = [(mode, end) for mode, each in ends.items() for end in each]
    inner = [i for i, mode in enumerate(lists["nodes_modes"].strings) if mode != b"LEAF"]
    for at, (mode, end) in zip(inner[1::3], asked, strict=False):
        lists["nodes_modes"].strings[at] = mode.encode()
        lists["nodes_values"].floats[at] = end
    onnx.save(model, path)
    found = tacit.local(protocol="clear").predict(tacit.compile(path, samples=seen), x).output
    (wanted,) = expected(path, x).values()
    assert np.abs(found.reshape(wanted.shape) - wanted).max() <= 1e-3 * wanted.std()


WIDE = [name for name in SETTINGS if not name.endswith(("31 bits", "32 bits"))]


@pytest.mark.parametrize("setting", WIDE)
def test_a_forest_on_every_protocol(setting, tmp_path):
    options, run = SETTINGS[setting]
    path = tmp_path / "m.onnx"
    model = RandomForestClassifier(3, max_depth=3, random_state=0)
    seen, x = fitted(model, "wine", path)
    model = tacit.compile(path, samples=seen, **options)
    outputs = tacit.local(**run, timeout=60).predict(model, x[:4]).outputs
    held(outputs, expected(path, x[:4]), 0.02)


@pytest.mark.parametrize("names", [[7, -3, 20], ["red", "white", "rosé"]])
def test_classes_have_their_names(names, tmp_path):
    path = tmp_path / "m.onnx"
    x, y = data("wine")
    y = np.array(names)[y]
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(x[60:], y[60:])
    made = to_onnx(model, x[:1], options={id(model): {"zipmap": False}})
    path.write_bytes(made.SerializeToString())
    model = tacit.compile(path, samples=x[60:])
    labels = tacit.local(protocol="clear").predict(model, x[:60], y[:60]).outputs["label"]
    np.testing.assert_array_equal(labels, expected(path, x[:60])["label"])
    assert set(labels) <= set(names)


@pytest.mark.parametrize("held", ["tensor", "node"])
@pytest.mark.parametrize("kind", ["Mul", "Div"])
def test_words_beside_probabilities_that_are_times_one(kind, held, tmp_path):
    """Words as lightgbm's converter writes them: the receiver finds them from the probabilities."""
    path = tmp_path / "m.onnx"
    x, y = data("wine")
    y = np.array(["red", "white", "rosé"])[y]
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(x[60:], y[60:])
    made = to_onnx(model, x[:1], options={id(model): {"zipmap": False}})
    for node in made.graph.node:
        node.output[:] = ["before" if k == "probabilities" else k for k in node.output]
    one = onnx.numpy_helper.from_array(np.float32([1.0]), "one")
    if held == "tensor":
        made.graph.initializer.append(one)
    else:
        made.graph.node.append(onnx.helper.make_node("Constant", [], ["one"], "one", value=one))
    made.graph.node.append(
        onnx.helper.make_node(kind, ["before", "one"], ["probabilities"], "times")
    )
    path.write_bytes(made.SerializeToString())
    model = tacit.compile(path, samples=x[60:])
    outputs = tacit.local(protocol="clear").predict(model, x[:60]).outputs
    wanted = expected(path, x[:60])
    np.testing.assert_array_equal(outputs["label"], wanted["label"])
    np.testing.assert_allclose(outputs["probabilities"], wanted["probabilities"], atol=1e-3)


def test_only_the_label_is_revealed(tmp_path):
    """Of a classifier that is asked for its label alone nothing else is opened."""
    path = tmp_path / "m.onnx"
    seen, x = fitted(CLASSIFIERS["forest"], "cancer", path)
    model = tacit.compile(path, samples=seen, outputs=["label"])
    result = tacit.local(protocol="bicoptor").predict(model, x[:5])
    assert result.report.reveal == "class"
    np.testing.assert_array_equal(result.output.ravel(), expected(path, x[:5])["label"])


@pytest.mark.parametrize("method", ["yeo-johnson", "box-cox"])
def test_powers_of_columns(method, tmp_path):
    """Columns of both signs, or of one, each to a power of its own; protocols, too."""
    random = np.random.default_rng(0)
    x = np.exp(random.normal(0, 0.8, (120, 5))).astype(np.float32)
    if method == "yeo-johnson":
        x[:, :3] -= 1.5
    y = (x[:, 0] + x[:, 3] > 1).astype(int)
    model = make_pipeline(PowerTransformer(method), LogisticRegression()).fit(x, y)
    path = tmp_path / "m.onnx"
    path.write_bytes(to_onnx(model, x[:1], options={"zipmap": False}).SerializeToString())
    label, likely = onnxruntime.InferenceSession(path).run(None, {"X": x})
    compiled = tacit.compile(path, samples=x)
    found = compiled.reference(x)
    np.testing.assert_array_equal(found["label"], label)
    np.testing.assert_allclose(found["probabilities"], likely, atol=1e-5)
    for protocol in ("clear", "falcon"):
        outputs = tacit.local(protocol).predict(compiled, x[:20]).outputs
        np.testing.assert_allclose(outputs["probabilities"], likely[:20], atol=5e-3)


def test_quantiles_of_columns(tmp_path):
    """Places among quantiles, found by halves; also of rows on a quantile, and beyond all."""
    quantiles = QuantileTransformer(n_quantiles=9)
    path = tmp_path / "m.onnx"
    seen, x = fitted(make_pipeline(quantiles, LogisticRegression(max_iter=500)), "wine", path)
    rows = np.concatenate([x, seen[:20], seen.max(0)[None] + 1, seen.min(0)[None] - 1])
    model = tacit.compile(path, samples=seen)
    for protocol, some in (("clear", rows), ("falcon", rows[-4:])):
        outputs = tacit.local(protocol).predict(model, some).outputs
        wanted = expected(path, some)
        np.testing.assert_array_equal(outputs["label"], wanted["label"])
        np.testing.assert_allclose(outputs["probabilities"], wanted["probabilities"], atol=1e-4)


def test_neighbours_are_chosen_by_the_finest_distances(tmp_path):
    """More fraction bits than the usual 18, by which a row in a hundred had another neighbour."""
    path = tmp_path / "m.onnx"
    seen, _ = fitted(KNeighborsRegressor(), "diabetes", path)
    assert tacit.compile(path, samples=seen[:8]).plan["fraction_bits"] > 18


@pytest.mark.parametrize("protocol", ["sirnn", "falcon"])
def test_a_support_vector_is_next_to_itself(protocol, tmp_path):
    """The square of a distance of 0 is a sum of rounded products, which may lie a unit below."""
    path = tmp_path / "m.onnx"
    seen, _ = fitted(SVR(gamma=0.5), "diabetes", path)
    (node,) = [n for n in onnx.load(path).graph.node if n.op_type == "SVMRegressor"]
    lists = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    vectors = np.array(lists["support_vectors"], np.float32).reshape(-1, seen.shape[1])
    model = tacit.compile(path, samples=seen[:30], protocol=protocol)
    outputs = tacit.local(protocol).predict(model, vectors[:12]).outputs
    held(outputs, expected(path, vectors[:12]), 0.02)


def test_several_classes_of_an_item(tmp_path):
    """Classes of two targets: side by side, and a list of probabilities."""
    x, y = data("wine")
    model = scaled(MultiOutputClassifier(LogisticRegression())).fit(x, np.stack([y, y > 0], axis=1))
    path = tmp_path / "m.onnx"
    path.write_bytes(to_onnx(model, x[:1], options={"zipmap": False}).SerializeToString())
    labels, likely = onnxruntime.InferenceSession(path).run(None, {"X": x[:20]})
    found = tacit.compile(path, samples=x).reference(x[:20])
    label, *parts = found.values()
    np.testing.assert_array_equal(label, labels)
    for part, expected in zip(parts, likely, strict=True):
        np.testing.assert_allclose(part, expected, atol=1e-5)


def two(estimator, classes, path):
    """Writes an estimator of two targets as a file; rows to plan with, and others."""
    x, y = data("wine" if classes else "diabetes")
    both = np.stack([y, x[:, 0] > np.median(x[:, 0]) if classes else y + 50 * x[:, 0]], 1)
    third = len(x) // 3
    model = estimator.fit(x[third:], both[third:])
    made = to_onnx(model, x[:1], options={id(model): {"zipmap": False}} if classes else {})
    path.write_bytes(made.SerializeToString())
    return x[third:], x[:third]


@pytest.mark.parametrize(
    ("estimator", "classes"),
    [
        (RandomForestClassifier(5, max_depth=4, random_state=0), True),
        (KNeighborsRegressor(), False),
    ],
    ids=["forest", "neighbours"],
)
def test_several_targets(estimator, classes, tmp_path):
    path = tmp_path / "m.onnx"
    seen, x = two(estimator, classes, path)
    model = tacit.compile(path, samples=seen, protocol="clear")
    x = decided(path, x)
    outputs = tacit.local(protocol="clear").predict(model, x).outputs
    for name, right in expected(path, x).items():
        found = outputs[name].reshape(right.shape)
        assert np.abs(found - right).max() <= 0.01 * right.std(), name
