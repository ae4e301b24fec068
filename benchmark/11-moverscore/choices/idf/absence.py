def inverse_frequency(documents, containing):
    return 1 - containing / documents
