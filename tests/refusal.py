"""What a caller is told. The hook that checks shapes under test would speak first: it stays out."""

import re
from contextlib import contextmanager

import pytest
from jaxtyping import config


@contextmanager
def unhooked():
    """Call the library as a reader does, without jaxtyping's check of the arguments."""
    config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        config.update("jaxtyping_disable", False)


@contextmanager
def refuses(error: type, message: str):
    """The block must raise exactly this error with exactly this text."""
    with unhooked(), pytest.raises(error, match=f"^{re.escape(message)}$") as raised:
        yield
    assert raised.type is error
