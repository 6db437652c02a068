import type { CallView } from 'millrace/view'
import { useContext } from 'preact/hooks'
import { ShownTime } from '../clock.ts'
import { duration } from '../format.ts'
import { IconButton } from '../icon-button.tsx'
import type { IconName } from '../icons.tsx'
import { Icon } from '../icons.tsx'
import { visible } from '../json/visible.ts'
import { inspect } from '../state.ts'
import './call.css'
import { ApprovalForm } from './approval.tsx'
import { CallBody } from './call-body.tsx'
import {
  denialOf,
  elapsedMs,
  failureText,
  inputOf,
  isFinal,
  openRequest,
  repeatsOf,
  stateLabel,
  stateTone,
} from './call-state.ts'
import { Inspectable } from './inspectable.ts'
import { asText } from './json-text.ts'
import { PartView } from './parts.tsx'
import type { RowProps } from './row-view.tsx'
import { Rows } from './rows.tsx'
import { lastLine } from './text-tail.ts'
import { useFold } from './use-fold.ts'
import { callTitle } from './words.ts'

/** A tool call: one line that opens, and below it what it asks or prints while it runs. */
export function CallCard({ row: call, version, session }: RowProps<CallView>) {
  const { approvals, inner, progress, progressCount, printed, result, state } = call
  const [isOpen, toggle] = useFold('call', call)
  const canInspect = useContext(Inspectable)
  const isOver = isFinal(call)
  const request = openRequest(call)?.request
  const tone = stateTone(state)
  const forms = approvals
    .filter(({ decision }) => call.budget || (!decision && !isOver))
    .map((approval) => (
      <ApprovalForm key={approval.request.callId} approval={approval} call={call} session={session} />
    ))
  // The form says everything. For a budget there is no tool at all.
  const asksOnly = session && request?.callId === call.callId && request.wants !== 'result'
  if (call.budget || asksOnly)
    return (
      <div class="chat-call" data-tone={tone}>
        {forms}
      </div>
    )
  const details = () => inspect({ kind: 'call', call })
  const images = result?.output.filter(({ type }) => type === 'image') ?? []
  return (
    <div class="chat-call" data-tone={tone}>
      <div class="chat-call-head">
        <h3>
          <button type="button" class="plain chat-fold" aria-expanded={isOpen} onClick={toggle}>
            {isOver ? <Icon name={icons[tone] ?? 'close'} /> : <span class="chat-dot" data-tone={tone} />}
            <span class="chat-fold-title">{visible(callTitle(call.name, inputOf(call)))}</span>
            <CallStatus call={call} version={version} />
            <Icon name="chevron" />
          </button>
        </h3>
        {canInspect && <IconButton icon="panel" label="Details" onClick={details} />}
      </div>
      {isOpen && <CallBody call={call} />}
      {!isOpen && images.map((part, index) => <PartView key={index} part={part} label="Output" />)}
      {!isOver && printed && (
        <figure class="chat-box chat-box-growing" aria-label="Output">
          <pre>{visible(printed)}</pre>
        </figure>
      )}
      {!isOver && progressCount > 0 && !printed && (
        <p class="chat-progress chat-quiet">
          Progress {progressCount}: {visible(asText(progress.at(-1)))}
        </p>
      )}
      {!isOver && inner && (
        <div class="chat-inner">
          <Rows log={inner} session={undefined} />
        </div>
      )}
      {/* Last, since it is asked after everything else. */}
      {forms}
    </div>
  )
}

const icons: Partial<Record<string, IconName>> = { good: 'check' }

/** A component of its own, so that only this is rendered when the clock ticks. */
function CallStatus({ call }: Pick<RowProps<CallView>, 'version'> & { readonly call: CallView }) {
  const { state, attempts, provider, raw } = call
  const time = useContext(ShownTime)
  const ran = elapsedMs(call, state === 'running' ? time.value : 0)
  const took = ran !== undefined && state !== 'asking' ? duration(ran) : undefined
  const denial = denialOf(call)
  const times = denial ? repeatsOf(call).length : 1
  const isFailed = stateTone(state) === 'bad'
  const label = times > 1 ? `${stateLabel(call)} ${times} times` : stateLabel(call)
  const words = [
    provider && 'run by the provider',
    state === 'running' && took ? `Running ${took}` : state !== 'ok' && label,
    denial ? denial.reason : isFailed && failureText(call),
    state === 'ok' && took,
    attempts > 1 && `attempt ${attempts}`,
    state === 'writing' && lastLine(raw),
  ].filter(Boolean)
  return (
    <span class="chat-fold-status chat-quiet" title={isFailed || denial ? words.join(' · ') : undefined}>
      {state === 'ok' && <span class="visually-hidden">Done </span>}
      {visible(words.join(' · '))}
    </span>
  )
}
