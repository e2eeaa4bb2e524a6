"""The error function in double precision, by the rational approximations of fdlibm's `s_erf.c`."""

from __future__ import annotations

from collections.abc import Sequence

from xonnc.lowering.onnx_to_krnl.builders.scalars import Scalar

NEAR_0 = (
    (
        *(1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02),
        *(-5.77027029648944159157e-03, -2.37630166566501626084e-05),
    ),
    (
        *(1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03),
        *(1.32494738004321644526e-04, -3.96022827877536812320e-06),
    ),
)
"""Of `x²`, for `erf(x) / x - 1`; numerator and denominator, lowest coefficient first."""

NEAR_1 = (
    (
        *(-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01),
        *(3.18346619901161753674e-01, -1.10894694282396677476e-01, 3.54783043256182359371e-02),
        -2.16637559486879084300e-03,
    ),
    (
        *(1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02),
        *(1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02),
    ),
)
"""Of `|x| - 1`, for `erf(x) - AT_1`."""

AT_1 = 8.45062911510467529297e-01

BEYOND_1 = (
    (
        *(-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01),
        *(-6.23753324503260060396e01, -1.62396669462573470355e02, -1.84605092906711035994e02),
        *(-8.12874355063065934246e01, -9.81432934416914548592e00),
    ),
    (
        *(1.0, 1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02),
        *(6.45387271733267880336e02, 4.29008140027567833386e02, 1.08635005541779435134e02),
        *(6.57024977031928170135e00, -6.04244152148580987438e-02),
    ),
)
"""Of `1 / x²`, for `log(x (1 - erf(x))) + x² + 0.5625`, up to `1 / 0.35`."""

FAR = (
    (
        *(-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01),
        *(-1.60636384855821916062e02, -6.37566443368389627722e02, -1.02509513161107724954e03),
        -4.83519191608651397019e02,
    ),
    (
        *(1.0, 3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03),
        *(3.19985821950859553908e03, 2.55305040643316442583e03, 4.74528541206955367215e02),
        -2.24409524465858183362e01,
    ),
)
"""The same for `1 / 0.35 <= |x| < 6`; beyond 6, the error function is 1 in f64."""


def error_function(x: Scalar) -> Scalar:
    """`erf x` of f64."""
    size, square = x.abs(), x * x
    inverse = 1.0 / square
    logarithm = (size < 1 / 0.35).select(_ratio(inverse, BEYOND_1), _ratio(inverse, FAR))
    large = 1.0 - (logarithm - (square + 0.5625)).exp() / size
    beyond = (size < 1.25).select(_ratio(size - 1.0, NEAR_1) + AT_1, (size >= 6.0).select(1.0, large))
    return (size < 0.84375).select(x + x * _ratio(square, NEAR_0), (x < 0.0).select(-beyond, beyond))


def _ratio(x: Scalar, coefficients: tuple[Sequence[float], Sequence[float]]) -> Scalar:
    above, below = (_polynomial(x, each) for each in coefficients)
    return above / below


def _polynomial(x: Scalar, coefficients: Sequence[float]) -> Scalar:
    total = x.like(coefficients[-1])
    for each in reversed(coefficients[:-1]):
        total = total * x + each
    return total
