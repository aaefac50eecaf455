"""One module per suite: `substitute(module, side)` puts refarray into a test module of another
project. `side` is refarray's: producer or consumer."""
