"""The study of bags side by side, of single worlds."""

import pytest
from studies.side_by_side import World, ten_bags


# In the second, two bags started a machine that others left and let it go again, in turns for ever.
@pytest.mark.parametrize("job", [("fair", 5), ("fifo", 31)])
def test_ten_bags_keep_budgets_and_caps_and_none_starves(job: tuple[str, int]) -> None:
    world = ten_bags(job)
    assert world == World(world.ended, world.free, world.free, 0, 0, 0)
    assert world.ended >= 9
