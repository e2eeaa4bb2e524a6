"""Encodings of features; written by `python -m xonnc.tools.onnx_dialect`."""

from __future__ import annotations

from typing import ClassVar

from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure

from xonnc.dialects.onnx.attribute_builders import float_attr, int_attr, string_attr
from xonnc.dialects.onnx.checks import Checks
from xonnc.dialects.onnx.checks.elements import string_or
from xonnc.dialects.onnx.checks.operators import category_mapper, label_keys
from xonnc.dialects.onnx.checks.shapes import rank_is
from xonnc.dialects.onnx.checks.values import (
    either,
    integer_in,
    one_for_each_of,
    one_of,
    same_lengths,
    same_rows,
)
from xonnc.dialects.onnx.constraints import (
    ELEMENTS_ATTR,
    FLOAT,
    FLOAT_ARRAY_ATTR,
    FLOAT_ATTR,
    INT64,
    INT_ARRAY_ATTR,
    INT_ATTR,
    STRING_ARRAY_ATTR,
    STRING_ATTR,
    types,
)
from xonnc.dialects.onnx.op import OnnxOp


@irdl_op_definition
class ArrayFeatureExtractorOp(OnnxOp):
    """The elements along the last axis that the indices name."""

    name = "onnx.ArrayFeatureExtractor"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "ArrayFeatureExtractor"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i32 i64 f32 f64 string")

    X = operand_def(T)
    Y = operand_def(INT64)

    Z = result_def(T)

    traits = traits_def(Pure())


@irdl_op_definition
class BinarizerOp(OnnxOp):
    """
    Maps the values of the input tensor to either 0 or 1, element-wise, based on the outcome of a comparison
    against a threshold value.
    """

    name = "onnx.Binarizer"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "Binarizer"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i32 i64 f32 f64")

    X = operand_def(T)

    Y = result_def(T)

    threshold = prop_def(FLOAT_ATTR, float_attr(0.0))

    traits = traits_def(Pure())


@irdl_op_definition
class CastMapOp(OnnxOp):
    """
    Converts a map to a tensor. The map key must be an int64 and the values will be ordered in ascending
    order based on this key.
    """

    name = "onnx.CastMap"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "CastMap"
    SINCE: ClassVar = 1

    T1: ClassVar = types("T1", "map<i64, f32> map<i64, string>")
    T2: ClassVar = types("T2", "i64 f32 string")

    X = operand_def(T1)

    Y = result_def(T2)

    cast_to = prop_def(STRING_ATTR, string_attr("TO_FLOAT"))
    map_form = prop_def(STRING_ATTR, string_attr("DENSE"))
    max_map = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(),
        Checks(one_of("cast_to", "TO_FLOAT", "TO_STRING", "TO_INT64"), one_of("map_form", "DENSE", "SPARSE")),
    )


@irdl_op_definition
class CategoryMapperOp(OnnxOp):
    """
    Converts strings to integers and vice versa. Two sequences of equal length are used to map between
    integers and strings, with strings and integers at the same index detailing the mapping.
    """

    name = "onnx.CategoryMapper"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "CategoryMapper"
    SINCE: ClassVar = 1

    T1: ClassVar = types("T1", "i64 string")
    T2: ClassVar = types("T2", "i64 string")

    X = operand_def(T1)

    Y = result_def(T2)

    cats_int64s = opt_prop_def(INT_ARRAY_ATTR)
    cats_strings = opt_prop_def(STRING_ARRAY_ATTR)
    default_int64 = prop_def(INT_ATTR, int_attr(-1))
    default_string = prop_def(STRING_ATTR, string_attr("_Unused"))

    traits = traits_def(Pure(), Checks(category_mapper))


@irdl_op_definition
class DictVectorizerOp(OnnxOp):
    """
    Uses an index mapping to convert a dictionary to an array. Given a dictionary, each key is looked up in
    the vocabulary attribute corresponding to the key type.
    """

    name = "onnx.DictVectorizer"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "DictVectorizer"
    SINCE: ClassVar = 1

    T1: ClassVar = types(
        "T1",
        "map<i64, f32> map<i64, f64> map<i64, string> map<string, f32> map<string, f64> map<string, i64>",
    )
    T2: ClassVar = types("T2", "i64 f32 f64 string")

    X = operand_def(T1)

    Y = result_def(T2)

    int64_vocabulary = opt_prop_def(INT_ARRAY_ATTR)
    string_vocabulary = opt_prop_def(STRING_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(either("int64_vocabulary", "string_vocabulary")))


@irdl_op_definition
class FeatureVectorizerOp(OnnxOp):
    """
    Concatenates input tensors into one continuous output. All input shapes are 2-D and are concatenated
    along the second dimension.
    """

    name = "onnx.FeatureVectorizer"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "FeatureVectorizer"
    SINCE: ClassVar = 1

    T1: ClassVar = types("T1", "i32 i64 f32 f64")

    X = var_operand_def(T1.one_or_more)

    Y = result_def(FLOAT)

    inputdimensions = opt_prop_def(INT_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(one_for_each_of("inputdimensions", "X"), same_rows("X")))


@irdl_op_definition
class ImputerOp(OnnxOp):
    """
    Replaces inputs that equal one value with another, leaving all other elements alone. This operator is
    typically used to replace missing values in situations where they have a canonical representation, such
    as -1, 0, NaN, or some extreme value.
    """

    name = "onnx.Imputer"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "Imputer"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i32 i64 f32 f64")

    X = operand_def(T)

    Y = result_def(T)

    imputed_value_floats = opt_prop_def(FLOAT_ARRAY_ATTR)
    imputed_value_int64s = opt_prop_def(INT_ARRAY_ATTR)
    replaced_value_float = prop_def(FLOAT_ATTR, float_attr(0.0))
    replaced_value_int64 = prop_def(INT_ATTR, int_attr(0))

    traits = traits_def(Pure())


@irdl_op_definition
class LabelEncoderOp(OnnxOp):
    """
    Maps each element in the input tensor to another value. The mapping is determined by the two parallel
    attributes, 'keys_*' and 'values_*' attribute.
    """

    name = "onnx.LabelEncoder"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "LabelEncoder"
    SINCE: ClassVar = 2

    T1: ClassVar = types("T1", "i16 i32 i64 f32 f64 string")
    T2: ClassVar = types("T2", "i16 i32 i64 f32 f64 string")

    X = operand_def(T1)

    Y = result_def(T2)

    default_float = prop_def(FLOAT_ATTR, float_attr(-0.0))
    default_int64 = prop_def(INT_ATTR, int_attr(-1))
    default_string = prop_def(STRING_ATTR, string_attr("_Unused"))
    default_tensor = opt_prop_def(ELEMENTS_ATTR)
    keys_floats = opt_prop_def(FLOAT_ARRAY_ATTR)
    keys_int64s = opt_prop_def(INT_ARRAY_ATTR)
    keys_strings = opt_prop_def(STRING_ARRAY_ATTR)
    keys_tensor = opt_prop_def(ELEMENTS_ATTR)
    values_floats = opt_prop_def(FLOAT_ARRAY_ATTR)
    values_int64s = opt_prop_def(INT_ARRAY_ATTR)
    values_strings = opt_prop_def(STRING_ARRAY_ATTR)
    values_tensor = opt_prop_def(ELEMENTS_ATTR)

    traits = traits_def(
        Pure(),
        Checks(
            same_lengths(
                "keys_int64s",
                "keys_floats",
                "keys_strings",
                "values_int64s",
                "values_floats",
                "values_strings",
            ),
            label_keys,
        ),
    )


@irdl_op_definition
class LabelEncoderV1Op(OnnxOp):
    """
    Converts strings to integers and vice versa. If the string default value is set, it will convert
    integers to strings.

    As of opset 1.
    """

    name = "onnx.LabelEncoderV1"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "LabelEncoder"
    SINCE: ClassVar = 1
    UNTIL: ClassVar = 2

    T1: ClassVar = types("T1", "i64 string")
    T2: ClassVar = types("T2", "i64 string")

    X = operand_def(T1)

    Y = result_def(T2)

    classes_strings = opt_prop_def(STRING_ARRAY_ATTR)
    default_int64 = prop_def(INT_ATTR, int_attr(-1))
    default_string = prop_def(STRING_ATTR, string_attr("_Unused"))

    traits = traits_def(Pure())


@irdl_op_definition
class NormalizerOp(OnnxOp):
    """Each row divided by its largest element or norm."""

    name = "onnx.Normalizer"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "Normalizer"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i32 i64 f32 f64")

    X = operand_def(T)

    Y = result_def(FLOAT)

    norm = prop_def(STRING_ATTR, string_attr("MAX"))

    traits = traits_def(Pure(), Checks(one_of("norm", "MAX", "L1", "L2"), rank_is("X", 1, 2)))


@irdl_op_definition
class OneHotEncoderOp(OnnxOp):
    """
    Replace each input element with an array of ones and zeros, where a single one is placed at the index of
    the category that was passed in.
    """

    name = "onnx.OneHotEncoder"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "OneHotEncoder"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i32 i64 f32 f64 string")

    X = operand_def(T)

    Y = result_def(FLOAT)

    cats_int64s = opt_prop_def(INT_ARRAY_ATTR)
    cats_strings = opt_prop_def(STRING_ARRAY_ATTR)
    zeros = prop_def(INT_ATTR, int_attr(1))

    traits = traits_def(
        Pure(), Checks(string_or("X", "cats_strings", "cats_int64s"), integer_in("zeros", 0, 1))
    )


@irdl_op_definition
class ScalerOp(OnnxOp):
    """
    Rescale input data, for example to standardize features by removing the mean and scaling to unit
    variance.
    """

    name = "onnx.Scaler"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "Scaler"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "i32 i64 f32 f64")

    X = operand_def(T)

    Y = result_def(FLOAT)

    offset = opt_prop_def(FLOAT_ARRAY_ATTR)
    scale = opt_prop_def(FLOAT_ARRAY_ATTR)

    traits = traits_def(Pure())


@irdl_op_definition
class ZipMapOp(OnnxOp):
    """A map from class names to the scores of each row."""

    name = "onnx.ZipMap"

    DOMAIN: ClassVar = "ai.onnx.ml"
    OP_TYPE: ClassVar = "ZipMap"
    SINCE: ClassVar = 1

    T: ClassVar = types("T", "seq<map<i64, f32> map<string, f32>>")

    X = operand_def(FLOAT)

    Z = result_def(T)

    classlabels_int64s = opt_prop_def(INT_ARRAY_ATTR)
    classlabels_strings = opt_prop_def(STRING_ARRAY_ATTR)

    traits = traits_def(Pure(), Checks(either("classlabels_int64s", "classlabels_strings")))


OPS: tuple[type[OnnxOp], ...] = (
    ArrayFeatureExtractorOp,
    BinarizerOp,
    CastMapOp,
    CategoryMapperOp,
    DictVectorizerOp,
    FeatureVectorizerOp,
    ImputerOp,
    LabelEncoderOp,
    LabelEncoderV1Op,
    NormalizerOp,
    OneHotEncoderOp,
    ScalerOp,
    ZipMapOp,
)
