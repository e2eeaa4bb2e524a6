"""Models of scikit-learn, LightGBM, XGBoost and CatBoost, as their converters write them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bench.conformance.model_specs import Array, Feeds, ModelSpec

SKL2ONNX = "skl2onnx"
ONNXMLTOOLS = "onnxmltools"

ROWS = 240
COLUMNS = 6
ASKED = 8
"""Rows that models are asked about."""


def _numbers() -> tuple[Array, Array, Array]:
    """Features, classes of them and a value of them."""
    generator = np.random.default_rng(3)
    x = generator.standard_normal((ROWS, COLUMNS)).astype(np.float32)
    scores = x @ generator.standard_normal((COLUMNS, 3)) + 0.3 * generator.standard_normal((ROWS, 3))
    return x, scores.argmax(1).astype(np.int64), scores[:, 0].astype(np.float32)


def _of(module: str, name: str, **settings: Any) -> Any:
    return getattr(import_module(f"sklearn.{module}"), name)(**settings)


def _tensor(kind: str, columns: int = COLUMNS) -> Any:
    types = import_module("skl2onnx.common.data_types")
    return getattr(types, f"{kind}TensorType")([None, columns])


def _sklearn(
    name: str,
    build: Callable[[], Any],
    *,
    is_regressor: bool = False,
    is_binary: bool = False,
    takes_positive: bool = False,
    options: Callable[[Any], dict[Any, Any]] | None = None,
    opset: int | None = None,
) -> ModelSpec:
    def make(path: Path) -> Feeds:
        x, classes, values = _numbers()
        if takes_positive:
            x = np.abs(x)
        labels = values if is_regressor else (classes > 0).astype(np.int64) if is_binary else classes
        model = build()
        model.fit(x, labels)
        convert = import_module("skl2onnx").convert_sklearn
        made = convert(
            model,
            initial_types=[("input", _tensor("Float"))],
            options=options(model) if options else None,
            target_opset=opset,
        )
        path.write_bytes(made.SerializeToString())
        return {"input": x[:ASKED]}

    return ModelSpec(f"skl_{name}", SKL2ONNX, make)


def _without_map(model: Any) -> dict[Any, Any]:
    return {id(model): {"zipmap": False}}


def model_specs() -> list[ModelSpec]:
    """All models of this file."""
    return [
        _sklearn("logistic", lambda: _of("linear_model", "LogisticRegression")),
        _sklearn("logistic_tensor", lambda: _of("linear_model", "LogisticRegression"), options=_without_map),
        _sklearn("linear", lambda: _of("linear_model", "LinearRegression"), is_regressor=True),
        _sklearn("sgd", lambda: _of("linear_model", "SGDClassifier", loss="log_loss", random_state=0)),
        _sklearn("tree", lambda: _of("tree", "DecisionTreeClassifier", max_depth=5)),
        _sklearn(
            "forest", lambda: _of("ensemble", "RandomForestClassifier", n_estimators=40, random_state=0)
        ),
        _sklearn(
            "forest_regressor",
            lambda: _of("ensemble", "RandomForestRegressor", n_estimators=40, random_state=0),
            is_regressor=True,
        ),
        _sklearn(
            "extra_trees", lambda: _of("ensemble", "ExtraTreesClassifier", n_estimators=20, random_state=0)
        ),
        _sklearn("boosting", lambda: _of("ensemble", "GradientBoostingClassifier", n_estimators=15)),
        _sklearn(
            "boosting_binary",
            lambda: _of("ensemble", "GradientBoostingClassifier", n_estimators=15),
            is_binary=True,
        ),
        _sklearn("svc", lambda: _of("svm", "SVC", probability=True, random_state=0)),
        _sklearn("svc_binary", lambda: _of("svm", "SVC", probability=True, random_state=0), is_binary=True),
        _sklearn("svc_poly", lambda: _of("svm", "SVC", kernel="poly", degree=2)),
        _sklearn("linear_svc", lambda: _of("svm", "LinearSVC")),
        _sklearn("svr", lambda: _of("svm", "SVR"), is_regressor=True),
        _sklearn("one_class_svm", lambda: _of("svm", "OneClassSVM")),
        _sklearn("neighbours", lambda: _of("neighbors", "KNeighborsClassifier", n_neighbors=4)),
        _sklearn(
            "neighbours_regressor",
            lambda: _of("neighbors", "KNeighborsRegressor", n_neighbors=3, weights="distance"),
            is_regressor=True,
        ),
        _sklearn("perceptron", lambda: _of("neural_network", "MLPClassifier", max_iter=30, random_state=0)),
        _sklearn("naive_bayes", lambda: _of("naive_bayes", "GaussianNB")),
        _sklearn("multinomial", lambda: _of("naive_bayes", "MultinomialNB"), takes_positive=True),
        _sklearn("kmeans", lambda: _of("cluster", "KMeans", n_clusters=4, n_init=2, random_state=0)),
        _sklearn("pca", lambda: _of("decomposition", "PCA", n_components=3)),
        _sklearn(
            "isolation_forest", lambda: _of("ensemble", "IsolationForest", n_estimators=10, random_state=0)
        ),
        _sklearn(
            "gaussian_process", lambda: _of("gaussian_process", "GaussianProcessRegressor"), is_regressor=True
        ),
        _sklearn("discriminant", lambda: _of("discriminant_analysis", "LinearDiscriminantAnalysis")),
        _sklearn("adaboost", lambda: _of("ensemble", "AdaBoostClassifier", n_estimators=8, random_state=0)),
        _sklearn("bagging", lambda: _of("ensemble", "BaggingClassifier", n_estimators=5, random_state=0)),
        _sklearn("voting", _voting),
        _sklearn("stacking", _stacking),
        _sklearn("pipeline", _pipeline),
        _sklearn("pipeline_op9", _pipeline, opset=9),
        _sklearn("calibrated", _calibrated),
        ModelSpec("skl_mixed_columns", SKL2ONNX, _mixed_columns),
        ModelSpec("skl_ordinal_strings", SKL2ONNX, _ordinal_strings),
        ModelSpec("skl_text_tfidf", SKL2ONNX, _text("TfidfVectorizer")),
        ModelSpec("skl_text_counts", SKL2ONNX, _text("CountVectorizer")),
        ModelSpec("skl_string_labels", SKL2ONNX, _string_labels),
        ModelSpec("skl_dictionary", SKL2ONNX, _ordered_columns),
        ModelSpec("lightgbm_classifier", ONNXMLTOOLS, _lightgbm(False)),
        ModelSpec("lightgbm_regressor", ONNXMLTOOLS, _lightgbm(True)),
        ModelSpec("xgboost_classifier", ONNXMLTOOLS, _xgboost(False)),
        ModelSpec("xgboost_regressor", ONNXMLTOOLS, _xgboost(True)),
        ModelSpec("catboost_classifier", "catboost", _catboost(False)),
        ModelSpec("catboost_regressor", "catboost", _catboost(True)),
    ]


def _voting() -> Any:
    members = [
        ("a", _of("linear_model", "LogisticRegression")),
        ("b", _of("tree", "DecisionTreeClassifier", max_depth=4)),
    ]
    return _of("ensemble", "VotingClassifier", estimators=members, voting="soft")


def _stacking() -> Any:
    members = [
        ("a", _of("linear_model", "LogisticRegression")),
        ("b", _of("tree", "DecisionTreeClassifier", max_depth=4)),
    ]
    return _of("ensemble", "StackingClassifier", estimators=members, cv=2)


def _pipeline() -> Any:
    make = import_module("sklearn.pipeline").make_pipeline
    return make(
        _of("impute", "SimpleImputer"),
        _of("preprocessing", "StandardScaler"),
        _of("preprocessing", "PolynomialFeatures", degree=2, include_bias=False),
        _of("feature_selection", "SelectKBest", k=10),
        _of("preprocessing", "MinMaxScaler"),
        _of("linear_model", "LogisticRegression"),
    )


def _calibrated() -> Any:
    return _of("calibration", "CalibratedClassifierCV", estimator=_of("svm", "LinearSVC"), cv=2)


CITIES = np.array(["Paris", "Rome", "Oslo", "Zürich", ""], object)
WORDS = "red green blue small large old new car boat house tree river runs stands falls".split()


def _mixed_columns(path: Path) -> Feeds:
    pandas = import_module("pandas")
    generator = np.random.default_rng(4)
    x, classes, _ = _numbers()
    cities = generator.choice(CITIES, ROWS)
    frame = pandas.DataFrame({"age": x[:, 0], "fare": x[:, 1], "city": cities})
    columns = _of(
        "compose",
        "ColumnTransformer",
        transformers=[
            ("numbers", _of("preprocessing", "StandardScaler"), ["age", "fare"]),
            ("words", _of("preprocessing", "OneHotEncoder", handle_unknown="ignore"), ["city"]),
        ],
    )
    model = import_module("sklearn.pipeline").make_pipeline(
        columns, _of("linear_model", "LogisticRegression")
    )
    model.fit(frame, classes)
    types = [("age", _tensor("Float", 1)), ("fare", _tensor("Float", 1)), ("city", _tensor("String", 1))]
    made = import_module("skl2onnx").convert_sklearn(model, initial_types=types)
    path.write_bytes(made.SerializeToString())
    asked = np.array([*cities[: ASKED - 1], "Atlantis"], object)
    return {"age": x[:ASKED, :1], "fare": x[:ASKED, 1:2], "city": asked[:, None]}


def _ordinal_strings(path: Path) -> Feeds:
    generator = np.random.default_rng(5)
    words = generator.choice(CITIES, (ROWS, 2))
    _, classes, _ = _numbers()
    model = import_module("sklearn.pipeline").make_pipeline(
        _of("preprocessing", "OrdinalEncoder"), _of("tree", "DecisionTreeClassifier", max_depth=4)
    )
    model.fit(words, classes)
    made = import_module("skl2onnx").convert_sklearn(model, initial_types=[("words", _tensor("String", 2))])
    path.write_bytes(made.SerializeToString())
    return {"words": words[:ASKED]}


def _text(vectorizer: str) -> Callable[[Path], Feeds]:
    def make(path: Path) -> Feeds:
        generator = np.random.default_rng(6)
        lines = [" ".join(generator.choice(WORDS, 6)) for _ in range(ROWS)]
        _, classes, _ = _numbers()
        model = import_module("sklearn.pipeline").make_pipeline(
            _of("feature_extraction.text", vectorizer), _of("linear_model", "LogisticRegression")
        )
        model.fit(lines, classes)
        # The locale that it has unless told, en_US.UTF-8, is not on every machine.
        made = import_module("skl2onnx").convert_sklearn(
            model,
            initial_types=[("text", _tensor("String", 1))],
            options={id(model.steps[0][1]): {"locale": "C"}},
        )
        path.write_bytes(made.SerializeToString())
        return {"text": np.array(lines[:ASKED], object)[:, None]}

    return make


def _string_labels(path: Path) -> Feeds:
    x, classes, _ = _numbers()
    model = _of("ensemble", "RandomForestClassifier", n_estimators=10, random_state=0)
    model.fit(x, np.array(["ham", "spam", "eggs"], object)[classes])
    made = import_module("skl2onnx").convert_sklearn(model, initial_types=[("input", _tensor("Float"))])
    path.write_bytes(made.SerializeToString())
    return {"input": x[:ASKED]}


def _ordered_columns(path: Path) -> Feeds:
    x, classes, _ = _numbers()
    model = import_module("sklearn.pipeline").make_pipeline(
        _of(
            "preprocessing",
            "KBinsDiscretizer",
            n_bins=4,
            encode="onehot-dense",
            quantile_method="averaged_inverted_cdf",
        ),
        _of("preprocessing", "Normalizer"),
        _of("linear_model", "RidgeClassifier"),
    )
    model.fit(x, classes)
    made = import_module("skl2onnx").convert_sklearn(model, initial_types=[("input", _tensor("Float"))])
    path.write_bytes(made.SerializeToString())
    return {"input": x[:ASKED]}


def _lightgbm(is_regressor: bool) -> Callable[[Path], Feeds]:
    def make(path: Path) -> Feeds:
        x, classes, values = _numbers()
        package = import_module("lightgbm")
        kind = package.LGBMRegressor if is_regressor else package.LGBMClassifier
        model = kind(n_estimators=12, num_leaves=15, verbose=-1).fit(x, values if is_regressor else classes)
        return _converted("convert_lightgbm", model, x, path)

    return make


def _xgboost(is_regressor: bool) -> Callable[[Path], Feeds]:
    def make(path: Path) -> Feeds:
        x, classes, values = _numbers()
        package = import_module("xgboost")
        kind = package.XGBRegressor if is_regressor else package.XGBClassifier
        model = kind(n_estimators=12, max_depth=4).fit(x, values if is_regressor else classes)
        return _converted("convert_xgboost", model, x, path)

    return make


def _converted(function: str, model: Any, x: Array, path: Path) -> Feeds:
    types = import_module("onnxmltools.convert.common.data_types")
    package = import_module("onnxmltools")
    made = getattr(package, function)(
        model, initial_types=[("input", types.FloatTensorType([None, COLUMNS]))], target_opset=15
    )
    path.write_bytes(made.SerializeToString())
    return {"input": x[:ASKED]}


def _catboost(is_regressor: bool) -> Callable[[Path], Feeds]:
    def make(path: Path) -> Feeds:
        x, classes, values = _numbers()
        package = import_module("catboost")
        kind = package.CatBoostRegressor if is_regressor else package.CatBoostClassifier
        model = kind(iterations=12, depth=4, verbose=False, allow_writing_files=False)
        model.fit(x, values if is_regressor else classes)
        model.save_model(str(path), format="onnx")
        return {"features": x[:ASKED]}

    return make
