"""The modules `htcondor` and `classad` as programs of the first bindings use them."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.compat import classad1 as classad
from roost.compat import htcondor1 as htcondor
from tests.integration.kit import Pool


def test_expressions_have_pythons_operators() -> None:
    memory = classad.Attribute("Memory")
    wanted = (memory * 2 >= 1024).and_(classad.Attribute("Arch") == "X86_64")
    assert str(wanted) == '(Memory * 2) >= 1024 && Arch == "X86_64"' or wanted.eval(_machine()) is True
    assert wanted.eval(_machine()) is True
    assert (10 - memory / 2).eval(_machine()) == -502
    assert (-memory).eval(_machine()) == -1024
    assert classad.Function("strcat", "a", classad.Attribute("Arch")).eval(_machine()) == "aX86_64"
    assert classad.Literal(5) == 5
    assert bool(classad.ExprTree("1 < 2")) is True and int(classad.ExprTree("2 + 3")) == 5
    assert classad.ExprTree("a").sameAs(classad.ExprTree("a"))
    assert classad.ExprTree("a")[0].eval(classad.ClassAd({"a": [7]})) == 7
    with pytest.raises(classad.ClassAdEvaluationError):
        bool(classad.ExprTree("error"))


def _machine() -> classad.ClassAd:
    return classad.ClassAd({"Memory": 1024, "Arch": "X86_64"})


def test_ads_are_read_in_both_forms_and_errors_are_pythons_too() -> None:
    assert classad.ClassAd("[a = 1; b = a + 1]").eval("b") == 2
    assert classad.parse("[a = 1]") == classad.parseOld("a = 1\n") == classad.parseOne("a = 1")
    assert [ad["a"] for ad in classad.parseAds("[a = 1][a = 2]")] == [1, 2]
    assert isinstance(classad.ClassAd("[a = b]")["a"], classad.ExprTree)
    assert isinstance(classad.ClassAd({"a": {"b": 1}})["a"], classad.ClassAd)
    assert str(classad.ClassAd({"a": 1}).flatten(classad.Attribute("a") + classad.Attribute("b"))) == "1 + b"
    for error, kind in ((classad.ClassAdParseError, SyntaxError), (classad.ClassAdTypeError, TypeError)):
        assert issubclass(error, kind) and issubclass(error, classad.ClassAdException)
    with pytest.raises(SyntaxError):
        classad.ExprTree("a +")
    with pytest.raises(TypeError):
        classad.ClassAd()["a"] = object()


def test_transactions_submit_and_take_back(pool: Pool) -> None:
    schedd = htcondor.Schedd()
    sub = htcondor.Submit({"executable": "/bin/sleep", "arguments": "$(seconds)", "requirements": "false"})
    with schedd.transaction() as txn:
        ads: list[classad.ClassAd] = []
        cluster = sub.queue(txn, count=2, ad_results=ads)
        result = sub.queue_with_itemdata(txn, 1, iter([{"seconds": "5"}, {"seconds": "6"}]))
    assert [ad["ProcId"] for ad in ads] == [0, 1]
    assert (result.num_procs(), isinstance(result.clusterad(), classad.ClassAd)) == (2, True)
    found = schedd.xquery(requirements=f"ClusterId == {result.cluster()}", projection=["ProcId", "Args"])
    assert [(ad["ProcId"], ad["Args"]) for ad in found] == [(0, "5"), (1, "6")]
    with pytest.raises(RuntimeError), schedd.transaction() as txn:
        lost = sub.queue(txn)
        raise RuntimeError("the program failed")
    assert schedd.query(f"ClusterId == {lost} && JobStatus != 3") == []
    with pytest.raises(htcondor.HTCondorInternalError):
        sub.queue(txn)
    assert schedd.act(htcondor.JobAction.Remove, f"ClusterId == {cluster}")["TotalSuccess"] == 2
    assert schedd.act(htcondor.JobAction.Remove, f"ClusterId == {result.cluster()}")["TotalSuccess"] == 2
    assert list(schedd.history("false", ["ProcId"], 1)) == []


def test_errors_of_the_first_bindings_are_pythons_too(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert issubclass(htcondor.HTCondorIOError, OSError) and issubclass(htcondor.HTCondorValueError, ValueError)
    with pytest.raises(htcondor.HTCondorLocateError):
        htcondor.Collector().locate(htcondor.DaemonTypes.Schedd, "nowhere")
    ad = htcondor.Collector().locate(htcondor.DaemonTypes.Schedd)
    assert isinstance(ad, classad.ClassAd) and htcondor.SecMan().ping(ad)["AuthorizationSucceeded"] is True
    with Path(__file__).open() as file, htcondor.lock(file, htcondor.LockType.ReadLock) as locked:
        assert locked is file
    monkeypatch.setenv("ROOST_HOME", "/nonexistent")
    with pytest.raises(OSError, match="Unable to locate local daemon"):
        htcondor.Schedd()
