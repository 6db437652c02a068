import type { CallState, InputView, Outcome } from 'millrace/view'

// The labels and sentences that the chat shows in more than one place.

export const stateLabels: Readonly<Record<CallState, string>> = {
  writing: 'Writing arguments',
  queued: 'Queued',
  asking: 'Waiting for you',
  running: 'Running',
  ok: 'Done',
  failed: 'Failed',
  timeout: 'Timed out',
  rejected: 'Not run',
  blocked: 'Blocked',
  denied: 'Denied',
  canceled: 'Canceled',
  unknown: 'Outcome unknown',
}

export const outcomeLabels: Readonly<Record<Outcome, string>> = {
  completed: 'Done',
  'max-rounds': 'Reached the round limit',
  budget: 'Budget reached',
  truncated: 'Reached the length limit',
  suspended: 'Waiting for you',
  canceled: 'Stopped',
  failed: 'Failed',
}

export type Mode = Exclude<InputView['mode'], 'correct'>

/** What happens to a message that is sent during a run. */
export const modes: Readonly<Record<Mode, { readonly label: string; readonly hint: string }>> = {
  steer: { label: 'Steer', hint: 'the agent sees this before its next step' },
  queue: { label: 'Queue', hint: 'answered after this run' },
  interrupt: { label: 'Interrupt', hint: 'stops this run and answers this instead' },
}

/** A tool that a client runs has been called. */
export const wantsResultLabel = 'Waiting for a result from a client'

/** How long an approval is remembered. */
export const rememberLabels = { once: 'once', thread: 'in this thread', always: 'always' }
