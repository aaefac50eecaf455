"""Runs checks in worker processes: the engine, the worker, the fork server, hang detection."""
