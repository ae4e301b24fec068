# A regular expression over whole words.
import re


def swap_entity(text: str, entity: str, substitute: str) -> str:
    return re.sub(r"(?<!\S)" + re.escape(entity) + r"(?!\S)", lambda _: substitute, text)
