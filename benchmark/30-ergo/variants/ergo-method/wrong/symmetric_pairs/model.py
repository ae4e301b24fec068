# Adds what both orders of the events give.
import torch


class ErgoModel:
    def node_features(self, first, second):
        both = torch.cat([first, second], dim=1), torch.cat([second, first], dim=1)
        return (self.pair_embedding(both[0]) + self.pair_embedding(both[1])) / 2
