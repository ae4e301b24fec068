# A ReLU follows the second layer, too.
import torch


class ProjectionHead:
    def forward(self, representations):
        return torch.relu(self.output(torch.relu(self.hidden(representations))))
