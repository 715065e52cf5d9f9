"""Converters of fitted models and scalers to ONNX, registered with skl2onnx by importing this.

After ``import skdp.estimators.onnx_converters``, ``skl2onnx.to_onnx`` takes models of skdp, alone
or in pipelines with its scalers. The file holds what ``model.to_sklearn()`` does, coefficients, the
ranges that columns are held to and the interval of predictions, and what scalers publish: no
budget, no receipt, no seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from skl2onnx import update_registered_converter
from skl2onnx.algebra.onnx_operator import OnnxSubEstimator
from skl2onnx.algebra.onnx_ops import (
    OnnxClip,
    OnnxDiv,
    OnnxIdentity,
    OnnxMax,
    OnnxMin,
    OnnxMul,
    OnnxReduceL2,
    OnnxSub,
)
from skl2onnx.common.data_types import DoubleTensorType
from skl2onnx.common.shape_calculator import (
    calculate_linear_classifier_output_shapes,
    calculate_linear_regressor_output_shapes,
)
from sklearn.base import is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from ..preprocessing import BoundsScaler, DPMinMaxScaler, DPStandardScaler, RowNormClipper
from .lasso import DPLassoRegressor
from .linear_regression import DPLinearRegression
from .logistic_regression import DPLogisticRegression
from .svm import DPSVMClassifier

_OF_CLASSIFIERS = {
    "zipmap": [True, False, "columns"],
    "raw_scores": [True, False],
    "nocl": [True, False],
    "output_class_labels": [False, True],
}


def _model(scope: Any, operator: Any, container: Any) -> None:
    """Adds a model to the graph: ranges of columns, coefficients, the interval of predictions."""
    plain, version = operator.raw_operator.to_sklearn(), container.target_opset
    x, dtype = operator.inputs[0], _dtype(operator)
    if isinstance(plain, Pipeline):
        # The node Clip knows one interval for all columns.
        ends = plain[0].kw_args
        x = OnnxMax(x, ends["a_min"].astype(dtype), op_version=version)
        x = OnnxMin(x, ends["a_max"].astype(dtype), op_version=version)
        plain = plain[-1]
    named = [out.full_name for out in operator.outputs]
    if isinstance(plain, TransformedTargetRegressor):
        ends = plain.transformer_.inv_kw_args
        low, high = (np.asarray(ends[end]).astype(dtype) for end in ("a_min", "a_max"))
        score = OnnxSubEstimator(plain.regressor_, x, op_version=version)
        if low.ndim:
            above = OnnxMax(score, low, op_version=version)
            clipped = OnnxMin(above, high, op_version=version, output_names=named)
        else:
            clipped = OnnxClip(score, low, high, op_version=version, output_names=named)
        clipped.add_to(scope, container)
        return
    options = {}
    if is_classifier(plain):
        # What goes by the names of classes comes after this node.
        given = container.get_options(operator.raw_operator, dict.fromkeys(_OF_CLASSIFIERS))
        options = {name: given[name] for name in ("raw_scores", "nocl") if given.get(name)}
    answer = OnnxSubEstimator(plain, x, op_version=version, options=options)
    for k, name in enumerate(named):
        out = OnnxIdentity(answer[k], op_version=version, output_names=[name])
        out.add_to(scope, container)


def _scaler(scope: Any, operator: Any, container: Any) -> None:
    scaling, version = operator.raw_operator.scaling_, container.target_opset
    x, dtype = operator.inputs[0], _dtype(operator)
    if scaling.shift is not None:
        x = OnnxSub(x, scaling.shift.astype(dtype), op_version=version)
    x = OnnxMul(x, scaling.factor.astype(dtype), op_version=version)
    if scaling.within is not None:
        low, high = (end.astype(dtype) for end in scaling.within)
        x = OnnxMin(OnnxMax(x, low, op_version=version), high, op_version=version)
    _end(x, scope, operator, container)


def _clipper(scope: Any, operator: Any, container: Any) -> None:
    limit, version = operator.raw_operator.max_norm, container.target_opset
    x, limit = operator.inputs[0], np.array([limit], dtype=_dtype(operator))
    norm = OnnxReduceL2(x, np.array([1]), keepdims=1, op_version=version)
    factor = OnnxDiv(limit, OnnxMax(norm, limit, op_version=version), op_version=version)
    _end(OnnxMul(x, factor, op_version=version), scope, operator, container)


def _end(x: Any, scope: Any, operator: Any, container: Any) -> None:
    named = [out.full_name for out in operator.outputs]
    OnnxIdentity(x, op_version=container.target_opset, output_names=named).add_to(scope, container)


def _dtype(operator: Any) -> Any:
    return np.float64 if isinstance(operator.inputs[0].type, DoubleTensorType) else np.float32


def _shape_of_rows(operator: Any) -> None:
    operator.outputs[0].type = type(operator.inputs[0].type)(list(operator.inputs[0].type.shape))


def _shape_of_margins(operator: Any) -> None:
    """Shapes of labels and of margins: one column for two classes."""
    calculate_linear_classifier_output_shapes(operator)
    if len(operator.raw_operator.classes_) == 2:
        operator.outputs[1].type.shape = [operator.inputs[0].get_first_dimension(), 1]


def _register() -> None:
    classifiers = {
        DPLogisticRegression: calculate_linear_classifier_output_shapes,
        DPSVMClassifier: _shape_of_margins,
    }
    regressors = (DPLinearRegression, DPLassoRegressor)
    scalers = (DPStandardScaler, DPMinMaxScaler, BoundsScaler)
    kinds: dict[Any, tuple[Any, Any]] = {
        **{kind: (shape, _model) for kind, shape in classifiers.items()},
        **dict.fromkeys(regressors, (calculate_linear_regressor_output_shapes, _model)),
        **dict.fromkeys(scalers, (_shape_of_rows, _scaler)),
        RowNormClipper: (_shape_of_rows, _clipper),
    }
    for kind, (shape, convert) in kinds.items():
        options = _OF_CLASSIFIERS if kind in classifiers else None
        update_registered_converter(kind, f"skdp{kind.__name__}", shape, convert, options=options)


_register()
