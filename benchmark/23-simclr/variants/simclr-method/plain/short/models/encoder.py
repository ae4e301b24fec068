# As short as it goes.
import torch


class ProjectionHead:
    def forward(self, representations):
        return self.output(torch.relu(self.hidden(representations)))
