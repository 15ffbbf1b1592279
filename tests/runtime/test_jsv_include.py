"""The shell functions for verifiers: in each shell they answer as the ones that Grid Engine brings."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

import roost.runtime

OWN = Path(roost.runtime.__file__).with_name("jsv_include.sh")
REAL = Path("/usr/share/gridengine/util/resources/jsv/jsv_include.sh")
SCRIPT = """
jsv_on_start() { jsv_send_env; }
jsv_on_verify() {
    echo "is $(jsv_is_param l_hard) [$(jsv_get_param l_hard)] $(jsv_is_param nosuch) [$(jsv_get_param nosuch)]"
    echo "sub $(jsv_sub_is_param l_hard h_rt) [$(jsv_sub_get_param l_hard h_rt)] [$(jsv_sub_get_param l_hard xx)]"
    echo "env $(jsv_is_env PATH) [$(jsv_get_env PATH)] $(jsv_is_env nosuch) [$(jsv_get_env nosuch)]"
    jsv_sub_add_param l_hard mem 1G; jsv_sub_add_param l_hard h_rt 7; jsv_sub_add_param l_soft a
    jsv_sub_del_param l_hard mem; jsv_sub_del_param l_hard nosuch
    jsv_sub_add_param q_hard all.q; jsv_sub_del_param q_hard all.q
    jsv_set_param p -5; jsv_del_param N; jsv_del_param nosuch
    jsv_mod_env PATH /x; jsv_add_env NEW 1; jsv_del_env HOME; jsv_del_env nosuch
    jsv_log_info "i x"; jsv_log_warning w; jsv_log_error e
    case "$(jsv_get_param CLIENT)" in
    a) jsv_accept "ok fine" ;; c) jsv_correct ;; r) jsv_reject "no no" ;; w) jsv_reject_wait later ;;
    esac
}
jsv_main
"""
SAID = """\
PARAM CLIENT a
START
PARAM VERSION 1.0
PARAM CLIENT a
PARAM l_hard h_rt=5,licence
PARAM N a 'b' $(c) "d"\\n *
PARAM w
ENV ADD PATH /bin:/usr/bin
ENV ADD HOME /home/a b
BEGIN
START
PARAM CLIENT c
PARAM l_hard a=1
BEGIN
START
START
PARAM CLIENT r
BEGIN
BOGUS x
START
PARAM CLIENT w
PARAM odd-name;touch x
BEGIN
QUIT
START
"""
SHELLS = [name for name in ("sh", "bash", "dash", "ksh", "zsh") if shutil.which(name)]


def answers(shell: str, include: Path, place: Path) -> list[str]:
    script = place / "verifier"
    script.write_text(f". {include}\n{SCRIPT}")
    done = subprocess.run(
        [shell, str(script)], input=SAID, capture_output=True, text=True, check=False, cwd=place, timeout=30
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("shell", SHELLS)
def test_verifiers_are_told_and_answer(shell: str, tmp_path: Path) -> None:
    found = answers(shell, OWN, tmp_path)
    assert found[0] == "ERROR JSV script got PARAM command but is in state initialized"
    assert found[1:6] == [
        "SEND ENV",
        "STARTED",
        "is true [h_rt=5,licence] false []",
        "sub true [5] []",
        "env true [/bin:/usr/bin] false []",
    ]
    assert [line for line in found if line.startswith("PARAM l_hard ")][:4] == [
        "PARAM l_hard h_rt=5,licence,mem=1G",
        "PARAM l_hard h_rt=7,licence,mem=1G",
        "PARAM l_hard h_rt=7,licence",
        "PARAM l_hard h_rt=7,licence",
    ]
    assert [line for line in found if line.startswith("RESULT")] == [
        "RESULT STATE ACCEPT ok fine",
        "RESULT STATE CORRECT ",
        "RESULT STATE REJECT no no",
        "RESULT STATE REJECT_WAIT later",
    ]
    assert [path.name for path in tmp_path.iterdir()] == ["verifier"]


@pytest.mark.skipif(not REAL.exists(), reason="Grid Engine's own script is not installed")
def test_it_says_what_grid_engine_s_own_says(tmp_path: Path) -> None:
    own, real = answers("bash", OWN, tmp_path), answers("bash", REAL, tmp_path)
    # Grid Engine's remembers variables of earlier jobs.
    assert [line for line in own if not line.startswith("env ")] == [
        line for line in real if not line.startswith("env ")
    ]
