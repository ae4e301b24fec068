# Each step in names of its own.
import torch.nn.functional as F


class ProjectionHead:
    def forward(self, representations):
        hidden = self.hidden(representations)
        activated = F.relu(hidden)
        projections = self.output(activated)
        return projections
