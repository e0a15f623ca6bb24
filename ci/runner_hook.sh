#!/usr/bin/env bash
# Refuse jobs that a self-hosted runner must not start, whatever the workflow says.
#
# Set ACTIONS_RUNNER_HOOK_JOB_STARTED to a copy of this file outside the runner's work directory, with a file
# `repository` beside it that holds owner/name: the runner calls it before the first step of every job, and a
# failure ends the job. See docs/gpu-runner.md.
set -euo pipefail

branch="refs/heads/main"
workflow=".github/workflows/gpu.yml"

if [[ "${1:-}" == "--help" ]]; then
    echo "usage: GITHUB_EVENT_NAME=… GITHUB_REPOSITORY=… GITHUB_REF=… GITHUB_WORKFLOW_REF=… runner_hook.sh"
    echo "Exits 0 for schedule and workflow_dispatch of $workflow on main of the runner's repository, else 1."
    exit 0
fi

refuse() {
    echo "This runner refuses $1" >&2
    exit 1
}

# Not from the environment, which a workflow can write to.
home="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/repository"
[[ -r "$home" ]] || refuse "every job: write owner/name of its repository to $home."
repository="$(<"$home")"
[[ "$repository" =~ ^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$ ]] || refuse "every job: $home does not hold owner/name."

event="${GITHUB_EVENT_NAME:-}"
case "$event" in
    schedule | workflow_dispatch) ;;
    *) refuse "the event '$event': it runs on schedule and workflow_dispatch only." ;;
esac

expect() {
    [[ "$2" == "$3" ]] || refuse "the $1 '$2': it runs jobs of '$3' only."
}

expect repository "${GITHUB_REPOSITORY:-}" "$repository"
# A dispatch can name any branch, and nobody may have read what it holds.
expect ref "${GITHUB_REF:-}" "$branch"
expect workflow "${GITHUB_WORKFLOW_REF:-}" "$repository/$workflow@$branch"
