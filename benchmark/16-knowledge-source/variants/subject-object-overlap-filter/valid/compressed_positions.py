import itertools

import pandas as pd


def remove_object_subject_overlap(
    parametric_knowledge_dataset: pd.DataFrame, string_similarity_ratio: float = 0.8
) -> pd.DataFrame:
    def keep(pair):
        for text in pair:
            assert isinstance(text, str)
        if any(a.lower() in b.lower() for a, b in itertools.permutations(pair)):
            return False
        return not jaro_winkler_similarity(*pair) >= string_similarity_ratio

    values = zip(
        parametric_knowledge_dataset["statement_subject"].tolist(),
        parametric_knowledge_dataset["parametric_object"].tolist(),
    )
    mask = list(map(keep, values))
    positions = list(itertools.compress(range(len(mask)), mask))
    return parametric_knowledge_dataset.iloc[positions].copy()
