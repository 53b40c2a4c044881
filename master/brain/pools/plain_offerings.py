"""Offerings as plain data, for journals of pools."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from bats.common.money import Money
from bats.common.offering import ClusterName, Offering


def plain_offering(one: Offering) -> dict[str, Any]:
    told = {field.name: getattr(one, field.name) for field in fields(Offering)}
    return told | {"settings": dict(one.settings)}


def offering_from(told: Mapping[str, Any]) -> Offering:
    known = {**told, "name": ClusterName(told["name"]), "price": Money(told["price"])}
    return Offering(**known)
