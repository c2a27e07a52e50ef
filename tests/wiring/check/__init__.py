"""Tests of checks, by an independent plant."""
