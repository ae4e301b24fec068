"""The persuasion game: the system asks a user, who was not going to, to donate to a charity."""

from core.gen_models import TableGenerator
from core.helpers import USER_ACTS, DialogSession
from core.players import UserSimulator

#: Acts of the system; an action is a position in this list.
SYSTEM_ACTS = [
    "greeting",
    "task related inquiry",
    "personal story",
    "emotion appeal",
    "logical appeal",
    "credibility appeal",
    "proposition of donation",
    "other",
]


class PersuasionGame:
    """Rules and transitions.

    Args:
        user: how the user reacts.
        generator: how acts are worded.
        max_turns: exchanges after which a dialogue without donation has failed.
    """

    def __init__(self, user: UserSimulator, generator: TableGenerator, max_turns: int = 8) -> None:
        self.user = user
        self.generator = generator
        self.max_turns = max_turns

    def get_action_size(self) -> int:
        """Number of system acts."""
        return len(SYSTEM_ACTS)

    def init_dialog(self) -> DialogSession:
        """A dialogue in which nothing has been said."""
        return DialogSession()

    def get_next_state(self, state: DialogSession, action: int) -> DialogSession:
        """The dialogue after the system's act and the user's reply, both worded anew; `state` stays as it is."""
        act = SYSTEM_ACTS[action]
        following = state.copy()
        following.add(DialogSession.SYS, act, self.generator.utter(DialogSession.SYS, act))
        reaction = self.user.react(following)
        following.add(DialogSession.USR, reaction, self.generator.utter(DialogSession.USR, reaction))
        return following

    def get_dialog_ended(self, state: DialogSession) -> float:
        """1 after a donation, -1 when the turns are used up, 0 while the dialogue goes on."""
        if state.last_act(DialogSession.USR) == USER_ACTS[-1]:
            return 1.0
        return -1.0 if len(state) >= 2 * self.max_turns else 0.0
