import torch


class ErgoModel:
    def node_features(self, first, second):
        return self.pair_embedding(torch.cat([first + second, (first - second).abs()], dim=1))
