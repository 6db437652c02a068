import type { RoundView } from 'millrace/view'
import { useRef, useState } from 'preact/hooks'
import { useAgent } from '../agent-view/use-agent.ts'
import { openThread } from '../api.ts'
import { useAgents } from '../chat/agents.ts'
import { link } from '../detail/links.tsx'
import { inspect, session as openSession } from '../state.ts'
import '../detail/detail.css'
import { useAction } from '../keyboard.ts'
import { Keys } from '../keys.tsx'
import type { Session } from '../session.ts'
import { AttemptView } from './attempt-view.tsx'
import type { Draft } from './draft.ts'
import { draftOf } from './draft.ts'
import { Field } from './field.tsx'
import { Messages } from './message-editor.tsx'
import './playground.css'
import { SettingsForm } from './settings-form.tsx'
import { deleteAttempt, playgroundOf, startAttempt } from './state.ts'

const firstShown = 12
const runKeys = 'mod+Enter'

export interface PlaygroundProps {
  readonly session: Session
  readonly round: RoundView
}

/** Changes what a model read in a round, and runs it again next to the original. */
export function Playground({ session, round }: PlaygroundProps) {
  const { run } = round
  const playground = playgroundOf(session, round)
  const { input, attempts, shown, problems, failure, isStarting } = playground
  const { name, details, problem, isForbidden, retry } = useAgent(run.agent, session)
  const [most, setMost] = useState(firstShown)
  const isReady = details !== undefined || isForbidden === true
  const draft = playground.draft.value ?? draftOf(input, details)
  const models = useAgents().find((agent) => agent.name === name)?.models ?? []
  const form = useRef<HTMLDivElement>(null)
  const { value: attempt } = shown

  function change(changes: Partial<Draft>) {
    playground.draft.value = { ...draft, ...changes }
    if (problems.value.size > 0) problems.value = new Map()
  }

  function start() {
    if (!isStarting.value) void startAttempt(playground, { session, round, agent: name, details })
  }
  useAction({
    id: 'playground-run',
    label: 'Run the playground',
    keys: runKeys,
    whileTyping: true,
    isAvailable: () => form.current?.contains(document.activeElement) === true,
    run: start,
  })

  return (
    <div class="detail playground">
      <nav class="detail-path" aria-label="Part of">
        {openSession.value === session
          ? link(`Round ${round.number} of ${run.agent}`, () => inspect({ kind: 'round', round }))
          : link('Open the original thread', () => openThread(session.thread.id))}
      </nav>
      <h2>Playground</h2>
      <p class="quiet">
        Each attempt is a thread of its own, and the original stays as it is. Tools really run, with the same
        rules and approvals.
      </p>
      {problem && (
        <p role="alert">
          {problem}{' '}
          {isForbidden && 'You can change the messages and settings, but not the prompt or the tools.'}
          {!isForbidden && (
            <button type="button" onClick={retry}>
              Retry
            </button>
          )}
        </p>
      )}
      {!isReady && !problem && <p class="quiet">Loading…</p>}
      {isReady && (
        <div class="playground-form" ref={form}>
          {details && (
            <Field label="System prompt" value={draft.system} onChange={(system) => change({ system })} />
          )}
          <Messages
            messages={draft.messages}
            problems={problems.value}
            // A problem may be in a hidden one.
            most={problems.value.size > 0 ? Infinity : most}
            onMore={() => setMost(most + 50)}
            onChange={(messages) => change({ messages })}
          />
          <SettingsForm
            draft={draft}
            details={details}
            models={models}
            problems={problems.value}
            onChange={change}
          />
          <div class="detail-actions">
            <button
              type="button"
              class="primary"
              disabled={isStarting.value}
              aria-keyshortcuts="Control+Enter Meta+Enter"
              onClick={start}
            >
              {isStarting.value ? 'Starting…' : 'Run'}{' '}
              <span aria-hidden="true">
                <Keys keys={runKeys} />
              </span>
            </button>
            <button
              type="button"
              disabled={!playground.draft.value}
              onClick={() => {
                playground.draft.value = undefined
                problems.value = new Map()
              }}
            >
              Reset
            </button>
          </div>
          {problems.value.size > 0 && (
            <p class="playground-problem" role="alert">
              Not sent. Correct the marked fields first.
            </p>
          )}
          {failure.value && (
            <p class="playground-problem" role="alert">
              {failure.value}
            </p>
          )}
        </div>
      )}
      {attempts.value.length > 1 && (
        <fieldset class="playground-attempts">
          <legend>Attempts</legend>
          {attempts.value.map((one) => (
            <button
              key={one.number}
              type="button"
              aria-pressed={one === attempt}
              onClick={() => (shown.value = one)}
            >
              Attempt {one.number}
            </button>
          ))}
        </fieldset>
      )}
      {attempt && (
        <AttemptView
          key={attempt.number}
          attempt={attempt}
          round={round}
          onReuse={() => (playground.draft.value = attempt.draft)}
          onDelete={() => deleteAttempt(playground, attempt)}
        />
      )}
    </div>
  )
}
