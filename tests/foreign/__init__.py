"""Runs other projects' tests with refarray in the place of one of their arrays; see
tools/gates/foreign_suites.py."""
