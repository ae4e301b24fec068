# Takes the first tokens, the class token among them.
def register_means(states, registers):
    return states[:, :registers].mean(dim=0)
