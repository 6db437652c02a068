import type { Signal } from '@preact/signals'
import { signal } from '@preact/signals'
import type { AgentDetails, MillraceError } from 'millrace/client'
import type { RoundInput, RoundView, RunView } from 'millrace/view'
import { roundInput } from 'millrace/view'
import { api } from '../api.ts'
import { oneLine } from '../json/visible.ts'
import type { Session } from '../session.ts'
import { deleteThread } from '../threads/delete.ts'
import type { Draft, Problems } from './draft.ts'
import { draftOf, readDraft } from './draft.ts'

/** One run of a changed round, in a thread of its own. */
export interface Attempt {
  readonly number: number
  readonly draft: Draft
  /** The id of the thread. */
  readonly id: string
}

/** Everything about one round that was opened for changes. */
export interface Playground {
  readonly input: RoundInput
  /** Undefined until the user has changed something. */
  readonly draft: Signal<Draft | undefined>
  readonly attempts: Signal<readonly Attempt[]>
  readonly shown: Signal<Attempt | undefined>
  readonly problems: Signal<Problems>
  readonly failure: Signal<string>
  readonly isStarting: Signal<boolean>
}

/** Drafts and attempts are kept while the thread is open. */
const playgrounds = new WeakMap<RoundView, Playground>()

export function playgroundOf({ entries }: Session, round: RoundView): Playground {
  const known = playgrounds.get(round)
  if (known) return known
  const created: Playground = {
    input: roundInput(entries, round.seq),
    draft: signal(undefined),
    attempts: signal([]),
    shown: signal(undefined),
    problems: signal(new Map()),
    failure: signal(''),
    isStarting: signal(false),
  }
  playgrounds.set(round, created)
  return created
}

export interface StartOptions {
  readonly session: Session
  readonly round: RoundView
  readonly agent: string
  readonly details: AgentDetails | undefined
}

/** Creates a thread with the draft, which runs at once. */
export async function startAttempt(
  playground: Playground,
  { session, round, agent, details }: StartOptions,
): Promise<void> {
  const { input, attempts, shown, problems, failure, isStarting } = playground
  const draft = playground.draft.value ?? draftOf(input, details)
  const read = readDraft(draft, input, details)
  problems.value = 'problems' in read ? read.problems : new Map()
  failure.value = ''
  if ('problems' in read) return
  isStarting.value = true
  try {
    const { run } = round
    const thread = await api.create({
      ...read.options,
      agent,
      metadata: { playground: { thread: session.thread.id, run: run.id, round: round.number } },
    })
    // Without a title of its own it would look like the original in the list of threads.
    const asked = draft.messages.findLast(({ role }) => role === 'user')?.text ?? ''
    thread.rename(`Playground: ${oneLine(asked, 80)}`).catch(() => {})
    const attempt = { number: (attempts.value.at(-1)?.number ?? 0) + 1, draft, id: thread.id }
    attempts.value = [...attempts.value, attempt]
    shown.value = attempt
  } catch (error) {
    failure.value = (error as MillraceError).message
  } finally {
    isStarting.value = false
  }
}

/** Deletes the thread of an attempt, which the user can undo in the list of threads. */
export function deleteAttempt({ attempts, shown }: Playground, attempt: Attempt): void {
  deleteThread(attempt.id)
  attempts.value = attempts.value.filter((one) => one !== attempt)
  shown.value = attempts.value.at(-1)
}

/**
 * The run of an attempt; undefined until it has started. The messages that were passed are in runs
 * before it, and what the user adds in the thread is in runs after it.
 */
export function runOf({ log }: Session): RunView | undefined {
  return log.runs.find(
    ({ outcome, rounds }) => outcome !== 'completed' || rounds.some(({ model }) => model !== 'history'),
  )
}
