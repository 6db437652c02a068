import type { CallView } from 'millrace/view'
import { useContext } from 'preact/hooks'
import { ShownTime } from '../clock.ts'
import { duration } from '../format.ts'
import { Icon } from '../icons.tsx'
import { visible } from '../json/visible.ts'
import { show } from '../state.ts'
import './call.css'
import { ApprovalForm } from './approval.tsx'
import { phaseTone, ranMs, stateWords } from './call-phase.ts'
import { Folded } from './folded.tsx'
import { asText } from './json-text.ts'
import { PartView } from './parts.tsx'
import type { RowProps } from './row-view.tsx'
import { Rows } from './rows.tsx'
import { SmallButton } from './small-button.tsx'
import { tail, whole } from './text-tail.ts'

/** A call of a tool: what it is given, how far it is, what came of it. */
export function CallCard({ row: call, session }: RowProps<CallView>) {
  const { name, provider, problem, approvals, result, inner, progress, progressCount, printed } = call
  const phase = call.state
  // While it asks, before it runs, its input stands in the form, to be changed.
  const asks = session && phase === 'asking' && call.startedAt === undefined
  return (
    <div class="chat-call" data-tone={phaseTone(phase)}>
      <header class="chat-call-head">
        <Icon name="tool" />
        <h3>{name}</h3>
        {provider && <span class="chat-quiet">by the provider</span>}
        <Phase call={call} />
        {session && <SmallButton onClick={() => show({ kind: 'call', call })}>Details</SmallButton>}
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
      {printed && !result && <Growing label="Output" text={printed} />}
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

/** Only this is drawn again as the clock goes on. */
function Phase({ call }: { readonly call: CallView }) {
  const phase = call.state
  const time = useContext(ShownTime)
  const ran = ranMs(call, phase === 'running' ? time.value : 0)
  return (
    <span class="chat-phase chat-quiet">
      <span class="chat-dot" data-tone={phaseTone(phase)} />
      {stateWords[phase]}
      {ran !== undefined && phase !== 'asking' && ` ${duration(ran)}`}
      {call.attempts > 1 && `, attempt ${call.attempts}`}
    </span>
  )
}

/** The end of something that goes on. */
function Growing({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <figure class="chat-box chat-box-growing" aria-label={label}>
      <pre>{visible(text)}</pre>
    </figure>
  )
}

function Input({ call }: { readonly call: CallView }) {
  const { raw, changed } = call
  const written = call.provider ? call.provider.input : call.input
  const input = changed ?? written
  const label = 'Arguments'
  // With a problem the model's own words say more than what could be read of them.
  if (call.problem && raw.chars > 0) return <Folded value={whole(raw)} label={label} />
  if (input === undefined && raw.chars > 0) return <Growing label={label} text={tail(raw, 1000)} />
  if (Object.keys(input ?? {}).length === 0) return null
  return (
    <>
      <Folded value={input} label={label} />
      {changed && (
        <details class="chat-quiet">
          <summary>Changed; the model wrote</summary>
          <Folded value={written} label={label} />
        </details>
      )}
    </>
  )
}

function Result({ call }: { readonly call: CallView }) {
  const { result, provider, seq } = call
  const label = 'Result'
  if (provider?.output !== undefined) return <Folded value={provider.output} label={label} />
  // The problem of a call that was never run says all that its result does.
  if (!result || call.problem) return null
  return (
    <div class="chat-result">
      {result.output.map((part, index) => (
        <PartView key={`${seq}-${index}`} part={part} label={label} />
      ))}
      {result.shown && <p class="chat-quiet">The model was given less of it.</p>}
    </div>
  )
}
