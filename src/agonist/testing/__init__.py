"""Conformance suites and fakes for those who write an environment, a buffer, an algorithm or a store of their own."""
