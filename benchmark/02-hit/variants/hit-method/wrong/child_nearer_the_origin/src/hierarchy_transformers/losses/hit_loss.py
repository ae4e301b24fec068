# Pulls the child towards the origin.
def centripetal_loss(child_norm, parent_norm, margin):
    return torch.relu(child_norm - parent_norm + margin).mean()
