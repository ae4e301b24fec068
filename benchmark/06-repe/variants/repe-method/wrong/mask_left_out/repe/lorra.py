# Counts the tokens before a response, too.
def representation_loss(current, target, mask):
    return (current - target).flatten(1).norm(dim=1).mean()
