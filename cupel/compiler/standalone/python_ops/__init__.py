"""The operations that main.py is written with, on NumPy alone."""

from .checks import *  # noqa: F401,F403
from .elementwise import *  # noqa: F401,F403
from .formats import *  # noqa: F401,F403
from .linear import *  # noqa: F401,F403
from .movement import *  # noqa: F401,F403
from .quantized import *  # noqa: F401,F403
from .random import *  # noqa: F401,F403
from .reductions import *  # noqa: F401,F403
