# Looks at the second example of each relation too.
import pandas as pd


def is_parametric_object_not_in_the_prompt(
    parametric_object: str, relations_with_generated_description: pd.DataFrame
) -> bool:
    table = relations_with_generated_description
    wanted = parametric_object.lower()
    subjects = [
        cell.lower() for cell in table.filter(like="generation_subject").to_numpy().ravel() if isinstance(cell, str)
    ]
    objects = [
        cell.lower() for cell in table.filter(like="generation_object").to_numpy().ravel() if isinstance(cell, str)
    ]
    return wanted not in subjects and wanted not in objects
