import type { CallView } from 'millrace/view'
import { useContext } from 'preact/hooks'
import { ShownTime } from '../clock.ts'
import { duration } from '../format.ts'
import { Icon } from '../icons.tsx'
import { visible } from '../json/visible.ts'
import { inspect } from '../state.ts'
import './call.css'
import { ApprovalForm } from './approval.tsx'
import { elapsedMs, openRequest, stateLabel, stateTone } from './call-state.ts'
import { asText } from './json-text.ts'
import { LongText } from './long-text.tsx'
import { PartView } from './parts.tsx'
import type { RowProps } from './row-view.tsx'
import { Rows } from './rows.tsx'
import { SmallButton } from './small-button.tsx'
import { fullText, tail } from './text-tail.ts'

/** A tool call: its arguments, status, approvals, progress and result. */
export function CallCard({ row: call, session }: RowProps<CallView>) {
  const { name, provider, problem, approvals, result, inner, progress, progressCount, printed } = call
  const phase = call.state
  // The decision below says it, with the reason.
  const isDenied = isDeniedByUser(call)
  // The form for its approval or its result shows the arguments.
  const asks = session && openRequest(call)?.request.callId === call.callId
  // Only a question: there is no tool.
  if (call.budget)
    return (
      <div class="chat-call" data-tone={stateTone(phase)}>
        {approvals.map((approval) => (
          <ApprovalForm key={approval.request.callId} approval={approval} session={session} />
        ))}
      </div>
    )
  return (
    <div class="chat-call" data-tone={stateTone(phase)}>
      <header class="chat-call-head">
        <Icon name="tool" />
        <h3>{name}</h3>
        {provider && <span class="chat-quiet">run by the provider</span>}
        {!isDenied && <CallStatus call={call} />}
        {session && <SmallButton onClick={() => inspect({ kind: 'call', call })}>Details</SmallButton>}
      </header>
      {!asks && <Input call={call} />}
      {problem && <p class="chat-problem">{visible(problem)}</p>}
      {approvals.map((approval) => (
        <ApprovalForm
          key={approval.request.callId}
          approval={approval}
          session={result ? undefined : session}
        />
      ))}
      {printed && !result && <GrowingText label="Output" text={printed} />}
      {progressCount > 0 && !printed && (
        <p class="chat-progress chat-quiet">
          Progress {progressCount}: {visible(asText(progress.at(-1)))}
        </p>
      )}
      {inner && (
        <div class="chat-inner">
          <Rows log={inner} session={undefined} />
        </div>
      )}
      <Result call={call} />
    </div>
  )
}

/** A component of its own, so that only this is rendered when the clock ticks. */
function CallStatus({ call }: { readonly call: CallView }) {
  const phase = call.state
  const time = useContext(ShownTime)
  const ran = elapsedMs(call, phase === 'running' ? time.value : 0)
  return (
    <span class="chat-phase chat-quiet">
      <span class="chat-dot" data-tone={stateTone(phase)} />
      {stateLabel(call)}
      {ran !== undefined && phase !== 'asking' && ` ${duration(ran)}`}
      {call.attempts > 1 && `, attempt ${call.attempts}`}
    </span>
  )
}

/** The end of a text that is still growing. */
function GrowingText({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <figure class="chat-box chat-box-growing" aria-label={label}>
      <pre>{visible(text)}</pre>
    </figure>
  )
}

function Input({ call }: { readonly call: CallView }) {
  const { raw, changedInput } = call
  const written = call.provider ? call.provider.input : call.input
  const input = changedInput ?? written
  const label = 'Arguments'
  // If the arguments are invalid, what the model wrote says more than what could be parsed.
  if (call.problem && raw.chars > 0) return <LongText value={fullText(raw)} label={label} />
  if (input === undefined && raw.chars > 0) return <GrowingText label={label} text={tail(raw, 1000)} />
  if (Object.keys(input ?? {}).length === 0) return null
  return (
    <>
      <LongText value={input} label={label} />
      {changedInput && (
        <details class="chat-quiet">
          <summary>Edited · show original</summary>
          <LongText value={written} label={label} />
        </details>
      )}
    </>
  )
}

function Result({ call }: { readonly call: CallView }) {
  const { result, provider, seq } = call
  const label = 'Result'
  if (provider?.output !== undefined) return <LongText value={provider.output} label={label} />
  // The problem or the decision of a call that never ran already says what its result does.
  if (!result || call.problem || isDeniedByUser(call)) return null
  return (
    <div class="chat-result">
      {result.output.map((part, index) => (
        <PartView key={`${seq}-${index}`} part={part} label={label} />
      ))}
      {result.shown && <p class="chat-quiet">The model saw a shortened version.</p>}
    </div>
  )
}

function isDeniedByUser({ callId, state, approvals }: CallView): boolean {
  return (
    state === 'denied' &&
    approvals.some(({ request, decision }) => request.callId === callId && decision?.approved === false)
  )
}
