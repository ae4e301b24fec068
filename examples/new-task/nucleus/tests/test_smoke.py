"""The pieces fit together."""

import unittest

import torch
from decoding import nucleus_filter
from generate import continue_text
from model import BigramModel


class TestDecoding(unittest.TestCase):
    def test_filter_keeps_the_shape(self) -> None:
        self.assertEqual(nucleus_filter(torch.randn(3, 7), 0.9).shape, (3, 7))

    def test_text_has_the_length_asked_for(self) -> None:
        tokens, perplexity = continue_text(BigramModel("abracadabra", 0.1), "a", 0.9, length=5)
        self.assertEqual(tokens.shape[1], 5)
        self.assertGreater(perplexity, 1.0)
