"""``assay check``: the contract suite as a command, for our components and anybody's."""

import json
import subprocess
import sys


def check(*arguments):
    script = f"from assay.cli.main import main; import sys; sys.argv[1:] = {['check', *arguments]!r}; main()"
    return subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=200)


def test_a_method_of_ours_keeps_every_contract_and_says_where_it_does_not_apply():
    done = check("gradient", "--json")
    told = json.loads(done.stdout)
    assert (done.returncode, told["kind"], told["passed"]) == (0, "methods", True)
    assert [place["reason"] for place in told["places"] if place["reason"]] == [
        "needs gradients, and this model has none"
    ]


def test_somebody_s_method_that_returns_nan_is_told_which_contract_it_breaks():
    done = check("counted:Bad")
    assert done.returncode == 1
    assert "finite: returned NaN" in done.stdout
    assert "counted:Bad has faults." in done.stdout


def test_a_metric_and_an_environment_are_recognised_by_what_they_take():
    assert "(metric)" in check("counted:Probes").stdout
    assert "(environment)" in check("counted:Ward").stdout


def test_an_unknown_name_is_a_usage_error():
    done = check("gradeint")
    assert done.returncode == 2
    assert "Did you mean 'gradient'?" in done.stderr
