#!/usr/bin/env bash
# Runs commands as on a stranger's machine: in a fresh clone of the current commit, in a folder whose name has a space and a
# letter beyond ASCII, as an unprivileged user where that is possible, with nothing in the environment but what an
# installation needs. Stops at the first command that fails, with its exit code.
#     ci/stranger.sh 'nox -s lint' 'LANG=C nox -s "tests(numpy)" -- -k reset'
set -euo pipefail
if [ $# = 0 ] || [ "$1" = --help ]; then
    sed -n '2,5s/^# \?//p' "$0"
    exit $(($# == 0 ? 2 : 0))
fi

project=$(dirname "$(dirname "$(readlink -f "$0")")")
top=$(mktemp -d)
# A command may leave folders that not even their owner can empty.
trap 'chmod -R u+rwX "$top" || true; rm -rf "$top"' EXIT
folder="$top/a földer"
mkdir -p "$folder/home"

# A git configuration for these commands alone: the checkout may belong to another user.
git() { env -u XDG_CONFIG_HOME -u GIT_CONFIG_GLOBAL HOME="$top" git "$@"; }
git config --global safe.directory '*'
if [ -n "$(git -C "$project" status --porcelain)" ]; then
    echo "ci/stranger.sh: there are uncommitted changes, which a clone does not have." >&2
fi
# Without hard links, whose owner would change in the checkout too.
git clone --quiet --no-hardlinks "$project" "$folder/cogrid"

environment=(HOME="$folder/home" PATH="$PATH" LANG=C.UTF-8)
while IFS= read -r -d '' variable; do
    case $variable in
        *_CACHE_DIR=*) ;; # which may be closed to the stranger
        *) environment+=("$variable") ;;
    esac
done < <(env -0 | grep -zE '^(PIP|UV|SSL|REQUESTS|NPM)_|^[a-zA-Z]+_(proxy|PROXY)=')

as=()
# The first Python that the stranger can run, with the clone in reach: either may be below a closed folder.
python() {
    local test='import os, sys, ensurepip, venv; os.listdir(os.environ["HOME"]); sys.exit(sys.version_info < (3, 11))' path
    { type -ap python3 python python3.{11..14} || true; } | while IFS= read -r path; do
        if (cd "$folder/cogrid" && "${as[@]}" env -i "${environment[@]}" "$path" -c "$test") 2>/dev/null </dev/null; then
            echo "$path"
            break
        fi
    done
}
found=
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && group=$(id -g nobody 2>/dev/null) &&
    chown -R "nobody:$group" "$folder" 2>/dev/null; then
    chmod 755 "$top"
    as=(setpriv --reuid nobody --regid "$group" --clear-groups)
    found=$(python)
fi
if [ -z "$found" ]; then
    if [ "$(id -u)" = 0 ]; then
        echo "ci/stranger.sh: no unprivileged user can run a Python here, so this runs as root." >&2
        chown -R 0:0 "$folder"
        as=()
    fi
    found=$(python)
fi
if [ -z "$found" ]; then
    echo "ci/stranger.sh: there is no Python 3.11 or newer with venv: install one." >&2
    exit 69
fi

# Each command after a heading and with its time, in one shell that has nox, uv and no standard input.
run='
set -euo pipefail
"$1" -m venv "$HOME/nox"
. "$HOME/nox/bin/activate"
shift
python --version
python -m pip install --quiet nox uv
for command; do
    printf "\n=== %s\n" "$command"
    started=$SECONDS code=0
    bash -c "$command" || code=$?
    printf "=== %s: exit %d, %d s\n" "$command" "$code" $((SECONDS - started))
    [ "$code" = 0 ] || exit "$code"
done
'
cd "$folder/cogrid"
"${as[@]}" env -i "${environment[@]}" bash -c "$run" stranger "$found" "$@" </dev/null
