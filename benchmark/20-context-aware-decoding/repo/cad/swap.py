"""Documents that contradict what a model remembers, made by swapping an entity."""


def swap_entity(text: str, entity: str, substitute: str) -> str:
    """Put one entity in the place of another in a document.

    Args:
        text: lower-case words with single blanks between them.
        entity, substitute: one or more words each; `entity` may or may not occur in the text, as whole words.

    Returns:
        The changed text, with single blanks between words.
    """
    words, old = text.split(), entity.split()
    result = []
    start = 0
    while start < len(words):
        if words[start : start + len(old)] == old:
            result.append(substitute)
            start += len(old)
        else:
            result.append(words[start])
            start += 1
    return " ".join(result)
