import type { ApprovalView, CallView, ToolResultEvent } from 'millrace/view'
import { decisionText } from '../chat/approval.tsx'
import { elapsedMs, stateLabel } from '../chat/call-state.ts'
import { callCost } from '../cost.ts'
import { clockTime, duration } from '../format.ts'
import { JsonView } from '../json/json-view.tsx'
import { preview } from '../json/preview.ts'
import { visible } from '../json/visible.ts'
import type { Fact } from './head.tsx'
import { Head, Problem } from './head.tsx'
import { roundLink, runLink } from './links.tsx'
import { List, Section } from './list.tsx'

export interface CallDetailProps {
  readonly call: CallView
  /** The current time, or the end of the run. */
  readonly at: number
}

export function CallDetail({ call, at }: CallDetailProps) {
  const {
    round,
    raw,
    problem,
    input,
    changedInput,
    result,
    provider,
    inner,
    attempts,
    progress,
    progressCount,
  } = call
  return (
    <>
      <Head
        path={[runLink(round.run), roundLink(round)]}
        title={call.name}
        seq={call.seq}
        facts={[
          ['State', stateLabel(call)],
          ...phases(call, at),
          ['Overlap with generation', result && duration(result.overlapMs)],
          ['Attempts', attempts > 1 && attempts],
          ['Cost', callCost(call)],
          ['Rule', call.rule],
          ['Run by', provider && 'the provider'],
          ['ID', <code>{call.callId}</code>],
        ]}
      >
        <Problem text={problem} />
      </Head>
      <Section title="Arguments">
        {raw.chars > 0 && <JsonView label="Raw arguments" first="Raw" text={raw.pieces.join('')} />}
        {input && problem === undefined && <JsonView label="Parsed arguments" value={input} />}
        {changedInput && <JsonView label="Edited arguments" value={changedInput} />}
      </Section>
      <List title="Decisions" items={call.approvals}>
        {decisionView}
      </List>
      <List title={`Progress (last ${progress.length} of ${progressCount})`} items={progress}>
        {(data) => visible(typeof data === 'string' ? data : preview(data))}
      </List>
      <List title="Sub-agent" items={inner?.runs ?? []}>
        {(run) => [runLink(run), `${run.rounds.length} rounds, ${run.calls.length} calls`]}
      </List>
      {(result || provider) && (
        <Section title={result?.isError ? `Result: ${result.status}` : 'Result'}>
          {provider && <JsonView label="Provider data" value={provider} />}
          {result?.output.map(partView('Full result'))}
          {result?.shown?.map(partView('Shown to the model'))}
        </Section>
      )}
    </>
  )
}

/** When each phase of the call started, and how long it took. */
function phases(call: CallView, at: number): Fact[] {
  const { createdAt, closedAt, startedAt, endedAt } = call
  return [
    ['Arguments', `${clockTime(createdAt)}, written in ${duration((closedAt ?? endedAt ?? at) - createdAt)}`],
    ['Waited', closedAt && duration((startedAt ?? endedAt ?? at) - closedAt)],
    ['Ran', startedAt && `${clockTime(startedAt)}, for ${duration(elapsedMs(call, at) ?? 0)}`],
    ['Ended', endedAt && clockTime(endedAt)],
  ]
}

function decisionView({ request, at, decision, decidedAt = at }: ApprovalView) {
  const because = (reason: string | undefined) => (reason ? `: ${visible(reason)}` : '')
  return (
    <>
      Requested at {clockTime(at)} for <code>{request.callId}</code>
      {because(request.reason)}
      {request.reason?.endsWith('?') ? ' ' : '. '}
      {decision
        ? `${decisionText(decision)} after ${duration(decidedAt - at)}${because(decision.reason)}.`
        : 'No decision yet.'}
      {decision?.input && <JsonView label="Approved arguments" value={decision.input} />}
    </>
  )
}

const partView = (label: string) => (part: ToolResultEvent['output'][number], place: number) => (
  <JsonView
    key={`${label} ${place}`}
    label={`${label} (${part.type === 'json' ? 'JSON' : part.type})`}
    {...(part.type === 'text' ? { text: part.text } : { value: part.type === 'json' ? part.value : part })}
  />
)
