"""`--weights=random`: a loader's model with seeded weights in place of pretrained ones, and with fewer layers if that is asked for.

While it is in force, what loads pretrained weights in transformers, diffusers, timm and torchvision builds the architecture from its configuration instead. Weights
follow from the model's name and class, so two loads are equal. Everything that was replaced is told: a record must say that its weights mean nothing.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import importlib.util
import inspect
import sys
import types
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LIBRARIES = ("transformers", "diffusers", "timm", "torchvision")
# What configurations call the number of their layers.
_DEPTHS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers", "encoder_layers", "decoder_layers", "num_encoder_layers")
_PARTS = ("text_config", "vision_config", "audio_config", "encoder", "decoder", "backbone_config", "thinker_config")
_NOT_OF_THE_MODEL = ("dtype", "torch_dtype", "attn_implementation", "trust_remote_code", "device_map", "low_cpu_mem_usage", "use_safetensors", "variant", "quantization_config",
                     "offload_folder", "ignore_mismatched_sizes", "output_loading_info", "use_flash_attention_2", "from_pt", "from_tf", "weights_only", "tp_plan")


class _NoWeights(dict):
    """Stands for a state that was never loaded: a module that is given it keeps its own."""


def _depths_of(config: Any) -> list[Any]:
    return [getattr(one, name, None) for one in (config, *(getattr(config, part, None) for part in _PARTS)) for name in _DEPTHS]


class RandomWeights:
    """What was replaced while it was in force, for the record."""

    def __init__(self, layers: int = 0):
        self.layers = layers
        self.told: list[str] = []
        self.missing: list[str] = []
        """What could not be done, and why."""
        self._kept: list[tuple[Any, str, Any]] = []

    def note(self) -> str:
        said = "random: " + "; ".join(dict.fromkeys(self.told)) if self.told else "the loader's own: nothing in it took pretrained weights"
        return "; ".join([said, *dict.fromkeys(self.missing)])

    def failed(self) -> None:
        """load_model failed."""
        if not self.told:
            self.missing.append("no model was built in place of it: a name alone does not say what its architecture is, so its configuration has to be there "
                                "(of transformers and diffusers config.json, in the cache of HF_HOME or as a folder)")

    # --- replacing -----------------------------------------------------------------------------------------------------------------------

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        self._kept.append((owner, name, vars(owner).get(name, _MISSING)))
        setattr(owner, name, value)

    def __enter__(self) -> RandomWeights:
        return self

    def __exit__(self, *error: object) -> None:
        for owner, name, value in reversed(self._kept):
            if value is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        self._kept.clear()

    def replace_in(self, loader: Path) -> None:
        """In the libraries that are imported, or that the loader's file speaks of."""
        text = loader.read_text(errors="replace")
        for library in LIBRARIES:
            if library in sys.modules or (library in text and importlib.util.find_spec(library) is not None):
                try:
                    getattr(self, f"_in_{library}")(importlib.import_module(library))
                except Exception as error:  # Broken where it is installed: a loader that needs it says so itself, and others do not.
                    self.missing.append(f"{library} cannot be imported ({type(error).__name__}: {' '.join(str(error).split())[:200]})")
        self._in_states()

    @contextlib.contextmanager
    def _seeded(self, name: str, kind: str) -> Iterator[int]:
        import torch

        seed = zlib.crc32(f"{name} {kind}".encode())
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield seed

    def _fewer(self, what: str, name: str, depth: Any) -> bool:
        """Whether a number of layers is too large; told if it is."""
        if not isinstance(depth, int) or isinstance(depth, bool) or depth <= self.layers:
            return False
        self.told.append(f"{what} has {self.layers} of {depth} layers ({name})")
        return True

    def _whole(self, what: str, depths: Any) -> None:
        """A model that keeps all its layers though fewer are asked for; one that has no more than that is as it should be."""
        if self.layers and not any(isinstance(one, int) for one in depths):
            self.missing.append(f"{what} has all its layers: nothing in its configuration says how many")

    def _shrink(self, config: Any, what: str) -> None:
        """Fewer layers, in a configuration and in those that it is made of."""
        if not self.layers:
            return
        for name in _DEPTHS:
            if self._fewer(what, name, getattr(config, name, None)):
                setattr(config, name, self.layers)
        kinds = getattr(config, "layer_types", None)
        depth = getattr(config, "num_hidden_layers", None)
        if isinstance(kinds, list) and isinstance(depth, int) and len(kinds) > depth:
            config.layer_types = kinds[:depth]
        for name in _PARTS:
            part = getattr(config, name, None)
            if part is not None and part is not config and hasattr(part, "to_dict"):
                self._shrink(part, f"{what}.{name}")

    # --- transformers --------------------------------------------------------------------------------------------------------------------

    @staticmethod
    def _configuration(config_class: Any, name: str, given: dict[str, Any]) -> tuple[Any, str]:
        """That of the name, with what the call changes in it; else the class's default, which is told. Auto classes find it themselves, or know nothing of the model."""
        changes = {key: value for key, value in given.items() if key not in _NOT_OF_THE_MODEL and key != "config"}
        if given.get("config") is not None:
            return copy.deepcopy(given["config"]), "the configuration it is given"
        try:
            config, _ = config_class.from_pretrained(name, return_unused_kwargs=True, **changes)
            return config, "its configuration"
        except Exception as error:
            plain = config_class()
            for key, value in changes.items():
                if hasattr(plain, key):
                    setattr(plain, key, value)
            return plain, f"the defaults of {config_class.__name__}, since its configuration cannot be had ({type(error).__name__})"

    def _in_transformers(self, transformers: Any) -> None:
        import torch

        weights = self

        def made(cls: Any, config: Any, origin: str, name: str, given: dict[str, Any], build: Callable[[Any], Any]) -> Any:
            weights._shrink(config, cls.__name__)
            weights._whole(cls.__name__, _depths_of(config))
            with weights._seeded(name, cls.__name__):
                model = build(config)
            dtype = given.get("dtype", given.get("torch_dtype"))
            dtype = getattr(torch, dtype, None) if isinstance(dtype, str) else dtype
            if isinstance(dtype, torch.dtype) and hasattr(model, "to"):
                model = model.to(dtype)
            weights.told.append(f"{type(model).__name__} '{name}' from {origin}")
            if hasattr(model, "eval"):
                model.eval()
            return (model, {}) if given.get("output_loading_info") else model

        def attention(given: dict[str, Any]) -> dict[str, Any]:
            return {"attn_implementation": given["attn_implementation"]} if given.get("attn_implementation") else {}

        def from_pretrained(cls: Any, pretrained_model_name_or_path: Any, *args: Any, **given: Any) -> Any:
            name = str(pretrained_model_name_or_path)
            config, origin = weights._configuration(cls.config_class, name, given)
            return made(cls, config, origin, name, given, lambda one: cls._from_config(one, **attention(given)))

        def flax_from_pretrained(cls: Any, pretrained_model_name_or_path: Any, *args: Any, **given: Any) -> Any:
            name = str(pretrained_model_name_or_path)
            config, origin = weights._configuration(cls.config_class, name, given)
            weights._shrink(config, cls.__name__)
            with weights._seeded(name, cls.__name__) as seed:
                model = cls(config, seed=seed % (1 << 31), **({"dtype": given["dtype"]} if "dtype" in given else {}))
            weights.told.append(f"{cls.__name__} '{name}' from {origin}")
            return model

        self._replace(transformers.PreTrainedModel, "from_pretrained", classmethod(from_pretrained))
        if importlib.util.find_spec("transformers.modeling_flax_utils") is not None and "flax" in sys.modules:
            flax = importlib.import_module("transformers.modeling_flax_utils")
            self._replace(flax.FlaxPreTrainedModel, "from_pretrained", classmethod(flax_from_pretrained))

    # --- diffusers, timm, torchvision ----------------------------------------------------------------------------------------------------

    def _in_diffusers(self, diffusers: Any) -> None:
        weights = self

        def from_pretrained(cls: Any, pretrained_model_name_or_path: Any, **given: Any) -> Any:
            name = f"{pretrained_model_name_or_path}/{given.get('subfolder') or ''}".rstrip("/")
            try:
                config, origin = dict(cls.load_config(pretrained_model_name_or_path, subfolder=given.get("subfolder"))), "its configuration"
            except Exception as error:
                config, origin = {}, f"the defaults of {cls.__name__}, since its configuration cannot be had ({type(error).__name__})"
            if weights.layers:
                defaults = {key: one.default for key, one in inspect.signature(cls.__init__).parameters.items()}
                depths = {key: config.get(key, defaults[key]) for key in _DEPTHS if key in defaults}
                config |= {key: weights.layers for key, depth in depths.items() if weights._fewer(cls.__name__, key, depth)}
                weights._whole(cls.__name__, depths.values())
            with weights._seeded(name, cls.__name__):
                model = cls.from_config(config)
            weights.told.append(f"{cls.__name__} '{name}' from {origin}")
            return model.to(given["torch_dtype"]) if given.get("torch_dtype") is not None else model

        self._replace(diffusers.ModelMixin, "from_pretrained", classmethod(from_pretrained))

    def _in_timm(self, timm: Any) -> None:
        weights, original = self, timm.create_model

        def create_model(model_name: str, *args: Any, **given: Any) -> Any:
            asked = bool(args[0]) if args else bool(given.get("pretrained"))
            args = (False, *args[1:]) if args else args
            given = given if args else given | {"pretrained": False}
            with weights._seeded(model_name, "timm"):
                model = weights._shallow(f"timm '{model_name}'", lambda **more: original(model_name, *args, **given | more))
            if asked:
                weights.told.append(f"timm '{model_name}' from its configuration")
            return model

        # Whoever has imported the function by its name has it as well.
        for module in list(sys.modules.values()):
            for name, value in list(vars(module).items()) if isinstance(module, types.ModuleType) else ():
                if value is original:
                    self._replace(module, name, create_model)

    def _shallow(self, what: str, build: Callable[..., Any]) -> Any:
        """A model of timm: transformers take the number of their blocks, other families have none."""
        import torch

        if not self.layers:
            return build()
        with torch.device("meta"), torch.random.fork_rng(devices=[]):
            depth = len(getattr(build(), "blocks", ()))
        if depth > self.layers:
            try:
                model = build(depth=self.layers)
            except TypeError:
                pass
            else:
                self.told.append(f"{what} has {self.layers} of {depth} layers (depth)")
                return model
        self._whole(what, [depth] if 0 < depth <= self.layers else [])
        return build()

    def _in_torchvision(self, torchvision: Any) -> None:
        weights = self
        api = importlib.import_module("torchvision.models._api")

        def get_state_dict(self: Any, *args: Any, **given: Any) -> Any:
            weights.told.append(f"torchvision '{self}' from its configuration")
            weights._whole(f"torchvision '{self}'", [])
            return _NoWeights()

        self._replace(api.WeightsEnum, "get_state_dict", get_state_dict)

    def _in_states(self) -> None:
        """Modules that are given no state draw their own anew: theirs came from whatever torch's generator was at."""
        import torch

        weights, original = self, torch.nn.Module.load_state_dict

        def load_state_dict(module: Any, state_dict: Any, *args: Any, **given: Any) -> Any:
            if not isinstance(state_dict, _NoWeights):
                return original(module, state_dict, *args, **given)
            with weights._seeded("", type(module).__name__):
                for one in module.modules():
                    if hasattr(one, "reset_parameters"):
                        one.reset_parameters()
            return torch.nn.modules.module._IncompatibleKeys([], [])

        self._replace(torch.nn.Module, "load_state_dict", load_state_dict)


_MISSING = object()
