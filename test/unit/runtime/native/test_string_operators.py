"""Strings and maps: what the session computes of them, without the reference evaluator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import onnx
import onnx.parser
import pytest

from xonnc.errors import XonncError
from xonnc.formats.native.program import RuntimeValue, SessionStep
from xonnc.native import compile_native
from xonnc.runtime.native.operator_call import OperatorCall
from xonnc.runtime.native.session import Session
from xonnc.runtime.native.session_operators import prepare_step

HEAD = '<ir_version: 10, opset_import: ["" : 21, "ai.onnx.ml" : 3, "com.microsoft" : 1]>\n'


def session_of(text: str) -> Session:
    return compile_native(onnx.parser.parse_model(HEAD + text))


def strings(*given: str) -> npt.NDArray[np.object_]:
    return np.array(given, np.object_)


def listed(held: object) -> object:
    assert isinstance(held, np.ndarray)
    return held.tolist()


def run(text: str, feeds: Mapping[str, object]) -> list[object]:
    """All outputs as Python has them; nothing of them by the reference."""
    session = session_of(text)
    found = session.run(None, feeds)
    assert session.host_calls() == []
    return [each.tolist() if isinstance(each, np.ndarray) else each for each in found]


ROW = strings("the", "Ünder", "", "the Fox")

CASES: Sequence[tuple[str, str, Mapping[str, object], Sequence[object]]] = [
    (
        "StringConcat",
        "(string[2,1] x, string[2] z) => (string[2,2] y) { y = StringConcat(x, z) }",
        {"x": strings("a", "b").reshape(2, 1), "z": strings("ä", "")},
        [[["aä", "a"], ["bä", "b"]]],
    ),
    # Whole elements are stop words; accents and empty strings stay.
    (
        "StringNormalizer",
        '(string[4] x) => (string[n] y) { y = StringNormalizer<case_change_action = "UPPER",'
        ' is_case_sensitive = 0, stopwords = ["THE"]>(x) }',
        {"x": ROW},
        [["ÜNDER", "", "THE FOX"]],
    ),
    (
        "StringNormalizer of one row, all stop words",
        "(string[1,2] x) => (string[1,n] y) { y = StringNormalizer<is_case_sensitive = 1,"
        ' stopwords = ["a", "b"]>(x) }',
        {"x": strings("a", "b").reshape(1, 2)},
        [[[""]]],
    ),
    (
        "StringSplit",
        "(string[2] x) => (string[2,n] y, int64[2] c)"
        ' { y, c = StringSplit<delimiter = "-", maxsplit = 1>(x) }',
        {"x": strings("a-b-c", "d")},
        [[["a", "b-c"], ["d", ""]], [2, 1]],
    ),
    (
        "StringSplit at spaces",
        "(string[2] x) => (string[2,n] y, int64[2] c) { y, c = StringSplit(x) }",
        {"x": strings(" a  b ", "")},
        [[["a", "b"], ["", ""]], [2, 0]],
    ),
    (
        "RegexFullMatch",
        '(string[3] x) => (bool[3] y) { y = RegexFullMatch<pattern = "[a-z]+[0-9]?">(x) }',
        {"x": strings("abc", "abc1", "abc12")},
        [[True, True, False]],
    ),
    (
        "Cast to numbers",
        "(string[4] x) => (float[4] y, int64[4] z)"
        " { y = Cast<to = 1>(x) i = Cast<to = 7>(x) z = Identity(i) }",
        {"x": strings("1", "-2", "30", "4")},
        [[1.0, -2.0, 30.0, 4.0], [1, -2, 30, 4]],
    ),
    (
        "Cast of numbers",
        "(float[3] x, int64[2] z) => (string[3] y, string[2] w) { y = Cast<to = 8>(x) w = Cast<to = 8>(z) }",
        {"x": np.array([0.1, 1e-7, np.nan], np.float32), "z": np.array([-1, 1 << 62])},
        [["0.1", "1e-07", "nan"], ["-1", str(1 << 62)]],
    ),
    (
        "LabelEncoder",
        '(string[2,2] x) => (int64[2,2] y) { y = ai.onnx.ml.LabelEncoder<keys_strings = ["a", "b"],'
        " values_int64s = [5, 7], default_int64 = -2>(x) }",
        {"x": strings("b", "a", "", "c").reshape(2, 2)},
        [[[7, 5], [-2, -2]]],
    ),
    (
        "LabelEncoder of bytes",
        '(string[3] x) => (int64[3] y) { y = ai.onnx.ml.LabelEncoder<keys_strings = ["a", "ä"],'
        " values_int64s = [5, 7], default_int64 = -2>(x) }",
        {"x": np.array(["a", "ä".encode(), b"b"], np.object_)},
        [[5, 7, -2]],
    ),
    (
        "LabelEncoder to strings",
        "(float[3] x) => (string[3] y) { y = ai.onnx.ml.LabelEncoder<keys_floats = [1.0, 2.5],"
        ' values_strings = ["one", "more"], default_string = "?">(x) }',
        {"x": np.array([2.5, 1, np.nan], np.float32)},
        [["more", "one", "?"]],
    ),
    (
        "CategoryMapper",
        "(string[2] x, int64[2] z) => (int64[2] y, string[2] w) {"
        ' y = ai.onnx.ml.CategoryMapper<cats_strings = ["a", "b"], cats_int64s = [3, 4]>(x)'
        ' w = ai.onnx.ml.CategoryMapper<cats_strings = ["a", "b"], cats_int64s = [3, 4]>(z) }',
        {"x": strings("b", "?"), "z": np.array([3, 9])},
        [[4, -1], ["a", "_Unused"]],
    ),
    (
        "OneHotEncoder",
        '(string[2] x) => (float[2,2] y) { y = ai.onnx.ml.OneHotEncoder<cats_strings = ["a", "b"]>(x) }',
        {"x": strings("b", "?")},
        [[[0.0, 1.0], [0.0, 0.0]]],
    ),
    (
        "TfIdfVectorizer",
        '(string[2,4] x) => (float[2,3] y) { y = TfIdfVectorizer<mode = "TFIDF", min_gram_length = 1,'
        " max_gram_length = 2, max_skip_count = 1, ngram_counts = [0, 2], ngram_indexes = [0, 1, 2],"
        ' pool_strings = ["a", "b", "a", "b"], weights = [1.0, 2.0, 10.0]>(x) }',
        # "a", "b" beside each other and with one between them: 2 and 1 times in the first row.
        {"x": strings("a", "b", "b", "a", "c", "c", "a", "a").reshape(2, 4)},
        [[[2.0, 4.0, 20.0], [2.0, 0.0, 0.0]]],
    ),
    (
        "TfIdfVectorizer whose outputs are in another order",
        '(string[4] x) => (float[3] y) { y = TfIdfVectorizer<mode = "IDF", min_gram_length = 1,'
        " max_gram_length = 1, max_skip_count = 0, ngram_counts = [0], ngram_indexes = [2, 0, 1],"
        ' pool_strings = ["a", "b", "c"], weights = [1.0, 2.0, 10.0]>(x) }',
        {"x": strings("a", "b", "b", "d")},
        [[2.0, 0.0, 1.0]],
    ),
    (
        "ZipMap",
        "(float[2,2] x) => (seq(map(string, float)) y) { y = ai.onnx.ml.ZipMap<classlabels_strings ="
        ' ["a", "b"]>(x) }',
        {"x": np.array([[1, 2], [3, 4]], np.float32)},
        [({"a": 1.0, "b": 2.0}, {"a": 3.0, "b": 4.0})],
    ),
    (
        "DictVectorizer",
        "(map(string, float) x) => (float[1,3] y) { y = ai.onnx.ml.DictVectorizer<string_vocabulary ="
        ' ["a", "c", "b"]>(x) }',
        {"x": {"b": np.float32(0.5), "a": [2]}},
        [[[2.0, 0.0, 0.5]]],
    ),
    (
        "CastMap",
        "(map(int64, float) x) => (float[1,4] y, int64[1,2] z) {"
        ' y = ai.onnx.ml.CastMap<map_form = "SPARSE", max_map = 4>(x)'
        ' z = ai.onnx.ml.CastMap<cast_to = "TO_INT64">(x) }',
        {"x": {3: 1.5, 1: 2.0}},
        [[[0.0, 2.0, 0.0, 1.5]], [[2, 1]]],
    ),
    (
        "Tokenizer",
        "(string[2] x) => (string[2,n] y) { y = com.microsoft.Tokenizer<mark = 1, mincharnum = 2,"
        ' pad_value = "#", tokenexp = "[a-z]+">(x) }',
        {"x": strings("ab c de", "fg")},
        [[["\x02", "ab", "de", "\x03"], ["\x02", "fg", "\x03", "#"]]],
    ),
    (
        "Tokenizer at separators",
        "(string[1] x) => (string[1,n] y) { y = com.microsoft.Tokenizer<mark = 0, mincharnum = 1,"
        ' pad_value = "#", separators = [" ", ","]>(x) }',
        {"x": strings("ab, c")},
        [[["ab", "c"]]],
    ),
    # Matches of an expression, not of its groups, and no empty ones.
    (
        "Tokenizer with groups",
        "(string[2] x) => (string[2,n] y) { y = com.microsoft.Tokenizer<mark = 0, mincharnum = 1,"
        ' pad_value = "#", tokenexp = "(a)(b)*">(x) }',
        {"x": strings("abb a", "b")},
        [[["abb", "a"], ["#", "#"]]],
    ),
    (
        "Tokenizer with empty matches",
        "(string[2] x) => (string[2,n] y) { y = com.microsoft.Tokenizer<mark = 0, mincharnum = 1,"
        ' pad_value = "#", tokenexp = "a*">(x) }',
        {"x": strings("baa a", "b")},
        [[["aa", "a"], ["#", "#"]]],
    ),
    (
        "Tokenizer into characters",
        "(string[1] x) => (string[1,n] y) { y = com.microsoft.Tokenizer<mark = 0, mincharnum = 1,"
        ' pad_value = "#", separators = [""]>(x) }',
        {"x": strings("añ")},
        [[["a", "ñ"]]],
    ),
    (
        "ZipMap of one class",
        "(float[2,1] x) => (seq(map(int64, float)) y) { y = ai.onnx.ml.ZipMap<classlabels_int64s = [7]>(x) }",
        {"x": np.array([[0.5], [-1.0]], np.float32)},
        [({7: 0.5}, {7: -1.0})],
    ),
    (
        "ZipMap of many classes",
        f"(float[1,40] x) => (seq(map(int64, float)) y)"
        f" {{ y = ai.onnx.ml.ZipMap<classlabels_int64s = {list(range(40))}>(x) }}",
        {"x": np.arange(40, dtype=np.float32).reshape(1, 40)},
        [({number: float(number) for number in range(40)},)],
    ),
    (
        "Reshape that keeps an axis",
        "(string[2,3] x) => (string[2,1,3] y) { s = Constant<value = int64[3] {0, -1, 3}>()"
        " y = Reshape(x, s) }",
        {"x": strings("a", "b", "c", "d", "e", "f").reshape(2, 3)},
        [[[["a", "b", "c"]], [["d", "e", "f"]]]],
    ),
]


@pytest.mark.parametrize(
    ("text", "feeds", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_session_computes_with_strings(
    text: str, feeds: Mapping[str, object], expected: Sequence[object]
):
    assert run("model " + text, feeds) == list(expected)


GRID = np.array([["a", "b", "c"], ["d", "e", "a"]], np.object_)

MOVEMENT: Sequence[tuple[str, Sequence[object], Sequence[npt.NDArray[np.generic]]]] = [
    ("Identity(x)", [], [GRID]),
    ("Reshape(x, i0)", [[3, -1]], [GRID.reshape(3, 2)]),
    ("Reshape(x, i0)", [[0, 3, 1]], [GRID.reshape(2, 3, 1)]),
    ("Flatten<axis = 0>(x)", [], [GRID.reshape(1, 6)]),
    ("Unsqueeze(x, i0)", [[0, -1]], [GRID[None, :, :, None]]),
    ("Transpose<perm = [1, 0]>(x)", [], [GRID.T]),
    ("Transpose<perm = [0, 1]>(x)", [], [GRID]),
    ("Transpose(x)", [], [GRID.T]),
    ("Concat<axis = -1>(x, x)", [], [np.concatenate([GRID, GRID], 1)]),
    ("Gather<axis = 1>(x, i0)", [[2, -3]], [GRID[:, [2, 0]]]),
    ("GatherElements<axis = 1>(x, i0)", [[[0], [-1]]], [np.array([["a"], ["a"]])]),
    ("GatherND(x, i0)", [[[1, -2], [0, 0]]], [np.array(["e", "a"])]),
    ("GatherND<batch_dims = 1>(x, i0)", [[[1], [2]]], [np.array(["b", "a"])]),
    ("Slice(x, i0, i1, i2, i3)", [[-1], [-9], [1], [-2]], [GRID[:, ::-2]]),
    ("Slice(x, i0, i1)", [[1, 0], [9, 2]], [GRID[1:, :2]]),
    ("Split<axis = 1>(x, i0)", [[1, 2]], [GRID[:, :1], GRID[:, 1:]]),
    ("Expand(x, i0)", [[2, 1, 1]], [np.stack([GRID, GRID])]),
    ("Tile(x, i0)", [[2, 1]], [np.tile(GRID, (2, 1))]),
    ("Where(b, x, x)", [], [GRID]),
    ("Equal(x, x)", [], [np.ones((2, 3), np.bool_)]),
    ("Compress<axis = 1>(x, b)", [], [GRID[:, [0, 2]]]),
    ("Compress(x, m)", [], [np.array(["a", "c", "d"])]),
    (
        "ReverseSequence<batch_axis = 0, time_axis = 1>(x, i0)",
        [[2, 3]],
        [np.array([["b", "a", "c"], ["a", "e", "d"]])],
    ),
    (
        "ScatterElements<axis = 1>(x, i0, x)",
        [[[0, 2, 1], [2, 1, 0]]],
        [np.array([["a", "c", "b"], ["a", "e", "d"]])],
    ),
    ("ScatterND(x, i0, x)", [[[1], [0]]], [GRID[::-1]]),
    ("Squeeze(x)", [], [GRID]),
    ("Pad(x, i0)", [[0, 1, 0, -1]], [np.array([["", "a", "b"], ["", "d", "e"]])]),
    ('Pad<mode = "edge">(x, i0)', [[0, 0, 1, 0]], [np.concatenate([GRID, GRID[1:]])]),
    (
        "Unique(x)",
        [],
        [
            np.array(["a", "b", "c", "d", "e"]),
            np.array([0, 1, 2, 3, 4]),
            np.array([0, 1, 2, 3, 4, 0]),
            np.array([2, 1, 1, 1, 1]),
        ],
    ),
    ("Unique<axis = 0, sorted = 0>(x)", [], [GRID, np.array([0, 1]), np.array([0, 1]), np.array([1, 1])]),
    ("ai.onnx.ml.ArrayFeatureExtractor(x, i0)", [[2, 0]], [GRID[:, [2, 0]]]),
]


def moving(call: str, indices: Sequence[object], count: int) -> onnx.ModelProto:
    """A model of one call, of which nothing is told but types."""
    ports = "".join(f", int64 i{number}" for number in range(len(indices)))
    outs = ", ".join(f"string y{number}" for number in range(count))
    names = ", ".join(f"y{number}" for number in range(count))
    text = f"{HEAD} model (string x, bool b, bool m{ports}) => ({outs}) {{ {names} = {call} }}"
    model = onnx.parser.parse_model(text)
    for port in (*model.graph.input, *model.graph.output):
        port.type.tensor_type.ClearField("shape")
    for number, port in enumerate(model.graph.output):
        if call.startswith("Equal"):
            port.type.tensor_type.elem_type = onnx.TensorProto.BOOL
        elif number and call.startswith("Unique"):
            port.type.tensor_type.elem_type = onnx.TensorProto.INT64
    return model


@pytest.mark.parametrize(
    ("call", "indices", "expected"), MOVEMENT, ids=[each[0] + str(each[1]) for each in MOVEMENT]
)
def test_the_session_moves_strings(
    call: str, indices: Sequence[object], expected: Sequence[npt.NDArray[np.generic]]
):
    session = compile_native(moving(call, indices, len(expected)))
    feeds: dict[str, object] = {"x": GRID, "b": np.array([True, False, True])}
    feeds["m"] = np.array([[True, False, True], [True, False, False]])
    feeds |= {f"i{number}": np.array(each, np.int64) for number, each in enumerate(indices)}
    found = session.run(None, feeds)
    assert session.host_calls() == []
    assert [listed(each) for each in found] == [each.tolist() for each in expected]
    assert [np.shape(np.asarray(each)) for each in found] == [each.shape for each in expected]


WRONG: Sequence[tuple[str, Mapping[str, object], str]] = [
    (
        "(string[2] x) => (float[2] y) { [it] y = Cast<to = 1>(x) }",
        {"x": strings("1", "one")},
        "it: a string cannot be parsed as float32",
    ),
    (
        '(string[1] x) => (bool[1] y) { [it] y = RegexFullMatch<pattern = "(">(x) }',
        {"x": strings("a")},
        r"it: '\(' is not a regular expression",
    ),
    (
        "(float[2,3] x) => (seq(map(int64, float)) y) "
        "{ [it] y = ai.onnx.ml.ZipMap<classlabels_int64s = [1, 2]>(x) }",
        {"x": np.ones((2, 3), np.float32)},
        "it: 3 scores in a row for 2 classes",
    ),
    (
        "(map(string, float) x) => (float[1,1] y) "
        '{ [it] y = ai.onnx.ml.DictVectorizer<string_vocabulary = ["a"]>(x) }',
        {"x": {"b": 1.0}},
        "it: key 'b' is not in the vocabulary",
    ),
    (
        "(map(int64, float) x) => (float[1,2] y) "
        '{ [it] y = ai.onnx.ml.CastMap<map_form = "SPARSE", max_map = 2>(x) }',
        {"x": {2: 1.0}},
        "it: keys 2 to 2 of a map of 2",
    ),
    (
        "(string[1] x) => (float[1,1] y) "
        '{ [it] y = ai.onnx.ml.OneHotEncoder<cats_strings = ["a"], zeros = 0>(x) }',
        {"x": strings("b")},
        "it: 1 elements are not in any category",
    ),
    (
        "(string[2] x, int64[1] i) => (string[1] y) { [it] y = Gather(x, i) }",
        {"x": strings("a", "b"), "i": np.array([-3])},
        r"it: index -3 is out of range of axes of \[2\] elements",
    ),
    (
        "(map(int64, float) x) => (float[1,2] y) { y = ai.onnx.ml.CastMap(x) }",
        {"x": {2: None}},
        "input 'x': 2: None was fed, keys of maps are integers or strings, values numbers or strings",
    ),
    (
        "(string[2,3] x, bool[n] c) => (string[2,m] y) { [it] y = Compress<axis = 1>(x, c) }",
        {"x": GRID, "c": np.ones(4, np.bool_)},
        "it: a condition of 4 elements is longer than the axis",
    ),
    (
        "(string[2,3] x, bool[n] c) => (string[m] y) { [it] y = Compress(x, c) }",
        {"x": GRID, "c": np.ones(7, np.bool_)},
        "it: a condition of 7 elements is longer than the axis",
    ),
    (
        "(string[2,3] x, int64[2] n) => (string[2,3] y)"
        " { [it] y = ReverseSequence<batch_axis = 0, time_axis = 1>(x, n) }",
        {"x": GRID, "n": np.array([3, 4])},
        "it: sequence length 4 exceeds the axis size 3",
    ),
    (
        "(string[2,3] x, int64[2] n) => (string[2,3] y)"
        " { [it] y = ReverseSequence<batch_axis = 0, time_axis = 1>(x, n) }",
        {"x": GRID, "n": np.array([-1, 3])},
        "it: sequence length -1 exceeds the axis size 3",
    ),
    (
        "(string[n] x, string[m] z) => (bool[k] y) { [it] y = Equal(x, z) }",
        {"x": strings("a", "b"), "z": strings("a", "b", "c")},
        "it: Equal: Broadcast op with incompatible shapes: 2, 3",
    ),
]


@pytest.mark.parametrize(("text", "feeds", "message"), WRONG)
def test_what_does_not_fit_is_told_by_name(text: str, feeds: Mapping[str, object], message: str):
    with pytest.raises(XonncError, match=message):
        session_of("model " + text).run(None, feeds)


def test_strings_of_each_run_are_its_own():
    session = session_of("model (string[n] x, int64[m] i) => (string[m] y) { y = Gather(x, i) }")
    results: list[RuntimeValue] = []
    x = strings("a", "b", "c")
    for indices in ([0, 2], [-1, 1], [1, 1]):
        results += session.run(None, {"x": x, "i": np.array(indices)})
        x[:] = [each + "'" for each in x]
    expected = [["a", "c"], ["c'", "b'"], ["b''", "b''"]]
    assert [np.asarray(each).tolist() for each in results] == expected
    with pytest.raises(XonncError, match="index 3 is out of range"):
        session.run(None, {"x": x, "i": np.array([0, 3])})
    assert np.asarray(session.run(None, {"x": x, "i": np.zeros(0, np.int64)})[0]).tolist() == []


def test_texts_of_numpy_become_strings_in_each_run():
    """Runs on inputs of the same shape take a short way; NumPy's texts have a type for each length."""
    session = session_of("model (string[n] x) => (string[n] y) { y = StringNormalizer(x) }")
    x = np.array(["a", "b"])
    results = [session.run(None, {"x": x})[0]]
    x[0] = "c"
    for fed in (x, np.array(["longer", "ü"]), strings("d", "e"), np.array(["long", "short"])[::-1]):
        results += session.run(None, {"x": fed})
    expected = [["a", "b"], ["c", "b"], ["longer", "ü"], ["d", "e"], ["short", "long"]]
    assert [listed(each) for each in results] == expected
    assert all(np.asarray(each).dtype == np.object_ for each in results)


def test_constant_indices_are_checked_for_each_size():
    session = session_of(
        "model (string[n] x) => (string[2] y) { i = Constant<value = int64[2] {-1, 1}>() y = Gather(x, i) }"
    )
    x = strings("a", "b", "c", "d")
    for size, expected in ((4, ["d", "b"]), (2, ["b", "b"]), (4, ["d", "b"]), (3, ["c", "b"])):
        assert listed(session.run(None, {"x": x[:size]})[0]) == expected
    with pytest.raises(XonncError, match="index 1 is out of range"):
        session.run(None, {"x": x[:1]})


def test_a_normalizer_takes_one_row():
    step = SessionStep("StringNormalizer", "it", {}, [0], [1])
    with pytest.raises(XonncError, match=r"it: it takes one row of strings, found shape \[2, 3\]"):
        prepare_step(step)(OperatorCall(step, [GRID], []))


LINEAR = "LinearClassifier<coefficients = [1.0, -1.0], intercepts = [0.0, 0.0]"
TREE = """TreeEnsembleClassifier<nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2],
  nodes_featureids = [0, 0, 0], nodes_values = [0.0, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"],
  nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], class_treeids = [0, 0],
  class_nodeids = [1, 2], class_ids = [1, 0], class_weights = [1.0, 1.0]"""


@pytest.mark.parametrize("operator", [LINEAR, TREE], ids=["linear", "tree"])
def test_classifiers_of_strings_compute_natively(operator: str):
    """As scikit-learn's are exported: labels of strings, and a map of them to scores."""
    text = f"""model (float[n,1] x) => (string[n] label, seq(map(string, float)) maps) {{
      label, scores = ai.onnx.ml.{operator}, classlabels_strings = ["up", "down"]>(x)
      maps = ai.onnx.ml.ZipMap<classlabels_strings = ["up", "down"]>(scores)
    }}"""
    session = session_of(text)
    label, maps = session.run(None, {"x": np.array([[1], [-1], [2]], np.float32)})
    assert session.host_calls() == []
    assert listed(label) == ["up", "down", "up"]
    assert isinstance(maps, tuple)
    assert [max(each, key=each.__getitem__) for each in maps if isinstance(each, dict)] == [
        "up",
        "down",
        "up",
    ]


TEXTS = """model (string[n,1] x) => (int64[n] label, seq(map(int64, float)) maps) {
  row = Constant<value = int64[1] {-1}>()
  flat = Reshape(x, row)
  lower = StringNormalizer<case_change_action = "LOWER", is_case_sensitive = 0>(flat)
  tokens = com.microsoft.Tokenizer<mark = 0, mincharnum = 1, pad_value = "#", tokenexp = "[a-z]+">(lower)
  rows = Flatten<axis = 1>(tokens)
  counts = TfIdfVectorizer<mode = "TF", min_gram_length = 1, max_gram_length = 1, max_skip_count = 0,
    ngram_counts = [0], ngram_indexes = [0, 1], pool_strings = ["cat", "dog"]>(rows)
  shares = ai.onnx.ml.Normalizer<norm = "L2">(counts)
  label, scores = ai.onnx.ml.LinearClassifier<classlabels_ints = [0, 1],
    coefficients = [1.0, -1.0, -1.0, 1.0],
    intercepts = [0.0, 0.0], post_transform = "LOGISTIC">(shares)
  maps = ai.onnx.ml.ZipMap<classlabels_int64s = [0, 1]>(scores)
}"""


def test_a_pipeline_of_texts_computes_its_numbers_natively():
    """As scikit-learn's TfidfVectorizer and LogisticRegression are exported."""
    session = session_of(TEXTS)
    x = strings("The cat, a CAT!", "dog and cat and dog", "").reshape(3, 1)
    label, maps = session.run(None, {"x": x})
    assert session.host_calls() == []
    assert listed(label) == [0, 1, 0]
    assert isinstance(maps, tuple)
    assert [round(float(each[0]), 3) for each in maps if isinstance(each, dict)] == [0.731, 0.39, 0.5]


def test_only_texts_are_fed_to_string_inputs():
    """In the first run and in repeated ones, which skip checks; sizes too."""
    model = onnx.parser.parse_model(
        '<ir_version: 9, opset_import: ["" : 20]> g (string[2] x) => (string[2] y) { y = StringConcat(x, x) }'
    )
    session = compile_native(model)
    for _ in range(2):
        with pytest.raises(XonncError, match="input 'x': int64 was fed, the model takes string"):
            session.run(None, {"x": np.array([1, 2])})
        with pytest.raises(XonncError, match=r"input 'x': the shape \[3\] was fed, the model takes \[2\]"):
            session.run(None, {"x": np.array(["a", "b", "c"])})
        for texts in (np.array(["a", "b"]), np.array(["a", "b"], object)):
            (found,) = session.run(None, {"x": texts})
            assert np.asarray(found).tolist() == ["aa", "bb"]
