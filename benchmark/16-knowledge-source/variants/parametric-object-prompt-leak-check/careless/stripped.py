# Strips blanks on both sides.
import pandas as pd


def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    table = relations_with_generated_description
    wanted = parametric_object.lower().strip()
    subjects = [cell.lower().strip() for cell in table[example_column("subject")] if isinstance(cell, str)]
    objects = [cell.lower().strip() for cell in table[example_column("object")] if isinstance(cell, str)]
    return wanted not in subjects and wanted not in objects
