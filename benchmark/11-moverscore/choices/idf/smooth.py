def inverse_frequency(documents, containing):
    return 0.1 / (0.1 + containing / documents)
