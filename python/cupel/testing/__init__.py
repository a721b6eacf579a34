"""Testers for JAX and PyTorch functions on a device. Importing this imports neither framework."""

from __future__ import annotations

from cupel.testing.comparison import AllcloseConfig as AllcloseConfig
from cupel.testing.comparison import AtolConfig as AtolConfig
from cupel.testing.comparison import Comparison as Comparison
from cupel.testing.comparison import ComparisonConfig as ComparisonConfig
from cupel.testing.comparison import ComparisonError as ComparisonError
from cupel.testing.comparison import EqualConfig as EqualConfig
from cupel.testing.comparison import PassesOnlyAsConfigured as PassesOnlyAsConfigured
from cupel.testing.comparison import PccConfig as PccConfig
from cupel.testing.comparison import check as check
from cupel.testing.comparison import judge as judge
from cupel.testing.compiler_config import CompileDepth as CompileDepth
from cupel.testing.compiler_config import CompilerConfig as CompilerConfig
from cupel.testing.compiler_config import IgnoredSetting as IgnoredSetting
from cupel.testing.compiler_config import OpByOpBackend as OpByOpBackend
from cupel.testing.framework_testers import JaxModelTester as JaxModelTester
from cupel.testing.framework_testers import RunMode as RunMode
from cupel.testing.framework_testers import TorchModelTester as TorchModelTester
from cupel.testing.frameworks import Framework as Framework
from cupel.testing.model_tester import ModelTester as ModelTester
from cupel.testing.model_tester import NotAsserted as NotAsserted
from cupel.testing.model_tester import OnnxModelTester as OnnxModelTester
from cupel.testing.pieces import NotJudgedByPieces as NotJudgedByPieces
from cupel.testing.testers import run_graph_test as run_graph_test
from cupel.testing.testers import run_graph_test_with_random_inputs as run_graph_test_with_random_inputs
from cupel.testing.testers import run_op_test as run_op_test
from cupel.testing.testers import run_op_test_with_random_inputs as run_op_test_with_random_inputs
from cupel.testing.verify_module import verify_module as verify_module
