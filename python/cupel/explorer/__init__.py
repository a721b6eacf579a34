"""An extension of Google's Model Explorer: our graphs and overlays in the stock tool.

    pip install ai-edge-model-explorer
    model-explorer model.onnx --extensions=cupel.explorer

`main` is what Model Explorer imports; `commands` asks the `cupel` command and knows nothing of Model Explorer.
"""
