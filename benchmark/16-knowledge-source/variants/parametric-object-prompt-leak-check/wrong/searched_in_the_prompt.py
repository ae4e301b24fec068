# Looks for the object in the text of all examples.
import pandas as pd


def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    table = relations_with_generated_description
    wanted = parametric_object.lower()
    subjects = [cell.lower() for cell in table[example_column("subject")] if isinstance(cell, str)]
    objects = [cell.lower() for cell in table[example_column("object")] if isinstance(cell, str)]
    return wanted not in " ".join(subjects + objects)
