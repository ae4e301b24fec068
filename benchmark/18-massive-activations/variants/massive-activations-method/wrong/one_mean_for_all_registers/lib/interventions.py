# Averages over the registers, too.
def register_means(states, registers):
    return states[:, 1 : 1 + registers].mean(dim=(0, 1)).expand(registers, -1)
