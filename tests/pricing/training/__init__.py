"""Tests of training steps: models, what they send, and when."""
