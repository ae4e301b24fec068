"""Smoke tests: shapes, causality and packing of the whole model.

Run with `python -m unittest tests/test_smoke.py` in the root.
"""

import unittest

import torch
from copy_task import IGNORED, CopyTask
from NSA import nsa
from sparse_attention.compression import BlockCompressor, block_count, visible_blocks
from sparse_attention.gating import BranchGates
from sparse_attention.layer import AttentionConfig, SparseAttention
from sparse_attention.model import build_model
from sparse_attention.native import NativeConfig, NativeSparseAttention
from sparse_attention.packing import local_positions, pack
from sparse_attention.selection import select_blocks


class TestModel(unittest.TestCase):
    def test_copy_task_asks_for_the_first_pattern(self):
        task = CopyTask(symbols=5, pattern_length=3, noise_length=4)
        tokens, targets = task.sample(2, torch.Generator().manual_seed(0))
        assert tokens.shape == targets.shape == (2, task.length)
        assert torch.equal(targets[targets != IGNORED].view(2, 3), tokens[:, :3])

    def test_positions_restart_in_each_sequence(self):
        packed, cu_seqlens = pack([torch.zeros(3), torch.zeros(0), torch.zeros(2)])
        assert cu_seqlens.tolist() == [0, 3, 3, 5]
        assert local_positions(packed.shape[1], cu_seqlens).tolist() == [0, 1, 2, 0, 1]

    def test_selected_blocks_are_distinct_and_not_in_the_future(self):
        scores = torch.rand(1, 22, 2, 6, generator=torch.Generator().manual_seed(0))
        indices, counts = select_blocks(scores, block_size=4, num_selected=3)
        current = (torch.arange(22) // 4).view(1, 22, 1)
        assert indices.shape == (1, 22, 2, 3)
        assert (indices <= current.unsqueeze(-1)).all()
        assert torch.equal(counts, (indices >= 0).sum(-1))
        assert all(len(set(row[row >= 0].tolist())) == (row >= 0).sum() for row in indices.flatten(0, 2))

    def test_compression_gives_one_vector_for_each_complete_block(self):
        compress = BlockCompressor(dim=6, size=4, stride=2, hidden=5)
        for length, count in ((3, 0), (4, 1), (11, 4)):
            assert block_count(length, 4, 2) == count
            assert compress(torch.ones(2, length, 3, 6)).shape == (2, count, 3, 6)
            assert visible_blocks(length, 4, 2).shape == (length, count)

    def test_config_is_checked(self):
        with self.assertRaises(ValueError):
            NativeConfig(stride=3)
        with self.assertRaises(ValueError):
            NativeConfig(num_selected=2)

    def test_unknown_branch_is_refused(self):
        with self.assertRaisesRegex(ValueError, "typo"):
            BranchGates(dim=8, heads=2, branches=("window", "typo"))

    def test_nsa_returns_one_vector_per_query_head(self):
        generator = torch.Generator().manual_seed(0)
        q, k = torch.randn(2, 9, 4, 8, generator=generator), torch.randn(2, 9, 2, 8, generator=generator)
        v = torch.randn(2, 9, 2, 6, generator=generator)
        gates = torch.rand(2, 9, 4, generator=generator)
        block_indices = torch.zeros(2, 9, 2, 1, dtype=torch.int64)
        out = nsa(q, k, v, gates, gates, block_indices, block_size=4, window_size=3)
        assert out.shape == (2, 9, 4, 6)
        assert out.isfinite().all()

    def test_layers_train_every_parameter(self):
        for layer in (SparseAttention(AttentionConfig()), NativeSparseAttention(NativeConfig())):
            layer(torch.randn(2, 30, 48, generator=torch.Generator().manual_seed(0))).square().sum().backward()
            assert all(parameter.grad.abs().sum() > 0 for parameter in layer.parameters())

    def test_later_tokens_do_not_change_earlier_logits(self):
        task = CopyTask()
        tokens, _ = task.sample(2, torch.Generator().manual_seed(0))
        changed = tokens.clone()
        changed[:, 41:] = (changed[:, 41:] + 1) % task.symbols
        for config in (AttentionConfig(), NativeConfig()):
            model = build_model(task.symbols, task.length, config, seed=0)
            torch.testing.assert_close(model(tokens)[:, :41], model(changed)[:, :41])

    def test_packed_sequences_match_separate_ones(self):
        generator = torch.Generator().manual_seed(0)
        sequences = [torch.randint(16, (length,), generator=generator) for length in (5, 33, 1, 18)]
        packed, cu_seqlens = pack(sequences)
        for config in (AttentionConfig(), NativeConfig()):
            model = build_model(16, 64, config, seed=0)
            separate = torch.cat([model(sequence.unsqueeze(0)) for sequence in sequences], dim=1)
            torch.testing.assert_close(model(packed, cu_seqlens), separate)


if __name__ == "__main__":
    unittest.main()
