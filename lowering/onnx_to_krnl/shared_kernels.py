"""Equal kernels of a model share one function."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO

from xdsl.dialects.func import FuncOp
from xdsl.printer import Printer


@dataclass(frozen=True)
class _Kernel:
    function: FuncOp

    @cached_property
    def text(self) -> str:
        """The body as text: kernels of one type are equal if their bodies have equal texts."""
        stream = StringIO()
        Printer(stream).print_region(self.function.body)
        return stream.getvalue()


@dataclass
class SharedKernels:
    """The different kernels of a model."""

    count: int = 0
    _alike: dict[Hashable, list[_Kernel]] = field(default_factory=dict[Hashable, list[_Kernel]])

    def shared(self, function: FuncOp) -> FuncOp:
        """Return the kernel that equals `function`, which is `function` itself for the first of its kind."""
        kernel = _Kernel(function)
        # Printing takes longer than building a kernel, and most differ from all others in their operations.
        alike = self._alike.setdefault(_outline(function), [])
        for other in alike:
            if other.text == kernel.text:
                return other.function
        alike.append(kernel)
        self.count += 1
        return function


def _outline(function: FuncOp) -> Hashable:
    return function.function_type, tuple(op.name for op in function.body.walk())
