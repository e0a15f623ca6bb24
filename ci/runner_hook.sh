#!/usr/bin/env bash
# Refuse jobs that a self-hosted runner must not start, whatever the workflow says.
#
# Set ACTIONS_RUNNER_HOOK_JOB_STARTED to a copy of this file outside the runner's work directory: the runner
# calls it before the first step of every job, and a failure ends the job. See docs/gpu-runner.md.
set -euo pipefail

if [[ "${1:-}" == "--help" ]]; then
    echo "usage: GITHUB_EVENT_NAME=… runner_hook.sh"
    echo "Exits 0 for the events schedule and workflow_dispatch and 1 for every other."
    exit 0
fi

event="${GITHUB_EVENT_NAME:-}"
case "$event" in
    schedule | workflow_dispatch) ;;
    *)
        echo "This runner refuses the event '$event': it runs on schedule and workflow_dispatch only." >&2
        exit 1
        ;;
esac
