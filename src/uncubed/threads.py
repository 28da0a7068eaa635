"""Small products must not pay for BLAS threads.

On products that take less than a millisecond the threads of a BLAS cost more than they give, and when several
processes share the cores they cost an order of magnitude. With threadpoolctl installed (`pip install
uncubed[threads]`; scikit-learn brings it too) small models run on one thread; without it nothing is changed.
"""

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

SMALL_MODEL = 512
"""Rows below which a model's products are run on one thread."""


@cache
def _controller() -> Any:
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController().select(user_api="blas")


def one_thread(rows: int) -> AbstractContextManager[Any]:
    """A context in which BLAS uses one thread if a model has few rows, and threadpoolctl is there."""
    controller = _controller() if rows < SMALL_MODEL else None
    # To set what is set already costs more than to ask.
    if controller is None or all(library.num_threads == 1 for library in controller.lib_controllers):
        return nullcontext()
    limited: AbstractContextManager[Any] = controller.limit(limits=1, user_api="blas")
    return limited
