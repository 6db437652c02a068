import type { CallView } from 'millrace/view'
import type { ComponentChildren } from 'preact'
import { Decision } from './approval.tsx'
import { Arguments } from './arguments.tsx'
import { denialOf, inputOf } from './call-state.ts'
import { LongText } from './long-text.tsx'
import { PartView } from './parts.tsx'
import { Rows } from './rows.tsx'
import { fullText } from './text-tail.ts'

/** What a call was given and what it returned. */
export function CallBody({ call }: { readonly call: CallView }) {
  const { raw, approvals, changedInput, provider, problem, inner, result } = call
  const input = inputOf(call)
  // If the arguments are invalid, what the model wrote says more than what could be parsed.
  const isRaw = (problem || input === undefined) && raw.chars > 0
  const decided = approvals.filter(({ decision }) => decision && decision !== denialOf(call))
  return (
    <div class="chat-call-body">
      {(isRaw || Object.keys(input ?? {}).length > 0) && (
        <Part title="Input">
          {isRaw ? <LongText value={fullText(raw)} label="Input" /> : <Arguments input={input} />}
        </Part>
      )}
      {changedInput && (
        <details class="chat-part">
          <summary>Edited · show original</summary>
          <Arguments input={call.input} />
        </details>
      )}
      {decided.map((approval) => (
        <Decision key={approval.request.callId} approval={approval} />
      ))}
      {inner && result && (
        <Part title="Steps">
          <div class="chat-inner">
            <Rows log={inner} session={undefined} />
          </div>
        </Part>
      )}
      {provider?.output !== undefined && (
        <Part title="Output">
          <LongText value={provider.output} label="Output" />
        </Part>
      )}
      {result && result.output.length > 0 && (
        <Part title="Output">
          {result.output.map((part, index) => (
            <PartView key={index} part={part} label="Output" />
          ))}
          {result.shown && <p class="chat-quiet">The model saw a shortened version.</p>}
        </Part>
      )}
    </div>
  )
}

/** A labeled part that can be folded away. */
function Part({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <details class="chat-part" open>
      <summary>{title}</summary>
      {children}
    </details>
  )
}
