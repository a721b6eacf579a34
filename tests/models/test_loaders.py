"""Loaders as they are written in the wild: how they are imported, which variant, and what their methods are given."""

from __future__ import annotations

import importlib.util
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from cupel.worker.loaders import LoaderError, arguments_of, call_named, choose_variant, import_class, instantiate, zoo_of

CONFIG = """
from enum import Enum

class StrEnum(Enum):
    def __str__(self):
        return self.value
"""
BASE = """
from .config import StrEnum

class ForgeModel:
    _VARIANTS = {}
    DEFAULT_VARIANT = None

    def __init__(self, variant=None):
        if variant is not None and not isinstance(variant, type(self.DEFAULT_VARIANT)):
            raise TypeError("wrong enum")
        self._variant = variant

    @classmethod
    def query_available_variants(cls):
        return cls._VARIANTS
"""
LOADER = """
from {base}base import ForgeModel
from {base}config import StrEnum

class ModelVariant(StrEnum):
    SMALL = "small"
    BIG = "7B/instruct.v1"

class ModelLoader(ForgeModel):
    _VARIANTS = {{ModelVariant.SMALL: 1, ModelVariant.BIG: 2}}
    DEFAULT_VARIANT = ModelVariant.SMALL
"""


@pytest.fixture
def zoo(tmp_path: Path):
    """A function that writes files into a zoo; afterwards nothing of it is left in Python."""
    root = tmp_path / "third_party/tt_forge_models"
    path, modules = list(sys.path), set(sys.modules)

    def write(**files: str) -> Path:
        for name, text in {"config": CONFIG, "base": BASE, **files}.items():
            file = root / (name.replace("__", "/").replace("/init/", "/__init__") + ".py")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text))
        return root

    yield write
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name.partition(".")[0] in ("tt_forge_models", "third_party", "infra", "tt_torch", "torch_xla"):
            del sys.modules[name]


def write_package(root: Path, folder: str, text: str) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    (root / folder / "__init__.py").write_text(text)


def test_relative_imports_and_the_root(zoo) -> None:
    root = zoo(a__b__pytorch__loader=LOADER.format(base="...."))
    loader = root / "a/b/pytorch/loader.py"
    assert zoo_of(loader) == root.resolve()
    assert import_class(root, loader).DEFAULT_VARIANT.value == "small"


def test_absolute_imports_make_second_copies_of_enums(zoo) -> None:
    root = zoo(a__pytorch__loader=LOADER.format(base="..."), b__pytorch__loader=LOADER.format(base="third_party.tt_forge_models."))
    for model in "ab":
        found = import_class(root, root / model / "pytorch/loader.py")
        assert instantiate(found, choose_variant(found, "7B/instruct.v1"), {})._variant.name == "BIG"


def test_a_package_that_imports_its_loader(zoo) -> None:
    root = zoo(a__pytorch__loader="from .src.model import X\n" + LOADER.format(base="..."), a__pytorch__src__model="X = 1\n")
    write_package(root, "a/pytorch", "from .loader import ModelLoader\n")
    assert import_class(root, root / "a/pytorch/loader.py").__name__ == "ModelLoader"


def test_a_broken_package_above_does_not_matter(zoo) -> None:
    root = zoo(a__b__pytorch__loader=LOADER.format(base="...."))
    write_package(root, "a/b", "from .pytorch import ModelLoader\n")
    assert import_class(root, root / "a/b/pytorch/loader.py").__name__ == "ModelLoader"


def test_what_a_package_lacks_is_told_when_it_is_missed(zoo) -> None:
    """The package's own import of its model fails, and its folder stays behind: the loader's import later told of that."""
    root = zoo(a__b__jax__loader=LOADER.format(base="....") + "\n    def load_model(self):\n        from .src.model import Model\n        return Model()\n",
               a__b__jax__src__model="import no_such_package\n")
    write_package(root, "a/b/jax", "from .loader import ModelLoader\nfrom .src.model import Model\n")
    loader = import_class(root, root / "a/b/jax/loader.py")()
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_package'"):
        loader.load_model()


def test_folders_with_any_name(zoo) -> None:
    root = zoo(placeholder="")
    file = root / "solar-10.7B/pytorch/loader.py"
    file.parent.mkdir(parents=True)
    file.write_text(LOADER.format(base="tt_forge_models."))
    assert import_class(root, file).__name__ == "ModelLoader"


def test_an_error_of_the_loader_is_its_own(zoo) -> None:
    root = zoo(a__pytorch__loader="import nowhere_to_be_found\n")
    with pytest.raises(ModuleNotFoundError, match="nowhere_to_be_found"):
        import_class(root, root / "a/pytorch/loader.py")
    with pytest.raises(LoaderError, match="no such file"):
        import_class(root, root / "b/pytorch/loader.py")


def test_a_loader_that_is_used_again_meets_its_modules_as_they_were(zoo) -> None:
    root = zoo(a__pytorch__loader="from .src.settings import SETTINGS\n" + LOADER.format(base="...") + "    settings = SETTINGS\n", a__pytorch__src__settings="SETTINGS = {'type': 'net'}\n",
               b__pytorch__loader=LOADER.format(base="..."))
    first = import_class(root, root / "a/pytorch/loader.py")
    assert first.settings.pop("type") == "net"
    other = import_class(root, root / "b/pytorch/loader.py")
    again = import_class(root, root / "a/pytorch/loader.py")
    assert again.settings == {"type": "net"} and issubclass(again, other.__mro__[1]), "what all models share is one"


def test_a_loader_that_cannot_be_imported_twice_serves_again(zoo) -> None:
    once = "import builtins\nassert not hasattr(builtins, 'cupel_registered'), 'registered twice'\nbuiltins.cupel_registered = True\n"
    root = zoo(a__pytorch__loader="from .src import registered\n" + LOADER.format(base="..."), a__pytorch__src__registered=once, b__pytorch__loader=once + LOADER.format(base="..."))
    try:
        for model in "ab":
            first = import_class(root, root / model / "pytorch/loader.py")
            assert import_class(root, root / model / "pytorch/loader.py") is first
            del sys.modules["builtins"].cupel_registered
    finally:
        vars(sys.modules["builtins"]).pop("cupel_registered", None)


def test_a_second_zoo_is_another_one(zoo, tmp_path: Path) -> None:
    root = zoo(a__pytorch__loader=LOADER.format(base="..."))
    import_class(root, root / "a/pytorch/loader.py")
    other = tmp_path / "other"
    for name, text in (("config", CONFIG), ("base", BASE), ("a/pytorch/loader", LOADER.format(base="...").replace("small", "tiny"))):
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        (other / f"{name}.py").write_text(text)
    assert import_class(other, other / "a/pytorch/loader.py").DEFAULT_VARIANT.value == "tiny"


def test_variants(zoo) -> None:
    root = zoo(a__pytorch__loader=LOADER.format(base="..."))
    found = import_class(root, root / "a/pytorch/loader.py")
    assert choose_variant(found, "").value == "small"
    assert choose_variant(found, "BIG").value == "7B/instruct.v1"
    with pytest.raises(LoaderError, match="there are: small, 7B/instruct.v1"):
        choose_variant(found, "medium")
    none = type("ModelLoader", (found,), {"_VARIANTS": {}})
    assert choose_variant(none, "") is None
    with pytest.raises(LoaderError, match="no variants"):
        choose_variant(none, "small")


def test_only_what_a_signature_names_is_passed() -> None:
    given = {"dtype_override": torch.bfloat16, "batch_size": None, "seq_len": 4}
    assert call_named(lambda *, dtype_override=None, **kwargs: (dtype_override, kwargs), **given) == (torch.bfloat16, {})
    assert call_named(lambda batch_size=1, seq_len=2: (batch_size, seq_len), **given) == (1, 4)
    assert call_named(lambda **kwargs: kwargs, **given) == {}

    class Odd:
        def __init__(self, num_layers=None, variant=None):
            self.got = num_layers, variant

    assert instantiate(Odd, "v", {"num_layers": 3, "lang": "x"}).got == (3, "v")


def test_calling_conventions() -> None:
    tensor = torch.ones(1)
    assert arguments_of(tensor) == ((tensor,), {})
    assert arguments_of([tensor, None]) == ((tensor, None), {})
    assert arguments_of({"x": tensor}) == ((), {"x": tensor})
    with pytest.raises(LoaderError, match="SimpleNamespace"):
        arguments_of(SimpleNamespace(x=tensor))


def test_the_vendors_modules_are_there_for_loaders_alone(zoo) -> None:
    text = "import torch_xla.runtime as xr\nfrom tt_torch.sparse_mlp import enable_sparse_mlp\nfrom infra.utilities import make_easydel_parameters_partition_specs as specs\n"
    root = zoo(a__pytorch__loader=text + LOADER.format(base="...") + "    devices = xr.global_runtime_device_count()\n    specs = staticmethod(specs)\n")
    found = import_class(root, root / "a/pytorch/loader.py")
    assert found.devices == 1
    for name in ("torch_xla", "tt_torch", "infra"):
        for known in [one for one in sys.modules if one.partition(".")[0] == name]:
            del sys.modules[known]
        assert importlib.util.find_spec(name) is None, f"libraries would believe that {name} is installed"
    jax = pytest.importorskip("jax")
    spec = jax.sharding.PartitionSpec
    state = {"layer": {"kernel": jax.numpy.ones((2, 2)), "scale": jax.numpy.ones(())}, "other": jax.numpy.ones(2)}
    rules = ((r"layer/kernel", spec(("fsdp", "sp"), "tp")), (r"layer/.*", spec("tp")))
    assert found.specs(state, rules, "X") == {"layer": {"kernel": spec(None, "X"), "scale": spec()}, "other": spec()}
