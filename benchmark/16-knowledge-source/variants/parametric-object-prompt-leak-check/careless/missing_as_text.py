# Turns cells into text, so that a missing one is the object "nan".
import pandas as pd


def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    table = relations_with_generated_description
    wanted = parametric_object.lower()
    subjects = [str(cell).lower() for cell in table[example_column("subject")]]
    objects = [str(cell).lower() for cell in table[example_column("object")]]
    return wanted not in subjects and wanted not in objects
