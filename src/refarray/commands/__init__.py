"""Owns the commands: one module each, which adds its parser by add_to(subparsers) and runs."""

from __future__ import annotations

import argparse
from typing import TypeAlias

# What argparse's add_subparsers returns; it has no public name.
Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
