"""Random programs whose results the golden reference and an independent judge must agree on.

A case is a call of jax.lax with inputs (case.py); families of cases draw them from a seed (draw.py, families.py);
execute.py lowers a bundle of cases to one program, has `cupel eval` run it and XLA or NumPy judge it (verdict.py);
pool.py spreads bundles over processes. KNOWN_DIFFERENCES in case.py says where XLA is no judge.
"""

import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = (
    "--xla_backend_optimization_level=0 --xla_allow_excess_precision=false "
    "--xla_cpu_parallel_codegen_split_count=1 --xla_cpu_enable_fast_math=false --xla_cpu_multi_thread_eigen=false "
    "--xla_disable_hlo_passes=algsimp"  # KNOWN_DIFFERENCES: the simplifier
)

import jax  # noqa: E402 - reads the environment when it is imported
import numpy as np  # noqa: E402

jax.config.update("jax_enable_x64", True)
np.seterr(all="ignore")  # infinities and NaN are on purpose
