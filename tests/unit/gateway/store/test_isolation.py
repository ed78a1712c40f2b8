"""The statements that keep tenants apart. What they do is tested on real databases."""

from gateway.store.isolation import many_tenants, no_row_level_security, one_tenant, row_level_security, secured


def test_every_table_is_forced_and_checked_both_ways() -> None:
    """What is read and what is written; and the owner is held by it."""
    said = row_level_security(["calls"])
    assert said[:2] == [
        "ALTER TABLE calls ENABLE ROW LEVEL SECURITY",
        "ALTER TABLE calls FORCE ROW LEVEL SECURITY",
    ]
    rule = "(tenant = (SELECT nullif(current_setting('app.tenant', true), '')))"
    assert said[2] == f"CREATE POLICY of_tenant ON calls USING {rule} WITH CHECK {rule}"
    assert said[:3] == secured("calls")


def test_whatever_is_made_is_taken_back() -> None:
    """As many policies and triggers as there were."""
    for made, back in ((row_level_security(["calls", "tools"]), no_row_level_security(["calls", "tools"])),):
        assert sum("CREATE POLICY" in one for one in made) == sum("DROP POLICY" in one for one in back) == 3
    assert len(one_tenant()) == len(many_tenants()) == 2
